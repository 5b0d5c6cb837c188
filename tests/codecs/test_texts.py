"""Texts: comparing them, words of sentences, signs that nobody obeys, and JUnit of them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.codecs import jsonl, safe_csv
from promptpex.codecs.ci_reports import IN_MEMORY, JUnitCase, junit_document
from promptpex.codecs.jsonl import dump_record
from promptpex.codecs.text.comparing import (
    FIRST_WORDS,
    LAST_WORDS,
    MARK,
    SHORTEST,
    How,
    fragments,
    match_fragments,
    normalize,
    without_passages,
)
from promptpex.codecs.text.control_characters import OBEYED, escaped, visible
from promptpex.codecs.text.wording import QUOTED, cut, did_you_mean, quoted, sentence
from promptpex.core.records import Case, Suite
from promptpex.interchange import junit
from tests.tables.by_hand import output, run, verdict

TEXT = (
    "Answer in **at most 80 words**, in “plain” English.\nNever name a competitor, and include the customer's colour."
)


def quoted_of_quote_match(source: str, text: str) -> How | None:
    return match_fragments(fragments(source), normalize(text))


@pytest.mark.parametrize(
    ("source", "how"),
    [
        ("Answer in at most 80 words", "exact"),
        ("answer in AT MOST 80 words, in 'plain' english", "exact"),
        ("Answer in ... English. Never name a competitor", "exact"),
        ("Never name a competitor, and include the customer's color", "near"),
        ("Never name a competitors", "near"),
        ("Answer in at most 60 words", None),
        ("Answer in at most 8O words", None),
        ("Always name a competitor", None),
        ("Name never a competitor, and include the colour", None),
        ("exclude the customer's colour", None),
        ("Answer in at least 80 words", None),
        ("Answer in French", None),
        ("...", None),
        ("", None),
    ],
)
def test_quoted(source: str, how: How | None) -> None:
    assert quoted_of_quote_match(source, TEXT) == how


@pytest.mark.parametrize(
    ("source", "text", "how"),
    [
        ("Chỉ trả lời một nhãn", "Hãy đọc kỹ. Chỉ trả lời một nhãn.", "exact"),
        ("Chỉ trả lời hai nhãn", "Hãy đọc kỹ. Chỉ trả lời một nhãn.", None),
        ("只回复一个标签", "请阅读。只回复一个标签。", "exact"),
        ("只回复两个标签", "请阅读。只回复一个标签。", None),
        ("one", "", None),
    ],
)
def test_other_scripts(source: str, text: str, how: How | None) -> None:
    assert quoted_of_quote_match(source, text) == how


@pytest.mark.parametrize("source", ['If there is none, answer ["NA"].', r"If there is none, answer [\"NA\"]."])
@pytest.mark.parametrize("text", ['If there is none, answer ["NA"].', r"If there is none, answer [\"NA\"]."])
def test_escaped_quotation_marks_are_quotation_marks(source: str, text: str) -> None:
    assert quoted_of_quote_match(source, text) == "exact"


@given(st.text(), st.text())
def test_it_always_answers(source: str, text: str) -> None:
    assert quoted_of_quote_match(source, text) in ("exact", "near", None)


@given(st.text(alphabet=st.characters(categories=["L", "N"]), min_size=1), st.text(), st.text())
def test_words_that_stand_there_are_found(words: str, before: str, after: str) -> None:
    assert quoted_of_quote_match(words, f"{before} {words} {after}") in ("exact", "near") or not words.strip()


def test_line_breaks_that_are_escaped_once_too_often_are_line_breaks() -> None:
    assert (
        quoted_of_quote_match("Answer in one word.\\n- No full stop", "Answer in one word.\n- No full stop.") == "exact"
    )
    assert quoted_of_quote_match("see \\new", "see \\new files") == "exact"


TAGS = [f"T{number}: Tag number {number}" for number in range(12)]
SOURCE = f"Return one tag of the list. Here it is: {', '.join(TAGS)}\n\nElse return Unknown."


def test_a_list_of_the_source_is_cut_in_its_middle_whatever_is_between_its_words() -> None:
    rule = f"If no tag fits, the output is Unknown: {'; '.join(TAGS)}. Nothing else stands there."

    short = f"T0: Tag number 0; T1: Tag {MARK} Tag number 11"
    assert without_passages(rule, SOURCE) == (
        f"If no tag fits, the output is Unknown: {short}. Nothing else stands there."
    )


def test_what_is_short_or_in_other_words_stays() -> None:
    for text in ("Return one tag of the list.", "; ".join(reversed(TAGS)), "", "one two three " * 40):
        assert without_passages(text, SOURCE) == text


def test_a_source_that_repeats_itself_takes_no_time() -> None:
    assert without_passages("a b " * 20_000, "a b " * 20_000).count(MARK) == 1
    assert without_passages("a " * 40_000, "a " * 20 + "b " + "a " * 20_000).count(MARK) >= 1


@given(st.lists(st.sampled_from("abcdefgh"), max_size=80), st.lists(st.sampled_from("abcdefgh"), max_size=200))
def test_nothing_but_words_of_the_source_goes(mine: list[str], theirs: list[str]) -> None:
    text, source = " ".join(mine), " ".join(theirs)
    pieces = without_passages(text, source).split(f" {MARK} ")
    at = 0
    for before, after in itertools.pairwise(pieces):
        start = at + len(before.split())
        left_out = next(n for n in range(1, len(mine)) if " ".join(mine[start + n :]).startswith(after))
        assert left_out >= SHORTEST - FIRST_WORDS - LAST_WORDS
        at = start + left_out
    assert len(pieces) > 1 or pieces == [text]


def test_what_was_meant_is_the_nearest_name_if_one_is_near() -> None:
    names = ["rule", "inverse", "source"]
    assert did_you_mean("ruel", names) == "did you mean 'rule'?"
    assert did_you_mean("zzz", names) == ""
    assert did_you_mean("ruel", names, before="not-") == "did you mean 'not-rule'?"
    assert sentence(did_you_mean("ruel", names)) == "Did you mean 'rule'?"
    assert sentence("it is so") == "It is so."
    assert did_you_mean("ab1", ["ab2", "ab3", "x"], count=2, likeness=0.5) in (
        "did you mean one of 'ab2', 'ab3'?",
        "did you mean one of 'ab3', 'ab2'?",
    )


def test_a_cut_text_has_at_most_the_length_and_says_so() -> None:
    assert cut("abcde", 5) == "abcde"
    assert cut("abcdef", 5) == "abcd…"
    assert quoted(" a\n b ") == "“a b”"
    assert len(quoted("x" * 500)) == QUOTED + 2


SIGNS = ["\x1b]0;x\x07", "\x9b31m", "\x7f", "\u202eevil", "\u2066x", "\u200f", "\x00", "\r"]


@pytest.mark.parametrize("sign", SIGNS)
def test_no_sign_is_obeyed(sign: str) -> None:
    text = f"a{sign}b"
    assert not OBEYED.search(visible(text))
    assert visible("a\n\tb é 😀 👩‍👩‍👧") == "a\n\tb é 😀 👩‍👩‍👧"
    for written in (jsonl.dumps(text), escaped(json.dumps([text], ensure_ascii=False)), dump_record(output(text=text))):
        assert not OBEYED.search(written.replace("\n", ""))
    assert json.loads(jsonl.dumps(text)) == text


@given(st.text())
def test_escapes_change_no_value(text: str) -> None:
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize("sign", SIGNS)
def test_junit_holds_no_sign(sign: str) -> None:
    document = junit.text(run([output(text=f"a{sign}b")], [verdict("fail", reason=f"x{sign}y")]))
    assert not OBEYED.search(document)


@pytest.mark.parametrize("before", [" ", "\u200b", "\ufeff", "\u00a0", " \u2060 ", "\x9b", "\u202e", "\x00"])
@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@x", "\uff1d1"])
def test_a_formula_behind_what_is_not_seen_is_guarded(before: str, formula: str) -> None:
    cell = before + formula
    assert safe_csv.guard(cell) == "'" + cell
    assert safe_csv.unguard(safe_csv.guard(cell)) == cell


@given(st.text(st.sampled_from("'= \u200b\ufeff@a\n") | st.characters(), max_size=6))
def test_a_guard_comes_off_again(cell: str) -> None:
    assert safe_csv.unguard(safe_csv.guard(cell)) == cell
    assert not safe_csv.guard(cell).lstrip(" \u200b\ufeff").startswith(("=", "@"))


def test_notes_of_an_export_are_shown_and_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prompt.md").write_text("Say {{a}}.\n", encoding="utf-8")
    (tmp_path / "prompt.spec.yaml").write_text("prompt: prompt.md\nrules:\n  - {id: r1, rule: One.}\n")
    bad = Case(id="c", rule="r1", inputs={"a": "b"}, invalid="\x1b]0;pwned\x07", origin="added")
    good = Case(id="d", rule="r1", inputs={"a": "b"}, origin="added")
    suite = Suite(prompt="prompt.md", cases=(bad, good))
    (tmp_path / "prompt.cases.jsonl").write_text(
        "".join(jsonl.dumps({"prompt": suite.prompt, **case.to_dict()}) + "\n" for case in suite.cases)
    )
    assert run_cli(["export", "promptfoo", str(tmp_path / "prompt.cases.jsonl")]) == 0
    err = capsys.readouterr().err
    assert "pwned" in err
    assert not OBEYED.search(err)


FAILED = JUnitCase("shop", "c2", "failure", kind="broken rule", message="r1", details="r1: too long")
UNSCORED = JUnitCase("shop", "c3", "error", kind="timeout", message="no answer")


def test_every_suite_and_the_whole_have_their_counts() -> None:
    suites = [("m1", [JUnitCase("shop", "c1", seconds=1.5), FAILED]), ("m2", iter([UNSCORED])), ("m3", [])]
    root = ElementTree.fromstring("".join(junit_document(suites, name="shop")))
    totals = [(each.get("name"), each.get("tests"), each.get("failures"), each.get("errors")) for each in (root, *root)]
    assert totals == [("shop", "3", "1", "1"), ("m1", "2", "1", "0"), ("m2", "1", "0", "1"), ("m3", "0", "0", "0")]
    passed, failed = root[0]
    assert (passed.get("time"), list(passed)) == ("1.500", [])
    assert [(each.tag, each.get("message"), each.text) for each in failed] == [("failure", "r1", "r1: too long")]


@given(st.text(), st.text(), st.text())
def test_it_is_xml_whatever_stands_in_it(name: str, message: str, details: str) -> None:
    case = JUnitCase(name, name, "failure", message, message, details)
    root = ElementTree.fromstring("".join(junit_document([(name, [case])], name=name)))
    assert [each.tag for each in root.iter()] == ["testsuites", "testsuite", "testcase", "failure"]


def test_a_suite_that_is_longer_than_its_memory_comes_whole_and_in_blocks() -> None:
    cases = (JUnitCase("shop", f"c{number}", "error", details="é" * 1000) for number in range(1200))
    blocks = list(junit_document([("m", cases)]))
    assert sum(map(len, blocks)) > IN_MEMORY
    assert max(map(len, blocks)) < IN_MEMORY / 10
    assert len(ElementTree.fromstring("".join(blocks))[0]) == 1200
