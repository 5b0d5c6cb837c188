from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptpex.cases.discrimination import Flip, discrimination
from promptpex.records import Rule, Verdict

RULES = (Rule(id="r1", rule="a"), Rule(id="r2", rule="b"), Rule(id="r3", rule="c"), Rule(id="r4", rule="d", gone=True))


def verdict(case: str, model: str, status: Any, *, repeat: int = 0, rule: str = "r1", counts: bool = True) -> Verdict:
    return Verdict(case=case, model=model, repeat=repeat, rule=rule, status=status, source="check:regex", counts=counts)


def test_cases_and_rules_that_tell_nothing_apart() -> None:
    found = discrimination(
        [
            verdict("easy", "m1", "pass"),
            verdict("easy", "m2", "pass"),
            verdict("hard", "m1", "fail"),
            verdict("hard", "m2", "fail"),
            verdict("hard", "m2", "pass", rule="r2"),
            verdict("good", "m1", "pass"),
            verdict("good", "m2", "fail"),
            verdict("lost", "m1", "unscored"),
            verdict("lost", "m2", "fail", counts=False),
        ],
        RULES,
    )
    assert found.models == 2
    assert found.passed_by_all == ("easy",)
    assert found.failed_by_all == ("hard",)
    assert found.unscored == ("lost",)
    assert found.never_broken == ("r2",)
    assert found.never_scored == ("r3",)
    assert found.flips == ()


def test_flips_are_between_repeats_of_one_model() -> None:
    verdicts = [
        verdict("c", "m1", "pass", repeat=0),
        verdict("c", "m1", "fail", repeat=1),
        verdict("c", "m1", "pass", repeat=2),
        verdict("c", "m2", "pass", repeat=0),
    ]
    found = discrimination(verdicts, RULES)
    assert found.flips == (Flip("c", "m1", 2, 1),)
    assert found.passed_by_all == found.failed_by_all == ()


def test_an_output_that_breaks_one_of_two_rules_does_not_flip() -> None:
    assert discrimination([verdict("c", "m", "pass"), verdict("c", "m", "fail", rule="r2")], RULES).flips == ()


VERDICTS = st.builds(
    verdict,
    st.sampled_from("abc"),
    st.sampled_from("mn"),
    st.sampled_from(["pass", "fail", "unscored"]),
    repeat=st.integers(0, 1),
    rule=st.sampled_from(["r1", "r2"]),
)


@given(st.lists(VERDICTS, max_size=20))
def test_no_case_is_in_two_lists(verdicts: list[Verdict]) -> None:
    found = discrimination(verdicts, RULES)
    flips = {flip.case for flip in found.flips}
    lists = [set(found.passed_by_all), set(found.failed_by_all), set(found.unscored), flips]
    assert sum(map(len, lists)) == len(set().union(*lists))
