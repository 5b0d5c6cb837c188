"""What was asked for and could not be scored is not left out as if it were like the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.report.gate import Decided, Limits, decided
from promptpex.tables import records
from tests.numbers.partly import partly
from tests.numbers.world import TASTE, Fate, by, cases, first, ran, simulated, summed


def eighty_missing(fate: Fate) -> Any:
    """a lacks 80 of 200 and keeps the rest; b breaks 25."""
    return by({"a": first(80, fate=fate), "b": lambda case, repeat: "broken" if case >= 175 else "kept"})


@pytest.mark.parametrize("fate", ["cut", "open"])
def test_80_of_200_unscored_decide_nothing(fate: Fate) -> None:
    summary, rows = summed(simulated(["a", "b"], cases(200, 16), eighty_missing(fate)))
    assert [row["decision"] for row in rows.values()] == ["undecided", "undecided"]
    assert {row["undecided_because"] for row in rows.values()} == {"80 of 200 outputs of fake/a are unscored"}
    assert summary.answer is not None
    assert summary.answer.count("Undecided because 80 of 200 outputs of fake/a are unscored.") == 1
    assert "fake/a's non-compliance between 0% and 40%" in summary.answer
    for word in ("best:", "tied", "worse", "good enough"):
        assert word not in summary.answer


def test_the_same_without_what_is_missing_would_be_decided() -> None:
    _, rows = summed(simulated(["a", "b"], cases(200, 16), by({"a": first(0), "b": first(25)})))
    assert [row["decision"] for row in rows.values()] == ["best", "worse"]


def test_a_claim_that_holds_in_both_completions_is_made() -> None:
    fates = by({"a": first(5, fate="cut"), "b": first(100)})
    summary, rows = summed(simulated(["a", "b"], cases(200, 16), fates, judge=False))
    assert [row["decision"] for row in rows.values()] == ["best", "worse"]
    assert summary.answer is not None
    assert "The unscored outputs leave fake/a's non-compliance between 0% and 2.5%" in summary.answer


def test_a_missing_verdict_changes_what_it_can_change() -> None:
    """With b and c far behind, a is best whatever the one verdict on it that is missing."""
    fates = by(
        {"a": first(1, fate="open"), "b": first(100), "c": lambda case, repeat: "open" if case < 5 else "broken"}
    )
    _, rows = summed(simulated(["a", "b", "c"], cases(200, 16), fates))
    assert [row["decision"] for row in rows.values()] == ["best", "worse", "worse"]
    assert [row["at_least"] for row in rows.values()] == [True, False, True]


def test_missing_verdicts_leave_a_lower_bound_and_an_interval_for_all_they_may_be(tmp_path: Path) -> None:
    """12 of 60 break a check; the judge talks nonsense of 30 others."""
    fates = by({"a": lambda case, repeat: "broken" if case < 12 else "open" if case < 42 else "kept"})
    summary, rows = summed(ran(tmp_path, ["a"], cases(60, 16), fates))
    row = rows["a"]
    assert (row["scored"], row["non_compliant"], row["usable"], row["unscored"]) == (30, 12, 60, 30)
    assert (row["non_compliance"], row["at_least"]) == (pytest.approx(12 / 60), True)
    least, most = (summed(simulated(["a"], cases(60, 16), by({"a": first(count)})))[1]["a"] for count in (12, 42))
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(least["ci_low"]), pytest.approx(most["ci_high"]))
    assert (row["best_case"], row["worst_case"]) == (pytest.approx(12 / 60), pytest.approx(42 / 60))
    assert summary.answer is not None
    assert "at least 12 of 60 usable outputs (at least 20%, 95% CI" in summary.answer


def test_missing_answers_alone_leave_the_share_of_those_that_came(tmp_path: Path) -> None:
    """A cut answer is missing for passes and fails alike as far as one knows; what it may be is told beside."""
    fates = by({"a": lambda case, repeat: "broken" if case < 12 else "cut" if case < 30 else "kept"})
    _, rows = summed(ran(tmp_path, ["a"], cases(60, 16), fates))
    row = rows["a"]
    assert (row["non_compliance"], row["at_least"]) == (pytest.approx(12 / 42), False)
    assert (row["best_case"], row["worst_case"]) == (pytest.approx(12 / 60), pytest.approx(30 / 60))
    assert row["worst_high"] > row["ci_high"]


def test_shares_per_kind_and_rule_are_bounds_as_well(tmp_path: Path) -> None:
    made = cases(80, 4, inverses=True)
    fates = by(
        {"a": lambda case, repeat: "judged broken" if case % 4 == 0 else "open" if made[case].inverse else "kept"}
    )
    summary, _ = summed(ran(tmp_path, ["a"], made, fates, aims=4))
    kinds = {row["case_type"]: row for row in records(summary.details.by_case_type)}
    assert (kinds["inverse"]["share"], kinds["inverse"]["at_least"], kinds["inverse"]["ci_high"]) == (0.25, True, 1.0)
    assert (kinds["rule"]["share"], kinds["rule"]["at_least"]) == (0.25, False)
    taste = next(row for row in records(summary.rules) if row["rule"] == TASTE)
    assert (taste["broken"], taste["scored"], taste["at_least"]) == (20, 50, True)
    assert (taste["share"], taste["unscored"]) == (pytest.approx(20 / 80), 30)


def test_a_single_scored_output_of_a_rival_keeps_a_tie_from_being_claimed(tmp_path: Path) -> None:
    """Whether a and b are close to c nobody can say, unless they are close to one that never fails."""
    for broken, places in ((20, ["undecided"] * 3), (3, ["tied", "tied", "undecided"])):
        fates = by({"a": first(broken), "b": first(broken), "c": first(299, fate="cut")})
        _, rows = summed(simulated(["a", "b", "c"], cases(300, 16), fates, judge=False))
        assert [row["decision"] for row in rows.values()] == places
        _, rows = summed(simulated(["a", "b"], cases(300, 16), fates, judge=False))
        assert [row["decision"] for row in rows.values()] == ["tied", "tied"]


def test_a_rival_that_was_asked_once_keeps_a_tie_from_being_claimed_too() -> None:
    fates = by({"a": first(3), "b": first(3), "c": first(299, else_="kept", fate="unasked")})
    _, rows = summed(simulated(["a", "b", "c"], cases(300, 16), fates, judge=False))
    assert [row["decision"] for row in rows.values()] == ["undecided"] * 3


@pytest.mark.parametrize("decide", ["point", "low", "high"])
def test_a_gate_passes_only_what_passes_however_the_unscored_would_have_come_out(decide: Any) -> None:
    _, rows = summed(simulated(["a", "b"], cases(200, 16), by({"a": first(80, fate="cut"), "b": first(2, fate="cut")})))
    decisions = decided(list(rows.values()), Limits(max_non_compliance=0.1, decide=decide))
    assert decisions["fake/b"] == Decided()
    lost = decisions["fake/a"]
    if decide == "high":
        assert lost.exceeded[0].startswith("non-compliance is not clearly at most 10%")
    else:
        assert lost.untold[0].startswith("80 of 200 outputs are unscored; had they failed, non-compliance is 40%")


@pytest.mark.parametrize("how", [{"judge": "none"}, {"judge": "fake/judge", "judge_mode": "prompt"}])
def test_what_passes_the_checks_of_a_rule_that_they_decide_in_part_is_not_kept(
    tmp_path: Path, how: dict[str, str]
) -> None:
    summary, rows = summed(partly(tmp_path, broken=30, **how))
    assert (rows["a"]["scored"], rows["a"]["usable"], rows["a"]["worst_case"]) == (0, 60, 1.0)
    assert rows["a"]["decision"] == "unscored"
    assert (rows["b"]["scored"], rows["b"]["non_compliant"], rows["b"]["usable"]) == (30, 30, 60)
    assert (rows["b"]["non_compliance"], rows["b"]["at_least"]) == (0.5, True)
    assert rows["b"]["ci_high"] == 1.0
    assert not {row["decision"] for row in rows.values()} & {"best", "tied", "worse"}
    assert summary.gaps.half_judged_rules == ("r1",)
