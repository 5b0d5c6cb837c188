"""Changes rule by rule: none rests on what is missing."""

from __future__ import annotations

import pytest

from promptpex.core.records import Run
from promptpex.tables import records, rule_changes, verdicts
from tests.tables.by_hand import output, run, verdict
from tests.tables.many import RULES, cases

CASES = cases(20)


def judged(r1: str, r2: str) -> Run:
    """20 outputs with what both rules say of them: ``p``, ``f``, and ``u`` where the judge failed."""
    status = {"p": "pass", "f": "fail", "u": "unscored"}
    made = [
        verdict(status[sign], rule, case.id, **({"unscored": "judge-empty"} if sign == "u" else {}))
        for rule, signs in (("r1", r1), ("r2", r2))
        for case, sign in zip(CASES, signs, strict=True)
    ]
    return run([output(case.id) for case in CASES], made, rules=RULES, cases=CASES)


def changes(before: Run, after: Run) -> dict[str, dict[str, object]]:
    ids = [case.id for case in CASES]
    rows = records(rule_changes(verdicts(before), verdicts(after), models=[("m", "m")], cases=ids))
    return {row["rule"]: dict(row) for row in rows}


@pytest.mark.parametrize("lost", ["u" * 10 + "p" * 10, "u" * 20])
def test_a_rule_that_may_have_changed_is_corrected_for(lost: str) -> None:
    kept, worse = "p" * 20, "f" * 6 + "p" * 14
    alone = changes(judged(kept, kept), judged(worse, kept))
    assert (alone["r1"]["decision"], alone["r1"]["p_adjusted"]) == ("worse", alone["r1"]["p"])
    both = changes(judged(kept, kept), judged(worse, lost))
    assert both["r1"]["p_adjusted"] == pytest.approx(2 * alone["r1"]["p"])  # type: ignore[operator]
    assert both["r1"]["decision"] == "undecided"
    assert both["r1"]["p"] == alone["r1"]["p"]
    assert both.get("r2", {"decision": "undecided"})["decision"] == "undecided"


def test_cases_are_fixed_or_newly_failing_whatever_is_missing() -> None:
    before, after = "ffuuppuf" + "p" * 12, "upfpfpuf" + "p" * 12
    row = changes(judged(before, "p" * 20), judged(after, "p" * 20))["r1"]
    assert (row["at_least"], row["newly_failing"], row["fixed"], row["still_failing"]) == (True, 1, 1, 1)


def test_an_output_without_a_usable_answer_keeps_a_change_undecided() -> None:
    kept, worse = "p" * 20, "f" * 6 + "p" * 14
    before = judged(kept, kept)
    lost = {f"c{n}" for n in range(6)}
    gone = [
        one if one.case not in lost else one.replace(status="unscored", unscored="timed-out", source="none")
        for one in before.verdicts
    ]
    assert changes(before, judged(worse, kept))["r1"]["decision"] == "worse"
    assert changes(before.replace(verdicts=tuple(gone)), judged(worse, kept))["r1"]["decision"] == "undecided"
    assert changes(before.replace(verdicts=tuple(gone)), judged(worse, kept))["r1"]["p"] is not None
