"""The owner's metrics in every form of a run's report, and in a gate."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from rich.console import Console

from promptpex.core.records import Run
from promptpex.report import summarise
from promptpex.report.files import write
from promptpex.report.run_comparison import compare_runs
from promptpex.report.run_comparison import to_dict as to_json
from promptpex.report.summary import to_dict
from promptpex.report.terminal import show_comparison
from tests.report.printed import printed
from tests.tables.test_metrics import scored

HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m=HYPERLINK(1)\u202e"


def run(count: int = 20) -> Run:
    """Two models with one metric; the lowest score has a hostile reason."""
    made = scored(count, a=lambda n: n / count, b=lambda n: None if n < 5 else 1.0)
    reasons = [one.replace(reason=HOSTILE if one.value == 0 else "") for one in made.scores]
    return made.replace(scores=tuple(reasons))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_files_of_a_run_have_the_metrics(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "p" / "r"
    folder.mkdir(parents=True)
    written = write(summarise(run()), folder)
    assert folder / "metrics.csv" in written
    by_metric = rows_of(folder / "metrics.csv")
    assert [(row["model"], row["metric"], row["scored"]) for row in by_metric] == [
        ("a", "tone", "20"),
        ("b", "tone", "15"),
    ]
    by_model = rows_of(folder / "report.csv")
    assert [row["metric_tone"] for row in by_model] == ["0.475", "1.0"]
    assert [float(row["metric_tone_ci_low"]) < 0.76 for row in by_model] == [True, True]
    assert list(by_model[0])[-4:] == ["metric_tone", "metric_tone_scored", "metric_tone_ci_low", "metric_tone_ci_high"]
    outputs = rows_of(folder / "results.csv")
    assert [row["metric_tone"] for row in outputs[:2]] == ["0.0", "0.05"]
    assert outputs[20]["metric_tone"] == ""
    write(summarise(run().replace(scores=())), folder)
    assert not (folder / "metrics.csv").exists(), "that of an earlier judging is taken away"
    assert "metric_tone" not in rows_of(folder / "report.csv")[0]


def test_the_terminal_has_a_table_that_fits_and_the_lowest_output() -> None:
    text = printed(summarise(run()), width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "Own metrics" in text
    assert "48% (34–61%)" in text
    assert "15 of 20" in text
    assert "lowest tone: 0 of 100, a, case c0" in text
    assert "\x1b" not in text
    assert "Own metrics" not in printed(summarise(run().replace(scores=())))


def test_json_has_each_row_and_the_lowest_scores() -> None:
    data = json.loads(json.dumps(to_dict(summarise(run()))))
    assert [(row["model"], row["mean"]) for row in data["metrics"]] == [("a", 0.475), ("b", 1.0)]
    assert [row["case"] for row in data["lowest_scores"]] == ["c0", "c1", "c2"]
    assert to_dict(summarise(run().replace(scores=())))["metrics"] == []


def test_two_runs_are_compared_by_each_metric() -> None:
    before, after = scored(30, a=lambda n: 0.25), scored(30, a=lambda n: 0.5)
    both = compare_runs(before, after)
    assert "The metric tone is clearly higher: 25% before, 50% after (30 cases)." in both.answer
    assert both.regressions == ()
    assert json.loads(json.dumps(to_json(both)))["metrics"][0]["change"] == "better"
    file = io.StringIO()
    show_comparison(both, Console(file=file, width=80))
    assert "+25 (" in file.getvalue()
    assert max(map(len, file.getvalue().splitlines())) <= 80
    assert not any("Scored in another way" in note for note in both.notes)
    other = [one.replace(fingerprint="f2") for one in after.scores]
    assert (
        "Scored in another way in the two runs (criteria, judge or settings): tone."
        in compare_runs(before, after.replace(scores=tuple(other))).notes
    )
    assert compare_runs(before, after.replace(scores=())).metrics.empty
