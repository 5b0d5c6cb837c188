from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Run
from promptpex.report import Summary, summarise
from promptpex.report.terminal import clean, money, notes, percent, seconds
from tests.report.printed import printed
from tests.tables.by_hand import colours, output, run, verdict
from tests.work import calls

EVIL = "\x1b]0;owned\x07\x1b[31m red \x9b31m \u202e back \u2028 line \r over \x00 [/b] [link=x] :smile:"


def shown(made: Run, *, folder: Path | None = None, colour: bool = False, width: int = 100) -> str:
    return printed(summarise(made, folder=folder), width=width, colour=colour)


def hostile() -> Run:
    broken = verdict("fail", EVIL, EVIL, EVIL, reason=EVIL)
    cut = output("c2", EVIL, None, error=EVIL, message=EVIL)
    open_ = verdict("unscored", "r1", "c2", EVIL, unscored=EVIL, source="none")
    return run([output(EVIL, EVIL, EVIL), cut], [broken, open_], models=(EVIL,), name=EVIL, partial=EVIL)


def test_control_characters_never_reach_the_terminal() -> None:
    text = shown(hostile(), folder=Path("results") / EVIL.replace("\x00", ""))
    bad = {letter for letter in text if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}
    assert not bad
    assert "owned" in text


def test_foreign_text_is_neither_markup_nor_a_code_for_an_emoji() -> None:
    text = shown(hostile())
    assert text.count("[/b]") >= 4
    assert "😄" not in text
    assert ":smile:" in text


def test_the_table_says_how_many_of_how_many() -> None:
    text = shown(colours())
    assert "1 of 3" in text
    assert "33% (0.8–91%)" in text
    assert "3 of 3" in text
    assert "unknown" in text
    assert "Unscored, b: 1 truncated." in text
    assert "r2  fails in 3 of 3" in text


@cache
def summary_of_colours() -> Summary:
    """Made once for all widths."""
    return summarise(colours())


@pytest.mark.parametrize("width", [60, 72, 80, 90, 99, 100, 120, 200])
def test_a_figure_is_shown_whole_or_named_as_left_out(width: int) -> None:
    lines = printed(summary_of_colours(), width=width).splitlines()
    start = next(index for index, line in enumerate(lines) if line.lstrip().startswith("model "))
    text = "\n".join(lines[start:])
    assert max(len(line.rstrip()) for line in lines[start : start + 8]) <= width
    assert "33% (0.8–91%)" in text
    spared = next((line for line in lines if line.startswith("Hidden at this width")), "")
    row = next(line for line in lines[start:] if line.lstrip().startswith("a "))
    assert ("cost" in spared) != ("$0.0300" in row)
    assert ("p50" in spared) != ("0.20 s" in row)
    assert bool(spared) == (width < 72)


def test_a_model_alone_has_no_place() -> None:
    assert "decision" not in shown(run([output()], [verdict()]))
    assert "decision" in shown(colours())


def test_a_model_that_could_not_answer_is_named_with_what_to_do() -> None:
    failed = [output(case, "m", None, error="no-key", message="no key; set X_API_KEY") for case in ("c1", "c2")]
    open_ = [verdict("unscored", "r1", case, "m", unscored="no-key", source="none") for case in ("c1", "c2")]
    text = shown(run(failed, open_, models=("m",)))
    assert "Unscored, m: 2 no-key.\n  no-key: no key; set X_API_KEY\n" in text
    assert text.count("set X_API_KEY") == 1
    assert "Failures by rule" not in text


def test_the_first_error_that_says_something_is_shown() -> None:
    messages = {"c1": "", "c2": "the server is down", "c3": "it is still down"}
    failed = [output(case, "m", None, error="unavailable", message=text) for case, text in messages.items()]
    other = output("c1", "n", None, error="no-key", message="set N_API_KEY")
    made = run([*failed, other, output("c4", "m", "RED", message="never shown")], models=("m", "n"))
    assert notes(summarise(made)) == [
        "Unscored, m: 3 unavailable, 1 no-judge.",
        "  unavailable: the server is down",
        "Unscored, n: 1 no-key.",
        "  no-key: set N_API_KEY",
    ]


def test_an_empty_run_has_a_table_and_no_share() -> None:
    text = shown(run(models=("silent",)))
    assert "silent" in text
    assert "0 of 0" in text
    assert "%" not in text.replace("95%", "")


def test_notes_name_what_was_not_judged_and_what_is_not_complete() -> None:
    nobody = verdict("unscored", "r2", unscored="no-judge", counts=False, source="none")
    lines = notes(summarise(run([output()], [verdict(), nobody], partial="budget")))
    assert lines == [
        "Not judged: 1 of 2 rules (r2) has no check and no judge.",
        "This run is not complete (budget): the same command continues it.",
    ]
    anew = summarise(run([output()], [verdict()], partial="budget", settings={"fresh": True}))
    assert notes(anew) == ["This run is not complete (budget): the same command without --fresh continues it."]
    assert notes(summarise(run([output()], [verdict()]))) == []


@given(st.text(st.characters(), max_size=300), st.integers(1, 50))
def test_clean_gives_one_line_of_at_most_the_limit(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert len(cleaned) <= limit
    assert not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in cleaned)


def test_clean_looks_at_no_more_of_a_text_than_it_shows() -> None:
    assert calls(clean, "many \x1b words " * 100_000, 50) < 300


def test_clean_keeps_what_people_read() -> None:
    assert clean("Tiếng  Việt\n日本 مرحبا 🙂") == "Tiếng Việt 日本 مرحبا 🙂"
    assert clean(None) == ""
    assert clean("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("usd", "text"), [(None, "unknown"), (0.0, "$0.00"), (0.00123, "$0.0012"), (0.5, "$0.5000"), (12.345, "$12.35")]
)
def test_money(usd: float | None, text: str) -> None:
    assert money(usd) == text


def test_shares_and_times() -> None:
    assert (percent(None), percent(0.125), percent(1.0)) == ("–", "12%", "100%")
    assert (seconds(None), seconds(1234.5)) == ("–", "1.23 s")
