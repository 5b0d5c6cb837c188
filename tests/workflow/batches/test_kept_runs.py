"""The report of runs that there are."""

from __future__ import annotations

from pathlib import Path

from promptpex.report import Summary, runs, summarise
from promptpex.workflow.batches.batch_reports import report_kept_runs
from promptpex.workflow.batches.find_runs import MeantRun, MeantRuns
from tests.tables.many import many


def test_two_runs_of_one_prompt_keep_their_own_figures(tmp_path: Path) -> None:
    meant = []
    for number, failing in enumerate((6, 0)):
        folder = tmp_path / "colours" / f"run{number}"
        runs.finish(folder, many(20, {"a": lambda n, failing=failing: n >= failing}, run=folder.name))  # type: ignore[misc]
        meant.append(MeantRun("p/colours.md", folder))

    def summary_of(folder: Path) -> Summary:
        return summarise(runs.read_for_report(folder), folder=folder)

    report = report_kept_runs(MeantRuns(tuple(meant)), tmp_path, summary_of, created="2026-01-02T03:04:05Z")
    shares = {one["file"]: one["models"][0]["non_compliance"] for one in report.to_dict()["prompts"]}
    assert shares == {"colours/run0": 0.3, "colours/run1": 0.0}
    assert set(report.names.values()) == set(shares)
