"""What rules cite: sentences in many scripts, quoted words that stay, change and go, and what an edit touches."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from promptpex.cli.commands.diff import command
from promptpex.core.errors import PromptFileError
from promptpex.core.records import Case, Check, Rule, Spec, Suite
from promptpex.core.sentences import folded, sentences
from promptpex.promptfile import parse
from promptpex.specs.prompt_diff import diff_prompts, diff_sentences
from promptpex.specs.source_quotes import check_sources, mark_stale, uncovered
from promptpex.workflow.comparison.compare_prompts import compare_files

TEXT = """\
You label words. Return only the
part of speech tag, e.g. NN or VB. Never explain!

- One tag per word
2. Use v1.5 of the list.

```
tag: NN
```
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two!  Three?", ("One.", "Two!", "Three?")),
        ("A wrapped\nline. Next", ("A wrapped line.", "Next")),
        ("Use e.g. this. Mr. Fox is 3.5 m.", ("Use e.g. this.", "Mr. Fox is 3.5 m.")),
        ("只回复标签。不要解释！好吗？", ("只回复标签。", "不要解释！", "好吗？")),
        ("Chỉ trả lời nhãn. Đừng giải thích. Nếu không rõ, ghi KHÁC.",
         ("Chỉ trả lời nhãn.", "Đừng giải thích.", "Nếu không rõ, ghi KHÁC.")),
        ("केवल टैग दें। समझाएँ नहीं।", ("केवल टैग दें।", "समझाएँ नहीं।")),
        ("أجب بالوسم فقط. لماذا؟ لا تشرح.", ("أجب بالوسم فقط.", "لماذا؟", "لا تشرح.")),
        ("- one\n- two\n* three", ("one", "two", "three")),
        ("# Title\nText here.\n\n---\n\n{{word}}\n\nWord: {{word}}", ("# Title", "Text here.", "Word: {{word}}")),
        ('Say "No." Then stop.', ('Say "No."', "Then stop.")),
        ("| a | b |\n|---|---|\n| c | d |", ("| a | b |", "| c | d |")),
        ("```\nx = 1\n\ny = 2\n```\nEnd.", ("x = 1", "y = 2", "End.")),
        ("", ()),
    ],
)  # fmt: skip
def test_sentences(text: str, expected: tuple[str, ...]) -> None:
    uncovered_parts = tuple(part.removeprefix("# ") for part in sentences(text))
    assert uncovered_parts == tuple(part.removeprefix("# ") for part in expected)


@given(st.text())
def test_no_letter_is_lost(text: str) -> None:
    kept = "".join(sentences(text))
    assert len([char for char in kept if char.isalpha()]) <= len([char for char in text if char.isalpha()])
    plain = all(sign not in text for sign in "{}`~")
    if plain:
        letters = [char for char in text if char.isalpha()]
        marks = sum(1 for line in text.splitlines() if line.strip()) * 3
        assert len([char for char in kept if char.isalpha()]) >= len(letters) - marks


@given(st.text(), st.text())
def test_a_prompt_does_not_differ_from_itself(text: str, other: str) -> None:
    assert diff_sentences(text, text) == []
    changes = diff_sentences(text, other)
    assert {change.old for change in changes if change.old} <= set(sentences(text))
    assert {change.new for change in changes if change.new} <= set(sentences(other))


def test_sources_are_kept_changed_or_missing() -> None:
    rules = (
        Rule(id="a", rule="x", source="return only the part of   speech tag"),
        Rule(id="b", rule="x", source="Return only one part of speech label"),
        Rule(id="c", rule="x", source="Answer in French and sign with your name."),
        Rule(id="d", rule="x", source="Return only ... tag"),
        Rule(id="e", rule="x"),
    )
    assert {one.rule: one.status for one in check_sources(rules, TEXT)} == {
        "a": "kept", "b": "changed", "c": "missing", "d": "kept",
    }  # fmt: skip


def test_of_a_long_sentence_the_words_that_have_changed_are_named() -> None:
    text = "You sort tickets.\n`queue` is a word of the list.\n`summary` is one sentence of at most 12 words.\nBe kind."
    rule = Rule(id="short", rule="x", source="`summary` is one sentence of at most 20 words.")
    (status,) = check_sources([rule], text)
    assert (status.status, status.nearest) == ("changed", "`summary` is one sentence of at most 12 words.")


def test_words_of_two_list_items_are_found_without_the_mark_between_them() -> None:
    text = 'Answer as JSON.\n\n- "sum": a number, or null.\n- "note": a short text. Keep it kind.\n'
    rule = Rule(id="a", rule="x", source='"sum": a number, or null. "note": a short text.')
    assert [one.status for one in check_sources([rule], text)] == ["kept"]
    assert uncovered([rule], parse(text)) == ("Answer as JSON.", "Keep it kind.")


def test_uncovered_sentences() -> None:
    prompt = parse(f"system:\n{TEXT}\nuser:\nAn example of input.\n\nassistant:\nNN\n\nuser:\n{{{{word}}}}")
    rules = (
        Rule(id="a", rule="x", source="Return only the part of speech tag"),
        Rule(id="b", rule="x", source="One tag"),
    )
    assert uncovered(rules, prompt) == ("You label words.", "Never explain!", "Use v1.5 of the list.", "tag: NN")


def test_who_the_model_is_and_where_the_inputs_stand_are_no_promises() -> None:
    text = """You are "Nora", who answers mails. You are not to promise a refund.

Customer: {{customer}}
The message: <{{message}}>; language: {{language}}.
Order: {{order}}

Reply in {{language}}.
"""
    assert uncovered([], parse(f"system:\n{text}")) == (
        "You are not to promise a refund.",
        "Reply in {{language}}.",
    )


@pytest.mark.parametrize(
    "source",
    [
        '\\"total\\": the sum to be paid, or null. Never guess',
        "sum to be paid, or null.\n- Never guess it.",
        '"total": the sum ... or null ... Never guess it.',
    ],
)
def test_a_source_that_spans_sentences_covers_each_of_them(source: str) -> None:
    prompt = parse('- "total": the sum to be paid, or null. Never guess it.\n- Be kind.\n')
    assert uncovered([Rule(id="a", rule="x", source=source)], prompt) == ("Be kind.",)


def test_headings_are_no_promises() -> None:
    text = "# The reply\n\nToday\n-----\n\nAnswer with JSON\n\n## Never explain!\n\n```\n# code\n```\n"
    assert sentences(text) == ("The reply", "Today", "Answer with JSON", "Never explain!", "# code")
    uncovered_parts = uncovered([], parse(f"system:\n{text}\nuser:\n{{{{word}}}}"))
    assert uncovered_parts == ("Answer with JSON", "Never explain!", "# code")


def test_mark_gone_touches_the_machine_s_rules_only() -> None:
    away = "Answer in French and sign with your name."
    spec = Spec(
        prompt="p",
        rules=(
            Rule(id="a", rule="x", source=away),
            Rule(id="b", rule="x", source=away, origin="edited"),
            Rule(id="c", rule="x", source="Never explain!", stale=True),
        ),
    )
    assert [rule.stale for rule in mark_stale(spec, TEXT).rules] == [True, False, False]


def test_a_moved_sentence_has_not_changed() -> None:
    assert diff_sentences("First one. Second two.", "Second two.\n\nFirst  ONE.") == []


@pytest.mark.parametrize(
    ("source", "covered"), [("Return only the part of speach tag", True), ("Answer in French only", False)]
)
def test_a_sentence_is_covered_by_words_with_a_letter_wrong(source: str, covered: bool) -> None:
    prompt = parse("Return only the part of speech tag, e.g. NN.\n\n{{word}}")
    assert (uncovered([Rule(id="a", rule="x", source=source)], prompt) == ()) is covered


def test_folded_is_one_form() -> None:
    assert folded("Ti\u0065\u0302\u0301ng  Vie\u0323\u0302t") == folded("TIẾNG\nVIỆT")


OLD = parse("Label it. Reply in one word. Be brief.\n\n{{review}}\n")
NEW = parse("system:\nLabel it. Reply in two words. Sign it.\n\nuser:\n{{review}} {{name}}\n")
SPEC = Spec(
    prompt="p",
    rules=(
        Rule(id="r1", rule="One word.", source="Reply in one word."),
        Rule(id="r2", rule="Brief.", source="Be brief"),
    ),
)
SUITE = Suite(prompt="p", cases=tuple(Case(id=f"c{n}", rule=f"r{n}", inputs={}) for n in (1, 2, 3)))


def test_sentences_with_one_spec() -> None:
    difference = diff_prompts(OLD, NEW, spec=SPEC, suite=SUITE)
    touched = {(one.kind, one.old, one.new): (one.rules, one.cases) for one in difference.sentences}
    assert touched[("changed", "Reply in one word.", "Reply in two words.")] == (("r1",), ("c1",))
    assert touched[("removed", "Be brief.", None)] == (("r2",), ("c2",))
    assert touched[("added", None, "Sign it.")] == ((), ())
    assert difference.rules == ()
    assert (difference.variables_added, difference.variables_removed) == (("name",), ())
    assert difference.roles == (("system",), ("system", "user"))
    assert difference.rule_texts == {"r1": "One word.", "r2": "Brief."}


def test_rules_of_two_specs() -> None:
    after = Spec(
        prompt="p",
        rules=(
            SPEC.rules[0].replace(checks=(Check(kind="word-count", value=2),)),
            SPEC.rules[1].replace(stale=True),
            Rule(id="r3", rule="Signed.", source="Sign it."),
        ),
    )
    difference = diff_prompts(OLD, NEW, spec=after, old_spec=SPEC, suite=SUITE)
    assert [(one.kind, one.rule, one.old, one.new, one.cases) for one in difference.rules] == [
        ("changed", "r1", "One word.", "One word.", ("c1",)),
        ("added", "r3", None, "Signed.", ("c3",)),
        ("removed", "r2", "Brief.", None, ("c2",)),
    ]
    assert next(one for one in difference.sentences if one.new == "Sign it.").rules == ("r3",)


@pytest.mark.parametrize("change", [{"needs": "input"}, {"when": ({"variable": "x", "kind": "equals"},)}])
def test_a_rule_with_another_condition_is_another(change: dict[str, object]) -> None:
    after = SPEC.replace(rules=(SPEC.rules[0].replace(**change), SPEC.rules[1]))
    difference = diff_prompts(OLD, OLD, spec=after, old_spec=SPEC)
    assert [(one.kind, one.rule) for one in difference.rules] == [("changed", "r1")]


def test_files_beside_are_found_and_a_missing_one_is_named(tmp_path: Path) -> None:
    for name, text in (("v1", "Be brief.\n{{a}}"), ("v2", "Be very brief.\n{{a}}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "prompt.md").write_text(text, encoding="utf-8")
        spec = f"prompt: prompt.md\nrules:\n  - {{id: r1, rule: '{name}', source: Be brief.}}\n"
        (tmp_path / name / "prompt.spec.yaml").write_text(spec, encoding="utf-8")
    difference, _ = compare_files(tmp_path / "v1" / "prompt.md", tmp_path / "v2" / "prompt.md")
    assert [(one.kind, one.rule, one.old, one.new) for one in difference.rules] == [("changed", "r1", "v1", "v2")]
    assert [one.rules for one in difference.sentences] == [("r1",)]
    with pytest.raises(PromptFileError, match=r"none\.md"):
        compare_files(tmp_path / "none.md", tmp_path / "v2" / "prompt.md")


def test_what_is_printed_obeys_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Be brief.\n{{a}}", encoding="utf-8")
    (tmp_path / "b.md").write_text("Be \x1b[31mred.\n{{a}}", encoding="utf-8")
    done = CliRunner().invoke(command, [str(tmp_path / "a.md"), str(tmp_path / "b.md")])
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert "Sentences:" in done.output
    done = CliRunner().invoke(command, [str(tmp_path / "a.md"), str(tmp_path / "a.md")])
    assert done.output == "No difference.\n"
