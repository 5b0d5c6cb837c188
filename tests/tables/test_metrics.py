"""The owner's metrics as tables: means by case, what is missing, single judges, weights, two runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.records import Run
from promptpex.tables import (
    MODEL_COLUMNS,
    OUTPUT_COLUMNS,
    RankingOptions,
    lowest_scores,
    metric_changes,
    metrics,
    models,
    outputs,
    rankings,
    scored_outputs,
    scores,
    with_metrics,
)
from tests.tables.by_hand import output, score
from tests.tables.many import many

Value = Callable[[int], float | None]


def scored(count: int, repeats: int = 1, /, *, name: str = "tone", rules: int = 0, **value: Value) -> Run:
    """A run in which the metric gives every output of case ``n`` the score ``value[model](n)``."""
    run = many(count, {model: lambda n: True for model in value}, repeats=repeats, rules=rules)
    made = [
        one_score(value[output.model](int(output.case[1:])), output.case, output.model, output.repeat, name=name)
        for output in run.outputs
    ]
    texts = tuple(one.replace(text=f"{one.text} {value[one.model](int(one.case[1:]))}") for one in run.outputs)
    return run.replace(outputs=texts, scores=tuple(made))


def one_score(value: float | None, case: str, model: str = "a", repeat: int = 0, **more: Any) -> Any:
    missing = {"unscored": "judge-malformed"} if value is None else {}
    data = {"name": "tone", "source": "judge:j", "repeat": repeat, **missing, **more}
    return score(value, case, model, **data)


def row(run: Run, model: str = "a", **more: Any) -> dict[str, Any]:
    table = metrics(scores(run), **more)
    counting = table[table["counts"] & table["model"].eq(model)]
    return {str(name): value for name, value in counting.iloc[0].items()}


def test_a_metric_is_the_mean_over_cases_of_the_mean_over_repeats() -> None:
    made = scored(2, 2, a=float)
    more = tuple(one_score(1.0, "c1", repeat=n) for n in (2, 3))
    extra = tuple(output("c1", "a", "again", repeat=n) for n in (2, 3))
    figures = row(made.replace(outputs=(*made.outputs, *extra), scores=(*made.scores, *more)))
    assert (figures["mean"], figures["scored"], figures["unscored"], figures["cases"]) == (0.5, 6, 0, 2)
    assert figures["source"] == "judge:j"
    assert figures["worst_case"] == 0.5
    assert (figures["ci_low"], figures["ci_high"]) == (figures["worst_low"], figures["worst_high"])


def test_cases_whose_means_rounding_has_parted_have_not_changed() -> None:
    def made(values: tuple[float, ...]) -> Run:
        listed = tuple(one_score(value, "c0", repeat=n) for n, value in enumerate(values))
        return many(1, {"a": lambda n: True}, repeats=3).replace(scores=listed)

    figures = compared(made((0.1, 0.2, 0.3)), made((0.2, 0.2, 0.2)))
    assert (figures["difference"], figures["difference_low"]) == (0.0, -figures["difference_high"])
    assert figures["difference_high"] > 0.5


def test_expected_outputs_and_names_that_no_metric_has_are_no_metrics() -> None:
    made = scored(3, a=lambda n: 1.0)
    others = [one.replace(name=name) for one in made.scores for name in ("expected", "=cmd()", "x" * 41, "a b")]
    assert set(metrics(scores(made.replace(scores=(*made.scores, *others))))["metric"]) == {"tone"}
    assert metrics(scores(made.replace(scores=())))["metric"].tolist() == []


def test_what_is_missing_is_counted_and_leaves_the_interval_open() -> None:
    figures = row(scored(10, a=lambda n: None if n < 2 else 0.75))
    assert (figures["mean"], figures["scored"], figures["unscored"], figures["cases"]) == (0.75, 8, 2, 8)
    assert figures["worst_case"] == pytest.approx(0.6)
    assert figures["ci_low"] < 0.6 < 0.8 < figures["ci_high"]
    assert figures["unscored_reasons"] == "2 judge-malformed"
    nothing = row(scored(3, a=lambda n: None))
    assert (nothing["scored"], nothing["unscored"]) == (0, 3)
    assert pd.isna(nothing["mean"])
    assert pd.isna(nothing["ci_low"])


def test_what_a_budget_left_out_counts_nowhere() -> None:
    made = scored(10, a=lambda n: 1.0)
    spent = [one.replace(value=None, unscored="judge-budget") if one.case < "c5" else one for one in made.scores]
    figures = row(made.replace(scores=tuple(spent)))
    assert (figures["scored"], figures["unscored"], figures["worst_case"]) == (5, 0, 1.0)
    assert pd.isna(figures["unscored_reasons"])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.lists(st.none() | st.integers(0, 100), min_size=2, max_size=2), min_size=1, max_size=8), st.data())
def test_completing_missing_scores_never_leaves_the_interval(
    drawn: list[list[int | None]], data: st.DataObject
) -> None:
    def made(values: list[list[int | None]]) -> Run:
        listed = [
            one_score(None if value is None else value / 100, f"c{n}", repeat=repeat)
            for n, repeats in enumerate(values)
            for repeat, value in enumerate(repeats)
        ]
        return many(len(values), {"a": lambda n: True}, repeats=2).replace(scores=tuple(listed))

    if all(value is None for repeats in drawn for value in repeats):
        return
    whole = [[data.draw(st.integers(0, 100)) if value is None else value for value in repeats] for repeats in drawn]
    before, after = row(made(drawn)), row(made([list(repeats) for repeats in whole]))
    assert before["ci_low"] - 1e-9 <= after["ci_low"]
    assert after["ci_high"] <= before["ci_high"] + 1e-9
    assert before["worst_case"] - 1e-9 <= after["mean"]
    assert before["ci_low"] - 1e-9 <= before["mean"] <= before["ci_high"] + 1e-9


def test_each_judge_of_several_has_a_row_and_misses_what_had_no_usable_answer() -> None:
    made = scored(3, a=lambda n: 0.5)
    joint = [one.replace(source="judges:mean") for one in made.scores[:2]]
    cut = one_score(None, "c2", unscored="truncated", source="none")
    beside = [
        one.replace(value=value, source=f"judge:{judge}", counts=False)
        for one in made.scores[:2]
        for judge, value in (("j", 0.2), ("k", 0.8))
    ]
    table = metrics(scores(made.replace(scores=(*beside, *joint, cut))))
    got = table[["source", "counts", "mean", "scored", "unscored"]].to_numpy().tolist()
    assert got == [["judges:mean", True, 0.5, 2, 1], ["judge:j", False, 0.2, 2, 1], ["judge:k", False, 0.8, 2, 1]]


def test_cases_count_as_often_as_their_weight_says() -> None:
    made = scored(4, rules=2, a=lambda n: float(n % 2))
    weights = {"r1": 3, "r2": 1}
    ranked = rankings(outputs(made), ["a"], RankingOptions(weights=weights))
    figures = row(made, ranking=ranked)
    assert figures["mean"] == pytest.approx(2 / 8)
    assert figures["ci_low"] < 0.25 < figures["ci_high"]
    alone = row(made, ranking=rankings(outputs(made), ["a"], RankingOptions(weights={"r1": 0})))
    assert alone["mean"] == 1.0


def test_cases_of_weight_0_are_in_no_count() -> None:
    made = scored(6, rules=2, a=lambda n: None if n in (0, 1, 2) else 0.5)
    ranked = rankings(outputs(made), ["a"], RankingOptions(weights={"r1": 0, "r2": 5}))
    figures = row(made, ranking=ranked)
    assert (figures["cases"], figures["scored"], figures["unscored"]) == (2, 2, 1)
    assert figures["unscored_reasons"] == row(made)["unscored_reasons"].replace("3", "1")
    nothing = row(made, ranking=rankings(outputs(made), ["a"], RankingOptions(weights={"r1": 0, "r2": 0})))
    assert (nothing["cases"], nothing["scored"], nothing["unscored"]) == (0, 0, 0)


def test_the_tables_of_models_and_outputs_get_columns_after_their_own() -> None:
    made = scored(3, a=lambda n: n / 2, b=lambda n: None)
    table = metrics(scores(made), order=["b", "a"])
    assert table["model"].tolist() == ["b", "a"]
    wide = with_metrics(models(outputs(made), order=["b", "a", "c"]), table)
    added = ["metric_tone", "metric_tone_scored", "metric_tone_ci_low", "metric_tone_ci_high"]
    assert list(wide.columns) == [*MODEL_COLUMNS, *added]
    assert wide["metric_tone"].fillna(-1).tolist() == [-1, 0.5, -1]
    assert wide["metric_tone_scored"].fillna(-1).tolist() == [0, 3, -1]
    kinds, rows = scored_outputs(outputs(made), scores(made))
    assert list(kinds) == [*OUTPUT_COLUMNS, "metric_tone"]
    assert [row[-1] for row in rows] == [0, 0.5, 1, None, None, None]
    assert list(scored_outputs(made.replace(scores=()))[0]) == list(OUTPUT_COLUMNS)


def test_the_lowest_scores_come_with_the_reason_of_each_judge() -> None:
    made = scored(5, a=lambda n: 1 - n / 4)
    joint = [one.replace(source="judges:mean", reason="the mean of 2 of 2 judges") for one in made.scores]
    beside = [one.replace(source="judge:j", counts=False, reason=f"cold {one.case}") for one in made.scores]
    made = made.replace(scores=(*joint, *beside))
    table = lowest_scores(scores(made), outputs(made), most=2)
    assert table["case"].tolist() == ["c4", "c3"]
    assert table["reason"].tolist() == ["j: cold c4", "j: cold c3"]
    assert table["output"].tolist() == ["a 4 0.0", "a 3 0.25"]
    assert len(lowest_scores(scores(made), outputs(made), most=9)) == 4


def compared(before: Run, after: Run, **more: Any) -> dict[str, Any]:
    names = [case.id for case in after.suite.cases]
    table = metric_changes(scores(before), scores(after), models=[("a", "a")], cases=names, **more)
    return {str(name): value for name, value in table.iloc[0].items()}


def test_two_runs_are_compared_case_by_case() -> None:
    before, after = scored(30, a=lambda n: 0.25 + n / 100), scored(30, a=lambda n: 0.5 + n / 100)
    figures = compared(before, after)
    assert (figures["cases"], figures["decision"]) == (30, "better")
    assert figures["difference"] == pytest.approx(0.25)
    assert 0.1 < figures["difference_low"] < 0.25 <= figures["difference_high"]
    assert figures["mean_after"] - figures["mean_before"] == pytest.approx(0.25)
    assert compared(after, before)["decision"] == "worse"
    same = compared(before, before)
    assert (same["difference"], same["p"], same["decision"]) == (0.0, 1.0, "undecided")
    assert (same["difference_low"], same["difference_high"]) == pytest.approx((-0.1135, 0.1135), abs=1e-3)


@pytest.mark.parametrize("shift", [0.02, 0.3, -0.5])
def test_where_every_case_changes_alike_interval_and_test_agree(shift: float) -> None:
    figures = compared(scored(20, a=lambda n: 0.5), scored(20, a=lambda n: 0.5 + shift))
    assert figures["decision"] == ("better" if shift > 0 else "worse")
    ends = sorted(abs(figures[f"difference_{end}"]) for end in ("low", "high"))
    assert figures["difference_low"] * figures["difference_high"] > 0
    assert ends == [pytest.approx(abs(shift) * 0.501, abs=1e-3), pytest.approx(abs(shift))]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(*[st.none() | st.integers(0, 100)] * 2), min_size=1, max_size=8), st.data())
def test_completing_missing_scores_keeps_a_difference_in_its_interval(
    drawn: list[tuple[int | None, int | None]], data: st.DataObject
) -> None:
    def made(values: list[int | None]) -> Run:
        shares = [None if value is None else value / 100 for value in values]
        return scored(len(values), a=lambda n: shares[n])

    if not any(None not in pair for pair in drawn):
        return
    seen = compared(*(made([pair[at] for pair in drawn]) for at in (0, 1)), confidence=0.9)
    whole = [[data.draw(st.integers(0, 100)) if one is None else one for one in pair] for pair in drawn]
    known = compared(*(made([pair[at] for pair in whole]) for at in (0, 1)), confidence=0.9)
    assert seen["difference_low"] - 1e-9 <= known["difference"] <= seen["difference_high"] + 1e-9
    assert seen["difference_low"] - 1e-9 <= seen["difference"] <= seen["difference_high"] + 1e-9
    assert seen["decision"] in ("undecided", known["decision"])


def test_the_interval_of_a_difference_holds_it_also_where_half_a_pair_is_missing() -> None:
    before, after = [None, 0.0], [0.36, 0.64]
    figures = compared(scored(2, a=lambda n: before[n]), scored(2, a=lambda n: after[n]), confidence=0.9)
    assert figures["difference"] == 0.64
    assert figures["difference_low"] < 0.0 < 0.64 <= figures["difference_high"]


def test_no_change_is_shown_that_missing_scores_could_undo() -> None:
    before = scored(30, a=lambda n: 0.25)
    after = scored(30, a=lambda n: None if n < 15 else 0.5)
    figures = compared(before, after)
    assert (figures["cases"], figures["decision"]) == (15, "undecided")
    assert figures["difference_low"] < 0 < figures["difference_high"]
    assert compared(before, scored(30, a=lambda n: None if n < 1 else 0.9))["decision"] == "better"


def test_where_no_case_is_scored_in_both_runs_there_is_neither_difference_nor_p() -> None:
    figures = compared(scored(5, a=lambda n: None), scored(5, a=lambda n: 0.5))
    assert (figures["cases"], figures["decision"]) == (0, "undecided")
    assert all(pd.isna(figures[name]) for name in ("difference", "difference_low", "p", "p_adjusted"))


def test_cases_that_weigh_nothing_or_are_not_the_same_are_left_out_of_a_change() -> None:
    before, after = scored(20, rules=2, a=lambda n: 0.5), scored(20, rules=2, a=lambda n: n % 2 / 2)
    assert compared(before, after, weights={"r1": 0})["difference"] == 0.0
    assert compared(before, after, weights={"r2": 0})["difference"] == -0.5
    table = metric_changes(scores(before), scores(after), models=[("a", "a")], cases=["c0", "c1"])
    assert table["cases"].tolist() == [2]
    other = scored(20, name="length", a=lambda n: 0.5)
    assert metric_changes(scores(before), scores(other), models=[("a", "a")], cases=["c0"]).empty
