"""A report of a run's folder, read as columns, is the report of its records."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.core.errors import InputError
from promptpex.core.records import Run
from promptpex.report import runs, summarise, to_dict
from promptpex.report.files import csv_text
from promptpex.report.html_page import html
from promptpex.report.page.cases import ShownOutput, ShownVerdict
from promptpex.report.run_comparison import compare_runs
from promptpex.report.run_comparison import to_dict as comparison_to_dict
from promptpex.report.terminal import notes
from promptpex.report.view_model import page
from promptpex.tables import VERDICT_COLUMNS, StoredRun, Table
from tests.report.printed import printed
from tests.tables.by_hand import colours, output, run, verdict

ODD = ["", "a\x00", "a", "\ud800", "\\ud800", "'\\ud800'", "=1\u2028", "\u0085", "<b>\n", "x" * 30_000]


def judged_twice() -> Run:
    """Code and a judge at odds, a rule that nobody judges, an answer that is missing, one whose case is gone."""
    outputs = [output(f"c{n}", model, f"{n} {n}", repeat=r) for model in "ab" for n in (1, 2) for r in (0, 1)]
    outputs += [output("c3", "a", None, error="timed-out", message="no answer in 60 s"), output("gone", "b")]
    code = [verdict("fail", "r1", one.case, one.model, repeat=one.repeat, reason="two words") for one in outputs[:8]]
    by_judge = [one.replace(source="judge:j", status="pass", counts=False, confidence=0.9) for one in code]
    nobody = [
        one.replace(rule="r2", status="unscored", unscored="no-judge", source="none", counts=False) for one in code
    ]
    lost = verdict("fail", "r1", "c4", "a", reason="its output is lost")
    open_ = verdict("unscored", "r1", "c3", "a", unscored="timed-out", source="none")
    return run(outputs, [*code, *by_judge, *nobody, lost, open_], models=("a", "b"))


def odd() -> Run:
    outputs = [output(text=text, repeat=n, message=text) for n, text in enumerate(ODD)]
    return run(outputs, [verdict("fail", repeat=n, reason=text, fingerprint=text) for n, text in enumerate(ODD)])


RUNS = {"empty": run(), "colours": colours(), "judged twice": judged_twice(), "odd": odd()}


def read(made: Run, folder: Path) -> tuple[Run, StoredRun]:
    runs.finish(folder, made)
    return runs.read(folder), runs.read_for_report(folder)


@pytest.mark.parametrize("made", RUNS.values(), ids=RUNS)
def test_every_form_of_the_report_is_the_same(made: Run, tmp_path: Path) -> None:
    records, columns = (summarise(one) for one in read(made, tmp_path))
    assert to_dict(columns) == to_dict(records)
    assert columns.examples == records.examples
    assert html(columns) == html(records)
    for name in ("models", "outputs", "verdicts", "rules"):
        assert csv_text(getattr(columns, name)) == csv_text(getattr(records, name))
    for name in ("agreements", "disagreements"):
        assert csv_text(getattr(columns.details, name)) == csv_text(getattr(records.details, name))
    assert notes(columns) == notes(records)
    assert printed(columns, width=120) == printed(records, width=120)


def test_two_folders_are_compared_as_their_records_are(tmp_path: Path) -> None:
    before, columns_before = read(colours(), tmp_path / "one")
    after, columns_after = read(judged_twice(), tmp_path / "two")
    records, columns = compare_runs(before, after), compare_runs(columns_before, columns_after)
    assert comparison_to_dict(columns) == comparison_to_dict(records)
    assert columns.notes == records.notes


def answers(made: Run) -> Iterator[ShownOutput]:
    return (answer for case in page(summarise(made)).cases for answer in case.answers)


def test_the_page_shows_the_verdicts_on_each_output_in_order() -> None:
    first, *_, missing, moved = answers(judged_twice())
    code = ShownVerdict("r1", "fail", "two words", None, "check:x", True)
    judge = ShownVerdict("r1", "pass", "two words", None, "judge:j", False)
    assert first.verdicts == (code, judge)
    assert (missing.verdicts, moved.verdicts) == ((), ())
    (passing,) = answers(run([output()], [verdict(), verdict("pass", "r2"), verdict()]))
    assert (passing.verdicts, passing.passed) == ((), ("r1", "r2"))


def test_an_output_that_stands_twice_shows_its_verdicts_twice_and_one_that_is_lost_none() -> None:
    shown = [
        answer.verdicts for answer in answers(run([output(), output()], [verdict("fail"), verdict("fail", case="c2")]))
    ]
    assert [[failure.rule for failure in one] for one in shown] == [["r1"], ["r1"]]


def test_shown_verdicts_have_the_fields_of_verdicts_under_the_same_names() -> None:
    made = verdict("unscored", unscored="judge-empty", reason="nothing came", counts=False)
    (answer,) = answers(run([output()], [made]))
    assert answer.verdicts[0]._asdict() == {name: getattr(made, name) for name in ShownVerdict._fields}


@pytest.mark.parametrize("on", [True, False])
def test_a_summary_leaves_the_collector_as_it_was_also_after_an_error(on: bool) -> None:
    try:
        (gc.enable if on else gc.disable)()
        summarise(colours())
        assert gc.isenabled() is on
        with pytest.raises(InputError):
            summarise(colours(), against="nobody")
        assert gc.isenabled() is on
    finally:
        gc.enable()


def test_the_collector_rests_while_a_run_is_summarised() -> None:
    seen: list[str] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    made = run([output(repeat=n) for n in range(500)], [verdict("fail", repeat=n) for n in range(500)])
    summarise(made)
    gc.collect()
    gc.callbacks.append(collected)
    try:
        summarise(made)
    finally:
        gc.callbacks.remove(collected)
    assert seen.count("start") <= 2


def test_texts_that_differ_stay_apart_in_a_csv() -> None:
    texts = [*ODD, None, "=1", "'=1"]
    frame = Table.of([{"reason": text} for text in [*texts, *texts]], {"reason": VERDICT_COLUMNS["reason"]})
    one_by_one = [csv_text(frame.iloc[[n]]).removeprefix("reason\n") for n in range(len(frame))]
    assert csv_text(frame) == "reason\n" + "".join(one_by_one)
