"""The owner's metrics in every form of a run's report, and in a gate."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Metric, Run
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.report.gate import Decide, Decided, Limits, decided
from promptpex.report.html_page import html
from promptpex.report.run_comparison import compare_runs
from promptpex.report.run_comparison import to_dict as to_json
from promptpex.report.summary import to_dict
from promptpex.report.terminal import show_comparison
from promptpex.tables import records
from tests.report.printed import printed
from tests.samples import prompt
from tests.tables.test_metrics import Value, scored

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
    assert "48% (32–64%)" in text
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
    assert json.loads(json.dumps(to_json(both)))["metrics"][0]["decision"] == "better"
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


@pytest.mark.parametrize(("now", "cells"), [(0.4999, "50% 50% +0 ("), (None, "undecided – – – –")])
def test_a_metric_that_stays_or_has_no_score_is_compared_without_a_false_figure(now: float | None, cells: str) -> None:
    both = compare_runs(scored(30, a=lambda n: 0.5 if now else None), scored(30, a=lambda n: now))
    file = io.StringIO()
    show_comparison(both, Console(file=file, width=140))
    shown = " ".join(file.getvalue().split())
    assert cells in shown
    assert not any(zero in shown for zero in ("-0 (", "(-0 ", "-0)"))


def gated(limit: float, value: Value, decide: Decide = "point") -> Decided:
    summary = summarise(scored(20, a=value))
    limits = Limits(min_metrics={"tone": limit}, decide=decide)
    return decided(records(summary.models), limits, records(summary.metrics))["a"]


@pytest.mark.parametrize(
    ("limit", "decide", "outcome"),
    [
        (0.5, "point", "pass"),
        (0.79, "point", "cannot tell"),
        (0.81, "point", "fail"),
        (0.9, "low", "cannot tell"),
        (0.97, "low", "fail"),
        (0.5, "high", "pass"),
        (0.6, "high", "fail"),
    ],
)
def test_a_gate_holds_the_mean_or_an_end_of_its_interval_against_a_limit(
    limit: float, decide: Decide, outcome: str
) -> None:
    made = gated(limit, lambda n: float(n < 16), decide)
    assert ("fail" if made.exceeded else "cannot tell" if made.untold else "pass") == outcome


def test_a_gate_passes_only_what_would_pass_if_all_missing_scores_were_0() -> None:
    assert gated(0.5, lambda n: 1.0 if n < 16 else None) == Decided()
    (why,) = gated(0.81, lambda n: 1.0 if n < 16 else None).untold
    assert why == "4 of 20 outputs have no score by tone; were they worth 0, tone is 80%, below 81%"
    assert gated(0.81, lambda n: 1.0 if n < 16 else 0.0).exceeded == ("tone is 80%, below 81%",)
    assert gated(0.0, lambda n: None).exceeded == ("no output has a score by tone",)


@pytest.mark.parametrize("later", [0.0, 0.5, 1.0])
def test_a_gate_on_the_lower_end_passes_nothing_that_a_later_score_would_fail(later: float) -> None:
    still_open = summarise(scored(20, a=lambda n: None if n == 0 else 0.5)).metrics["ci_low"].iloc[0]
    limit = float(still_open) - 0.001
    assert gated(limit, lambda n: None if n == 0 else 0.5, "high") == Decided()
    assert gated(limit, lambda n: later if n == 0 else 0.5, "high") == Decided()
    assert gated(limit + 0.002, lambda n: None if n == 0 else 0.5, "high").exceeded


def test_a_gate_names_the_metrics_that_there_are() -> None:
    summary = summarise(run())
    for name, words in (("tine", "its metrics are tone; did you mean 'tone'"), ("expected", "its metrics are tone")):
        with pytest.raises(InputError, match=words):
            decided(records(summary.models), Limits(min_metrics={name: 0.5}), records(summary.metrics))
    with pytest.raises(InputError, match="it has none"):
        decided(records(summary.models), Limits(min_metrics={"tone": 0.5}))


def test_of_several_runs_a_limit_holds_where_its_metric_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with_metric = scored(20, a=lambda n: 0.9)
    without = with_metric.replace(metrics=(), scores=())
    runs.finish(tmp_path / "results" / "p" / "with", with_metric)
    runs.finish(
        tmp_path / "results" / "q" / "without",
        without.replace(manifest=without.manifest.replace(run="0123456789", prompt="q")),
    )
    both = ("gate", "results/p/with", "results/q/without", "--min-metric")
    assert run_cli([*both, "tone=80"]) == 0
    assert "q: Limits on metrics that this run does not have: tone." in capsys.readouterr().err
    assert run_cli([*both, "tone=95"]) == 1
    assert "a: tone is 90%, below 95%" in capsys.readouterr().out
    assert run_cli([*both, "tine=80"]) == 2
    assert "'tine' is not a metric of any of the runs; their metrics are tone" in capsys.readouterr().err
    assert run_cli(["gate", "results/q/without", "--min-metric", "tone=80"]) == 2
    assert "it has none" in capsys.readouterr().err


def test_the_gate_command_reads_limits_and_says_what_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runs.finish(tmp_path / "results" / "p" / "r", scored(20, a=lambda n: 0.9))
    assert run_cli(["gate", "--min-metric", "tone=80"]) == 0
    assert "tone is 90% (CI 75–91%), 20 outputs" in capsys.readouterr().out
    assert run_cli(["gate", "--min-metric", "tone=95%"]) == 1
    assert "FAIL  a: tone is 90%, below 95%" in capsys.readouterr().out
    for wrong, words in (
        ("tone", "write tone=80"),
        ("tone=101", "write tone=80"),
        ("tone=x", "write tone=80"),
        ("tone=0.8", "write tone=80, or tone=0.8%"),
        ("tine=80", "did you mean 'tone'"),
    ):
        assert run_cli(["gate", "--min-metric", wrong]) == 2
        assert words in capsys.readouterr().err
    assert run_cli(["gate"]) == 2
    assert "--min-metric" in capsys.readouterr().err


def test_the_page_draws_each_metric_and_shows_its_lowest_outputs() -> None:
    description = "<b>How kind</b> & \u202eso on"
    criteria = prompt().replace(path=None)
    tone = Metric(name="tone", description=description, scale="0-100", criteria=criteria)
    page = html(summarise(run().replace(metrics=(tone,))))
    section = page[page.index('id="metrics"') : page.index('id="case-types"')]
    assert "&lt;b&gt;How kind&lt;/b&gt; &amp; [U+202E]so on" in section
    assert section.count('<circle class="dot"') == 2
    assert "48% (32–64%)" in section
    assert "15 of 20" in section
    assert "5 judge-malformed" in section
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in section
    assert section.count("<article>") == 3
    assert "<img" not in page
    assert 'id="metrics"' not in html(summarise(run().replace(scores=())))


def test_the_page_has_each_judge_of_several() -> None:
    made = scored(20, a=lambda n: 0.5)
    joint = [one.replace(source="judges:mean") for one in made.scores]
    beside = [
        one.replace(value=value, source=f"judge:{HOSTILE}{judge}", counts=False)
        for one in made.scores
        for judge, value in (("j", 0.2), ("k", 0.8))
    ]
    summary = summarise(made.replace(scores=(*joint, *beside)))
    page = html(summary)
    assert page.count("one of several judges") == 2
    assert "<img" not in page
    text = printed(summary, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "20% (" in text
    assert "80% (" in text


def test_a_pass_fail_metric_has_ok_and_err_and_no_points() -> None:
    made = run().replace(metrics=(Metric(name="tone", criteria=prompt()),))
    assert "lowest tone: ERR, a, case c0" in " ".join(printed(summarise(made)).split())
    page = " ".join(html(summarise(made)).split())
    assert ">ERR: <bdi>a</bdi>" in page
    assert ">0 of 100: <bdi>" not in page
    percent = Metric(name="tone", scale="0-100", criteria=prompt())
    assert "lowest tone: 0 of 100, a" in " ".join(printed(summarise(made.replace(metrics=(percent,)))).split())
