"""What a run ends with: one screen, on which the answer stands last, and the way on and to the page just above it."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len

from promptpex.core.records import Run
from promptpex.report import Summary, summarise
from promptpex.report.terminal import NO_OCCASION, Occasion, clean
from tests.report.printed import printed
from tests.report.test_terminal import EVIL, hostile
from tests.report.test_widths import LONG, SHORT, made
from tests.tables.by_hand import colours, output, run, verdict

PLACE = Path("results/colours/run-1")


def many(models: int, label: str = LONG) -> Run:
    """Models that break rules in some of 24 outputs, others that gave an error: notes, marks and failures in one."""
    names = [label.format(number) for number in range(models)]
    cases = [f"c{n}" for n in range(1, 25)]
    outputs = [output(case, name, f"text of {case}" * 9) for name in names for case in cases[:-2]]
    failed = [
        output(case, name, None, error="no-key", message="no key. " * 30) for name in names for case in cases[-2:]
    ]
    verdicts = [
        verdict("fail" if (at + n) % 3 == 0 else "pass", rule, case, name, reason="the reason is long " * 9)
        for n, name in enumerate(names)
        for at, case in enumerate(cases[:-2])
        for rule in ("r1", "r2")
    ]
    open_ = [verdict("unscored", "r1", one.case, one.model, unscored="no-key", source="none") for one in failed]
    return run([*outputs, *failed], [*verdicts, *open_], models=tuple(names), partial="budget")


def brief(made_run: Run | Summary, *, width: int = 80, occasion: Occasion = NO_OCCASION, colour: bool = False) -> str:
    summary = made_run if isinstance(made_run, Summary) else summarise(made_run, folder=PLACE)
    return printed(summary, width=width, full=False, occasion=occasion, colour=colour)


def rows(text: str, width: int) -> int:
    """The lines that a terminal of this width takes for a text; it folds those that are longer."""
    return sum(max(1, -(-cell_len(line.rstrip()) // width)) for line in text.splitlines())


RUNS = {
    "empty": run(models=("silent",)),
    "small": colours(),
    "hostile": hostile(),
    "ranked": made(2, SHORT, metrics=True),
    "one": many(1),
    "four": many(4),
    "thirty": many(30),
    "short names": many(8, SHORT),
}


@cache
def summary_of(name: str) -> Summary:
    """The summary of one of these runs, made once for all widths."""
    return summarise(RUNS[name], folder=PLACE)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_ends_with_one_screen_of_80_columns_and_the_answer_last(name: str) -> None:
    summary = summary_of(name)
    again = "promptpex run prompts/colours.md --models " + ",".join(RUNS[name].manifest.models)[:60]
    text = brief(summary, occasion=Occasion("7 requests sent, 3 answers from the store", again, PLACE.parent / "run-0"))
    assert rows(text, 80) <= 23, "with the prompt of a shell they fill 24 lines"
    assert f"\nReport: {PLACE}/report.html\n\n" in text
    assert "\nNext: promptpex " in text or name == "empty"
    end = " ".join(text.rpartition("report.html\n\n")[2].split())
    assert " ".join(clean(summary.answer, 4096).split()).startswith(
        end.removesuffix(" The report has the rest.").removesuffix(" …")
    )
    assert end


@pytest.mark.parametrize("width", [40, 50, 79, 100, 120, 200])
@pytest.mark.parametrize("name", RUNS)
def test_at_any_width_lines_fit_but_for_what_must_not_be_broken(name: str, width: int) -> None:
    text = brief(summary_of(name), width=width)
    for line in text.splitlines():
        whole = line.startswith(("Report: ", "Next: ", "      promptpex "))
        assert whole or cell_len(line.rstrip()) <= width


def test_who_wants_all_tables_gets_them_and_the_same_end() -> None:
    summary = summarise(colours(), folder=PLACE)
    short, whole = brief(summary), printed(summary, width=80)
    assert short.rpartition("\nNext: ")[2] == whole.rpartition("\nNext: ")[2]
    assert "Failures by rule" in whole
    assert "Failures by rule" not in short
    assert "intervals are exact" in whole


def test_the_worst_three_rules_are_named_with_an_output() -> None:
    text = brief(colours(), width=120)
    assert "Most frequent failures\n  r2  3 of 3: " in text
    assert "\n      b, case c1: no colour\n  r1  1 of 3: " in text


def test_marks_and_hidden_columns_are_explained_in_a_line() -> None:
    text = " ".join(brief(colours(), width=60).split())
    assert "* fewer than 20 scored cases, a rough guide; hidden: cost, p50" in text


def test_what_is_unscored_is_told_reason_by_reason_with_what_to_do() -> None:
    failed = [
        output(case, model, None, error=error, message=f"set {model.upper()}_API_KEY")
        for model, case, error in (("a", "c1", "no-key"), ("a", "c2", "filtered"), ("b", "c1", "no-key"))
    ]
    lines = brief(run(failed, models=("a", "b"))).splitlines()
    assert "Unscored: 2 no-key (a 1, b 1). set A_API_KEY" in lines
    assert "Unscored: 1 filtered (a). set A_API_KEY" in lines


def test_metrics_have_a_line_each_but_for_the_one_in_the_table() -> None:
    by_tone, by_rules = (summarise(RUNS["ranked"], folder=PLACE, rank_by=how) for how in ("tone", "non-compliance"))
    assert re.search(r"\nMetric tone: m0 50% \(.*\), m1 50% \(.*\)\.\n", brief(by_rules, width=120))
    assert "Metric tone" not in brief(by_tone, width=120)


def test_of_many_models_the_best_are_shown_and_the_others_counted() -> None:
    text = brief(many(30, SHORT))
    assert "more models (see report.html)." in text
    shown = re.findall(r"^(m\d+) ", text, re.MULTILINE)
    assert 2 <= len(shown) <= 8


def test_that_a_run_is_not_complete_stands_first_of_the_notes() -> None:
    text = brief(many(4))
    assert "This run is not complete (budget)" in text
    assert re.search(r"\d+ more notes?: promptpex report run-1 --full", text)


def test_the_page_is_a_link_where_there_is_a_terminal_and_a_path_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "a folder" / "of \x1b]0;owned\x07 names" / ("long" * 30)
    summary = summarise(colours(), folder=folder)
    plain, live = brief(summary), brief(summary, colour=True)
    assert "\x1b" not in plain
    path = f"Report: {tmp_path}/a folder/of \ufffd]0;owned\ufffd names/{'long' * 30}/report.html"
    assert path in plain.splitlines(), "one line, however long"
    links = re.findall(r"\x1b\]8;id=\d+;(.*?)\x1b\\", live)
    page = (folder / "report.html").as_uri()
    assert links == [f"{page}#rule=r2&verdict=fail", f"{page}#rule=r1&verdict=fail", page]
    assert "%1B%5D0%3Bowned%07" in links[0]


def test_decisions_have_colours_and_nothing_foreign_reaches_the_terminal() -> None:
    live = brief(RUNS["ranked"], colour=True)
    assert "\x1b[33mundecided" in live
    bare = re.sub(r"\x1b\[[\d;]*m|\x1b\]8;[^\x1b]*\x1b\\", "", brief(RUNS["hostile"], colour=True))
    assert not {letter for letter in bare if unicodedata.category(letter) in ("Cc", "Cf", "Cs")} - {"\n"}
    assert EVIL[1:10] not in bare or "\x1b" not in bare
