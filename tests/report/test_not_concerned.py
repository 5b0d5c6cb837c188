"""What a run's reports, files and gate make of rules that do not concern every output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.core.errors import RunError
from promptpex.core.records import Run
from promptpex.interchange import junit
from promptpex.report import runs
from promptpex.report.gate import Limits, decided
from promptpex.report.html_page import html
from promptpex.report.run_comparison import compare_runs
from promptpex.report.summary import summarise, to_dict
from promptpex.tables import records, verdicts
from tests.report.printed import printed
from tests.tables.by_hand import output, run, verdict
from tests.tables.many import cases


def half_concerned() -> Run:
    """Four outputs, of which r1 concerns two and fails one by a check that the judge contradicts; r2 is kept by all."""
    outputs = [output(f"c{n}", text=f"text {n}") for n in range(4)]
    judged = [verdict("fail", case="c0"), verdict("pass", case="c0", source="judge:j", reason="it is right")]
    judged += [verdict("pass", case="c1")]
    judged += [verdict("not_concerned", case=f"c{n}", source="check:when", reason="no order") for n in (2, 3)]
    judged += [verdict("pass", "r2", f"c{n}") for n in range(4)]
    return run(outputs, judged, cases=cases(4))


def test_terminal_page_and_json_show_how_many_outputs_a_rule_does_not_concern() -> None:
    summary = summarise(half_concerned())
    assert "1 of 2, 2 not concerned" in printed(summary)
    page = " ".join(html(summary).split())
    assert "1 of 2, 2 not concerned" in page
    assert "not concerned by <bdi>r1</bdi>" in page
    rows = {row["rule"]: row for row in to_dict(summary)["rules"]}
    assert (rows["r1"]["scored"], rows["r1"]["not_concerned"], rows["r2"]["not_concerned"]) == (2, 2, 0)
    assert {verdict.status for verdict in half_concerned().verdicts} == set(summary.verdicts["status"])


def test_the_terminal_marks_a_lower_bound_of_a_rule_and_counts_what_is_unscored() -> None:
    made = half_concerned()
    lost = {"status": "unscored", "unscored": "judge-malformed"}
    judged = [one.replace(**lost) if (one.case, one.rule) == ("c1", "r1") else one for one in made.verdicts]
    text = printed(summarise(made.replace(verdicts=tuple(judged))))
    assert "≥1 of 2, 1 unscored, 2 not concerned" in text
    assert "at least: some usable outputs have no verdict" in text
    assert "≥" not in printed(summarise(made))


def test_a_failure_that_a_judge_contradicts_is_in_the_answer_and_never_called_sure() -> None:
    summary = summarise(half_concerned())
    assert summary.answer is not None
    assert "1 of 1 failure of m rests on a check that the judge contradicts" in summary.answer
    for shown in (printed(summary), html(summary)):
        assert "The check or the judge is wrong: read these first." in " ".join(shown.split())
        assert "surest" not in shown
        assert "proves" not in shown
    assert to_dict(summary)["models"][0]["contradicted"] == 1


def test_junit_and_gate_take_such_an_output_for_kept() -> None:
    made = half_concerned()
    assert 'failures="1" errors="0"' in junit.text(made)
    rows = records(summarise(made).models)
    assert not decided(rows, Limits(max_non_compliance=0.25))["m"].exceeded
    assert decided(rows, Limits(max_non_compliance=0.2))["m"].exceeded


def test_two_runs_with_it_compare_as_kept_and_broken() -> None:
    before, after = half_concerned(), half_concerned()
    changed = tuple(one.replace(status="fail") if one.case == "c2" else one for one in after.verdicts)
    comparison = compare_runs(before, after.replace(verdicts=changed))
    (row,) = records(comparison.models)
    assert (row["before"], row["after"], row["after_scored"]) == (1, 2, 4)
    assert records(comparison.changed)[0]["case"] == "c2"


@pytest.mark.parametrize("name", ["tolerance", "confidence", "repeats", "against", "weights", "rank_by"])
@pytest.mark.parametrize("value", [{"x": ["x"]}, ["x"], True])
def test_a_setting_in_a_manifest_that_no_report_can_compute_with_is_a_named_error(
    tmp_path: Path, name: str, value: object
) -> None:
    folder = tmp_path / "p" / "run"
    runs.finish(folder, half_concerned())
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "settings": {name: value}}))
    for read in (runs.read, runs.read_for_report):
        with pytest.raises(RunError, match=name):
            read(folder)


def test_a_run_with_it_comes_back_and_a_status_that_there_is_none_of_is_a_named_error(tmp_path: Path) -> None:
    folder = tmp_path / "p" / "run"
    runs.finish(folder, half_concerned())
    assert runs.read(folder) == half_concerned()
    assert [*verdicts(runs.read_for_report(folder))["status"]] == [one.status for one in half_concerned().verdicts]
    path = folder / "verdicts.jsonl"
    lines = path.read_text().splitlines()
    for status in ("irrelevant", "not concerned", "", None, ["pass"]):
        changed = json.dumps({**json.loads(lines[2]), "status": status})
        path.write_text("\n".join([*lines[:2], changed, *lines[3:]]) + "\n")
        for read in (runs.read, runs.read_for_report):
            with pytest.raises(RunError, match="status") as error:
                read(folder)
            assert (error.value.path, error.value.line) == (path, 3)
