from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.records import Verdict
from promptpex.tables import Discrimination, discrimination, outputs, verdicts
from tests.tables.by_hand import output, run, verdict

RULES = ("r1", "r2", "r3")


def discrimination_of(judged: list[Verdict]) -> Discrimination:
    keys = dict.fromkeys(one.key for one in judged)
    made = run([output(case, model, repeat=repeat) for case, model, repeat in keys], judged, models=("m", "n"))
    return discrimination(outputs(made), verdicts(made), rules=RULES)


def test_cases_and_rules_that_tell_nothing_apart() -> None:
    uninformative = discrimination_of(
        [
            verdict("pass", case="easy"),
            verdict("pass", case="easy", model="n"),
            verdict("fail", case="hard"),
            verdict("fail", case="hard", model="n"),
            verdict("pass", "r2", "hard", "n"),
            verdict("pass", case="good"),
            verdict("fail", case="good", model="n"),
            verdict("unscored", case="lost", unscored="cut"),
            verdict("fail", case="lost", model="n", counts=False),
        ]
    )
    assert uninformative == Discrimination(2, ("easy",), ("hard",), ("lost",), ("r2",), ("r3",), ())


def test_a_rule_whose_judge_always_failed_was_never_scored_whatever_its_check_passed() -> None:
    judge = {"source": "judge:j", "unscored": "judge-timed-out"}
    uninformative = discrimination_of(
        [verdict("pass"), verdict("unscored", **judge), verdict("pass", "r2"), verdict("fail", "r3")]
    )
    assert (uninformative.never_scored, uninformative.never_broken) == (("r1",), ("r2",))


JUDGED = st.builds(
    lambda status, rule, case, model, repeat: verdict(status, rule, case, model, repeat=repeat),
    st.sampled_from(["pass", "fail", "unscored"]),
    st.sampled_from(["r1", "r2"]),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["m", "n"]),
    st.integers(0, 1),
)


@settings(deadline=None, max_examples=30)
@given(st.lists(JUDGED, max_size=20))
def test_no_case_is_in_two_lists(judged: list[Verdict]) -> None:
    uninformative = discrimination_of(judged)
    lists = [set(uninformative.passed_by_all), set(uninformative.failed_by_all), set(uninformative.unscored)]
    assert sum(map(len, lists)) == len(set().union(*lists))
    assert not set(uninformative.never_broken) & set(uninformative.never_scored)
