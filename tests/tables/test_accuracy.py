"""Accuracy: the mean over cases of right outputs, with the interval, the tests and the worst case of non-compliance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from promptpex.core.errors import InputError
from promptpex.core.records import Run
from promptpex.stats import clopper_pearson
from promptpex.tables import RankingOptions, comparison, expected_outcomes, models, outputs, rankings, scores
from tests.tables.by_hand import output, score
from tests.tables.many import cases, many

Right = Callable[[int], bool | None]


def answered(count: int, expected: int | None = None, repeats: int = 1, /, **right: Right) -> Run:
    """A run in which every model keeps every rule, and ``right[model](n)`` is whether case ``n`` is answered as
    expected, which ``expected`` of the cases (all by default) have."""
    run = many(count, {model: lambda n: True for model in right}, repeats=repeats)
    known = count if expected is None else expected
    made = []
    for one in run.outputs:
        n = int(one.case[1:])
        if n < known:
            value = right[one.model](n)
            more: dict[str, Any] = {"unscored": "judge-empty"} if value is None else {}
            number = None if value is None else float(value)
            made.append(score(number, one.case, one.model, repeat=one.repeat, **more))
    texts = tuple(one.replace(text=f"{one.text} {right[one.model](int(one.case[1:]))}") for one in run.outputs)
    with_answers = tuple(case.replace(expected="x") if n < known else case for n, case in enumerate(cases(count)))
    return run.replace(outputs=texts, scores=tuple(made), suite=run.suite.replace(cases=with_answers))


def expected(run: Run) -> pd.DataFrame:
    return expected_outcomes(outputs(run), scores(run)).outputs().frame()


def row(run: Run, model: str = "a") -> dict[str, Any]:
    table = models(outputs(run), expected=expected(run)).set_index("model")
    return {str(name): value for name, value in table.loc[model].items()}


def test_accuracy_is_of_the_cases_with_an_expected_output_and_leaves_non_compliance_alone() -> None:
    made = answered(30, 20, a=lambda n: n < 3)
    figures, interval = row(made), clopper_pearson(3, 20)
    assert (figures["accuracy"], figures["accuracy_scored"], figures["accuracy_right"]) == (0.15, 20, 3)
    assert figures["accuracy_ci_low"] == pytest.approx(interval.low)
    assert figures["accuracy_ci_high"] == pytest.approx(interval.high)
    assert (figures["scored"], figures["non_compliant"], figures["non_compliance"]) == (30, 0, 0.0)
    assert (figures["accuracy_best"], figures["accuracy_worst"]) == (0.15, 0.15)
    assert not figures["accuracy_at_least"]


def test_without_an_expected_output_there_is_no_accuracy() -> None:
    figures = row(answered(5, 0, a=lambda n: True))
    assert all(pd.isna(value) for name, value in figures.items() if name.startswith("accuracy"))
    assert models(outputs(many(5, {"a": lambda n: True})))["accuracy"].isna().all()


def test_repeats_are_averaged_within_their_case_first() -> None:
    made = answered(2, None, 2, a=lambda n: n == 0)
    more = [score(1.0, "c0", "a", repeat=n) for n in (2, 3)]
    extra = [output("c0", "a", "again", repeat=n) for n in (2, 3)]
    figures = row(made.replace(outputs=(*made.outputs, *extra), scores=(*made.scores, *more)))
    assert (figures["accuracy_right"], figures["accuracy_scored"], figures["accuracy"]) == (4, 6, 0.5)


def test_what_could_not_be_compared_is_a_lower_bound_and_the_interval_holds_either_way() -> None:
    figures = row(answered(10, a=lambda n: None if n < 2 else n < 7))
    assert (figures["accuracy_scored"], figures["accuracy_right"], figures["accuracy_unscored"]) == (8, 5, 2)
    assert figures["accuracy_at_least"]
    assert (figures["accuracy"], figures["accuracy_worst"], figures["accuracy_best"]) == (0.5, 0.5, 0.7)
    assert figures["accuracy_ci_low"] == pytest.approx(clopper_pearson(5, 10).low)
    assert figures["accuracy_ci_high"] == pytest.approx(clopper_pearson(7, 10).high)
    assert figures["accuracy_worst_low"] == pytest.approx(clopper_pearson(5, 10).low)


def test_an_answer_that_is_missing_is_in_no_share_and_in_the_worst_case() -> None:
    made = answered(10, a=lambda n: None if n < 2 else True)
    cut = [one.replace(text=None, error="truncated") if one.case in ("c0", "c1") else one for one in made.outputs]
    figures = row(made.replace(outputs=tuple(cut)))
    assert (figures["accuracy"], figures["accuracy_scored"], figures["accuracy_worst"]) == (1.0, 8, 0.8)
    assert not figures["accuracy_at_least"]


def test_what_a_budget_left_uncompared_counts_nowhere() -> None:
    made = answered(10, a=lambda n: True)
    spent = [one.replace(value=None, unscored="judge-budget") if one.case == "c0" else one for one in made.scores]
    figures = row(made.replace(scores=tuple(spent)))
    assert (figures["accuracy_scored"], figures["accuracy_worst"], figures["accuracy_unscored"]) == (9, 1.0, 0)


def test_only_the_score_that_counts_is_taken() -> None:
    made = answered(4, a=lambda n: True)
    beside = [one.replace(value=0.0, source="judge:j", counts=False) for one in made.scores]
    tone = [one.replace(value=0.0, name="tone") for one in made.scores]
    assert row(made.replace(scores=(*beside, *tone, *made.scores)))["accuracy"] == 1.0


def test_models_are_ranked_by_accuracy_where_that_is_asked_for() -> None:
    made = answered(60, a=lambda n: n < 50, b=lambda n: n < 20)
    options = RankingOptions(rank_by="accuracy")
    ranked = rankings(expected(made), ["a", "b"], options)
    assert {name: one.outcome for name, one in ranked.models.items()} == {"a": "best", "b": "worse"}
    table = models(outputs(made), order=["a", "b"], ranking=ranked, expected=expected(made))
    _, beaten = table.to_dict("records")
    assert beaten["difference"] == pytest.approx(-0.5)
    assert beaten["difference_low"] < -0.5 < beaten["difference_high"] < 0
    by_rules = rankings(outputs(made), ["a", "b"])
    assert {one.outcome for one in by_rules.models.values()} <= {"tied", "undecided"}


def test_no_model_is_called_better_if_what_could_not_be_compared_may_undo_it() -> None:
    made = answered(60, a=lambda n: n < 50, b=lambda n: n < 20 or None)
    ranked = rankings(expected(made), ["a", "b"], RankingOptions(rank_by="accuracy"))
    assert {one.outcome for one in ranked.models.values()} == {"undecided"}


def test_a_run_that_drops_by_non_compliance_is_not_ranked_by_accuracy() -> None:
    made = answered(10, a=lambda n: True, b=lambda n: True)
    with pytest.raises(InputError, match="tests of accuracy do not hold"):
        rankings(expected(made), ["a", "b"], RankingOptions(rank_by="accuracy", looks=(("c1",),)))


def compared(before: Run, after: Run, **more: Any) -> dict[str, Any]:
    frames = outputs(before), outputs(after)
    names = [case.id for case in after.suite.cases]
    table = comparison(*frames, models=[("a", "a")], cases=names, expected=(expected(before), expected(after)), **more)
    return {str(name): value for name, value in table.iloc[0].items()}


def test_two_runs_are_compared_in_accuracy_case_by_case() -> None:
    before, after = answered(40, 30, a=lambda n: n < 25), answered(40, 30, a=lambda n: n < 10)
    worse = compared(before, after, tolerance=0.05)
    assert (worse["accuracy_cases"], worse["accuracy_decision"], worse["decision"]) == (30, "worse", "undecided")
    assert worse["accuracy_before"] == pytest.approx(25 / 30)
    assert worse["accuracy_difference"] == pytest.approx(-0.5)
    assert worse["accuracy_difference_low"] < -0.5 < worse["accuracy_difference_high"] < 0
    assert not worse["accuracy_within_tolerance"]
    better = compared(after, before)
    assert (better["accuracy_decision"], better["accuracy_difference"]) == ("better", pytest.approx(0.5))
    assert pd.isna(better["accuracy_within_tolerance"])


def test_a_run_without_scores_has_no_change_in_accuracy() -> None:
    with_scores = answered(20, a=lambda n: True)
    figures = compared(with_scores, with_scores.replace(scores=()))
    assert pd.isna(figures["accuracy_decision"])
    assert figures["decision"] == "undecided"
