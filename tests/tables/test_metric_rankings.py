"""Models ranked by a metric: the decisions of broken and kept outputs where scores are 0 and 1, and the same tests for
what lies between."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.errors import InputError
from promptpex.core.records import Run
from promptpex.tables import (
    MODEL_COLUMNS,
    Decision,
    RankingOptions,
    metric_rankings,
    metrics,
    models,
    outputs,
    rankings,
    scores,
)
from tests.tables.many import many
from tests.tables.test_metrics import scored

BY_TONE = RankingOptions(rank_by="tone")


def ranked(run: Run, **how: Any) -> dict[str, Decision]:
    options = RankingOptions(rank_by="tone", **how)
    return dict(metric_rankings(scores(run), list(run.manifest.models), options).models)


def outcomes(run: Run, **how: Any) -> dict[str, str]:
    return {name: one.outcome for name, one in ranked(run, **how).items()}


DRAWN = st.lists(st.tuples(*[st.sampled_from((True, True, True, False, None))] * 3), min_size=1, max_size=60)


@settings(deadline=None, max_examples=25)
@given(DRAWN, st.sampled_from([None, "a"]), st.booleans())
def test_scores_of_0_and_1_are_decided_as_broken_and_kept_outputs_are(
    drawn: list[tuple[bool | None, ...]], against: str | None, by_rules: bool
) -> None:
    rules, names = 3 if by_rules else 0, "abc"
    kept: Any = {name: lambda n, at=at: drawn[n][at] for at, name in enumerate(names)}
    score_of = {True: 1.0, False: 0.0, None: None}
    value: Any = {name: lambda n, at=at: score_of[drawn[n][at]] for at, name in enumerate(names)}
    of_verdicts = rankings(
        outputs(many(len(drawn), kept, rules=rules)), list(names), RankingOptions(against=against)
    ).models
    of_scores = ranked(scored(len(drawn), rules=rules, **value), against=against)
    usable = {name for at, name in enumerate(names) if all(row[at] is not None for row in drawn)}
    for name in usable if len(usable) == len(names) else ():
        one, other = of_verdicts[name], of_scores[name]
        assert (one.outcome, one.versus, one.beaten_by) == (other.outcome, other.versus, other.beaten_by)
        assert (one.p is None) == (other.p is None)
        assert one.p is None or one.p == pytest.approx(other.p)
        assert (one.difference is None) == (other.difference is None)
        if one.difference is not None and other.difference is not None:
            ends = [(each.estimate, each.low, each.high) for each in (one.difference, other.difference)]
            assert ends[0] == pytest.approx(ends[1])


def test_a_clearly_better_mean_is_best_and_the_difference_is_in_the_mean() -> None:
    made = scored(40, a=lambda n: 0.9 - n % 3 / 10, b=lambda n: 0.5 + n % 2 / 10, c=lambda n: 0.52 + n % 2 / 10)
    assert outcomes(made) == {"a": "best", "b": "worse", "c": "worse"}
    table = models(outputs(made), ranking=metric_rankings(scores(made), list("abc"), BY_TONE))
    assert list(table.columns) == list(MODEL_COLUMNS)
    row = table.set_index("model").loc["b"]
    means = metrics(scores(made)).set_index("model")["mean"]
    assert row["versus"] == "a"
    assert row["difference"] == pytest.approx(means["b"] - means["a"])
    assert row["difference_low"] < row["difference"] < row["difference_high"] < 0
    assert outcomes(made, against="b") == {"a": "better", "b": "reference", "c": "better"}


def test_what_is_nearly_as_good_is_tied_and_the_rest_undecided() -> None:
    def noise(n: int) -> float:
        return n * 7 % 11 / 100

    near = scored(120, a=lambda n: 0.8 + noise(n), b=lambda n: 0.8 + noise(n + 3))
    assert outcomes(near) == {"a": "tied", "b": "tied"}
    few = scored(6, a=lambda n: n % 2, b=lambda n: (n + 1) % 2)
    assert outcomes(few) == {"a": "undecided", "b": "undecided"}


def test_missing_scores_may_come_out_either_way() -> None:
    sure: Any = {"a": lambda n: 0.9, "b": lambda n: 0.5 + n % 2 / 10}
    some = scored(40, a=sure["a"], b=lambda n: None if n < 30 else sure["b"](n))
    assert outcomes(scored(40, **sure)) == {"a": "best", "b": "worse"}
    open_ = ranked(some)
    assert {one.outcome for one in open_.values()} == {"undecided"}
    assert open_["b"].because == "30 of 40 outputs of b have no score by tone"
    assert open_["b"].difference is not None
    assert open_["b"].difference.estimate is None
    assert open_["b"].difference.low < 0 < open_["b"].difference.high


def test_one_model_no_model_and_models_without_a_score() -> None:
    assert outcomes(scored(20, a=lambda n: 0.5)) == {"a": "only model"}
    nothing = scored(10, a=lambda n: None, b=lambda n: None)
    assert outcomes(nothing) == {"a": "unscored", "b": "unscored"}
    half = scored(10, a=lambda n: 0.5, b=lambda n: None)
    assert outcomes(half) == {"a": "undecided", "b": "unscored"}
    assert ranked(half)["a"].because == "no output of b was scored by tone"
    empty = half.replace(scores=())
    assert outcomes(empty) == {"a": "unscored", "b": "unscored"}
    assert metric_rankings(scores(empty), [], BY_TONE).models == {}


def test_repeats_of_a_case_are_one_case() -> None:
    once = scored(12, a=lambda n: 0.6 + n % 2 / 5, b=lambda n: 0.5)
    often = scored(12, 5, a=lambda n: 0.6 + n % 2 / 5, b=lambda n: 0.5)
    assert ranked(often)["b"].p == ranked(once)["b"].p
    assert ranked(often)["b"].difference == ranked(once)["b"].difference


def test_weights_count_and_leave_out() -> None:
    made = scored(30, rules=2, a=lambda n: float(n % 2), b=lambda n: float(1 - n % 2))
    aims = {str(aim) for aim in scores(made)["aim"].unique()}
    one, other = sorted(aims)
    assert {one.outcome for one in ranked(made).values()} == {"undecided"}
    alone = outcomes(made, weights={one: 0})
    assert sorted(alone.values()) == ["best", "worse"]
    assert outcomes(made, weights={other: 0}) == dict(zip(alone, reversed(alone.values()), strict=True))
    assert outcomes(made, weights={one: 0, other: 0}) == {"a": "unscored", "b": "unscored"}


def test_a_run_that_stopped_by_non_compliance_is_not_ranked_by_a_metric() -> None:
    with pytest.raises(InputError, match="tests of tone do not hold"):
        ranked(scored(4, a=lambda n: 0.5, b=lambda n: 0.5), looks=(("c0", "c1"), ("c2", "c3")))
    with pytest.raises(InputError, match="There is no model 'z'"):
        ranked(scored(4, a=lambda n: 0.5), against="z")
