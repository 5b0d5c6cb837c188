"""Models ranked by a metric: what reports, files and comparisons then say."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from promptpex.core.errors import InputError
from promptpex.core.records import Metric, Run
from promptpex.report.files import write
from promptpex.report.html_page import html
from promptpex.report.ranked_metric import require_metric
from promptpex.report.run_comparison import compare_runs
from promptpex.report.summary import Summary, summarise
from promptpex.report.summary import to_dict as to_json
from tests.report.printed import printed
from tests.tables.test_accuracy import answered
from tests.tables.test_metrics import Value, scored


def summary(run: Run, **how: Any) -> Summary:
    return summarise(run, rank_by="tone", **how)


def tones(count: int = 40, **value: Value) -> Run:
    usual: Any = {"a": lambda n: 0.9 - n % 3 / 10, "b": lambda n: 0.5 + n % 2 / 10}
    return scored(count, **(value or usual))


def test_the_answer_is_by_the_metric_and_says_the_rest_after_it() -> None:
    text = str(summary(tones()).answer)
    assert text.startswith(
        "a is clearly the best by tone, by this judge: it has a mean of 80% by tone (95% CI 73–83%); "
        "it broke a rule in 0 of 40 scored outputs (0%, 95% CI 0–8.8%)."
    )
    assert "b is clearly worse by tone than a: tone 55%, 95% CI " in text
    assert "non-compliance 0%, 95% CI 0–8.8%" in text
    assert "by tone" not in str(summarise(tones()).answer)


def test_accuracy_stays_beside_it() -> None:
    right = answered(40, a=lambda n: n < 30, b=lambda n: n < 20)
    text = str(summary(right.replace(scores=(*right.scores, *tones().scores))).answer)
    assert "a is clearly the best by tone" in text
    assert "and was right in 30 of 40 outputs" in text
    assert "b is clearly worse by tone than a: tone 55%" in text
    assert "accuracy 50%" in text
    shown = " ".join(printed(summary(right.replace(scores=(*right.scores, *tones().scores)))).split())
    assert "the metric tone, outputs that break a rule and right outputs" in shown


def test_terminal_page_files_and_json_say_what_models_are_ranked_by(tmp_path: Path) -> None:
    made = summary(tones())
    assert "by tone; worse by exact sign flips" in " ".join(printed(made).split())
    assert "a is clearly the best by tone" in html(made)
    assert to_json(made)["rank_by"] == "tone"
    write(made, tmp_path)
    with (tmp_path / "report.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    assert (rows["a"]["decision"], rows["b"]["decision"], rows["b"]["beaten_by"]) == ("best", "worse", "a")
    gap = float(rows["b"]["metric_tone"]) - float(rows["a"]["metric_tone"])
    assert float(rows["b"]["difference"]) == pytest.approx(gap)
    assert float(rows["b"]["difference_low"]) < gap < float(rows["b"]["difference_high"]) < 0
    assert list(rows) == ["a", "b"]


def test_one_named_model_to_compare_with() -> None:
    text = str(summary(tones(), against="b").answer)
    assert text.startswith("Compared with b (tone 55%, 95% CI ")
    assert "clearly better by tone, by this judge: a (tone 80%" in text


def test_what_is_undecided_says_why() -> None:
    made = tones(a=lambda n: 0.9, b=lambda n: None if n < 30 else 0.5)
    text = str(summary(made).answer)
    assert "Undecided: a (tone 90%" in text
    assert "these data do not show which model is best by tone" in text
    assert "Undecided because 30 of 40 outputs of b have no score by tone." in text
    assert "b's mean by tone rests on only 10 outputs." in text
    assert "30 of 40 outputs of b have no score by tone: the intervals hold whatever it would be." in text


def test_one_model_and_none_with_a_score() -> None:
    alone = str(summary(tones(a=lambda n: 0.75)).answer)
    assert alone.startswith("a has a mean of 75% by tone (95% CI ")
    assert "it broke at least one rule in 0 of 40 scored outputs" in alone
    nothing = tones(a=lambda n: None, b=lambda n: None)
    text = str(summary(nothing).answer)
    assert text.startswith("No output has a score by tone, so no model can be assessed by it.")
    assert "a broke at least one rule in 0 of 40 scored outputs" in text
    half = str(summary(tones(a=lambda n: 0.75, b=lambda n: None)).answer)
    assert "no output of b was scored by tone" in half
    assert "No output of b" not in half


def test_where_nothing_was_judged_the_metric_still_ranks() -> None:
    made = tones().replace(verdicts=())
    text = str(summary(made).answer)
    assert "a is clearly the best by tone, by this judge: it has a mean of 80% by tone" in text
    assert "nothing was scored by the rules" in text
    printed(summary(made))
    html(summary(made))


def test_a_metric_that_the_run_lacks_is_named_with_those_that_it_has() -> None:
    with pytest.raises(InputError, match="the metrics here are tone; did you mean 'tone'"):
        summarise(tones(), rank_by="tune")
    with pytest.raises(InputError, match="there is no metric here"):
        summarise(tones().replace(scores=()), rank_by="tone")
    unscored = tones().replace(scores=(), metrics=(Metric(name="tone", code="true"),))
    assert "No output has a score by tone" in str(summary(unscored).answer)
    with pytest.raises(InputError, match="the metrics here are tone"):
        compare_runs(tones(), tones(), rank_by="short")


def test_a_comparison_may_tell_regressions_by_the_metric() -> None:
    before, after = tones(a=lambda n: 0.9, b=lambda n: 0.5), tones(a=lambda n: 0.7, b=lambda n: 0.6)
    assert compare_runs(before, after, rank_by="tone").regressions == ("a",)
    assert compare_runs(after, before, rank_by="tone").regressions == ("b",)
    assert compare_runs(before, after).regressions == ()
    assert compare_runs(before, after, rank_by="tone", tolerance=0.3).regressions == ()
    assert compare_runs(before, after, rank_by="tone", tolerance=0.1).regressions == ("a",)


def test_a_name_that_there_is_not_is_answered_with_those_that_there_are() -> None:
    for name in ("non-compliance", "accuracy", "tone"):
        require_metric(name, ["tone"])
    with pytest.raises(InputError) as error:
        require_metric("tune", ["tone", "short"])
    assert error.value.message == (
        "--rank-by names 'tune': models are ranked by non-compliance, accuracy, corrected or a metric, and the "
        "metrics here are tone, short; did you mean 'tone'?"
    )
    with pytest.raises(InputError, match=r"there is no metric here; did you mean 'accuracy'\?"):
        require_metric("acuracy", [])
