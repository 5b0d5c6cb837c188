from __future__ import annotations

import pytest

from promptpex.records import Run, Verdict
from promptpex.stats import cohens_kappa, wilson
from promptpex.tables import (
    AGREEMENT_COLUMNS,
    DISAGREEMENT_COLUMNS,
    agreements,
    disagreements,
    outputs,
    verdicts,
)
from tests.tables.by_hand import output, run, verdict
from tests.tables.many import cases


def both(
    *, rule: str = "r1", counts: tuple[int, int, int, int], judge: str = "judge:j", start: int = 0
) -> list[Verdict]:
    """Verdicts of code and a judge: both pass, only code fails, only the judge fails, both fail."""
    words = [("pass", "pass"), ("fail", "pass"), ("pass", "fail"), ("fail", "fail")]
    pairs = [pair for pair, count in zip(words, counts, strict=True) for _ in range(count)]
    made = []
    for n, (code, said) in enumerate(pairs, start):
        made.append(verdict(code, rule, f"c{n}", reason=f"code {n}"))
        made.append(verdict(said, rule, f"c{n}", source=judge, counts=False, reason=f"judge {n}"))
    return made


def of(judged: list[Verdict]) -> Run:
    names = dict.fromkeys((one.case, one.repeat) for one in judged)
    return run([output(case, repeat=repeat) for case, repeat in names], judged, cases=cases(60))


def test_code_and_judge_are_counted_overall_and_per_rule() -> None:
    made = of(both(counts=(20, 5, 10, 15)) + both(rule="r2", counts=(4, 0, 0, 1)))
    table = agreements(verdicts(made))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(AGREEMENT_COLUMNS)
    assert table["rule"].fillna("all").tolist() == ["all", "r1", "r2"]
    row = table.iloc[1]
    assert tuple(row[["kind", "first", "second"]]) == ("code-judge", "code", "judge:j")
    assert tuple(row[["n", "both_pass", "first_fails", "second_fails", "both_fail"]]) == (50, 20, 5, 10, 15)
    # Textbook figures: observed 0.70, chance 0.4 * 0.5 + 0.6 * 0.5 = 0.5, kappa 0.4.
    assert (row["agreed"], row["kappa"]) == (pytest.approx(0.7), pytest.approx(0.4))
    assert (row["fail_rate_first"], row["fail_rate_second"]) == (pytest.approx(0.4), pytest.approx(0.5))
    assert row["adjusted"] == pytest.approx(0.4)
    assert row["agreed_low"] == pytest.approx(wilson(35, 50).low)
    assert row["kappa_low"] == pytest.approx(cohens_kappa([[15, 5], [10, 20]]).low)
    assert table.iloc[0]["n"] == 55


def test_a_kappa_that_is_not_defined_is_missing_and_the_rest_is_there() -> None:
    row = agreements(verdicts(of(both(counts=(8, 0, 0, 0))))).iloc[0]
    assert (row["n"], row["agreed"], row["fail_rate_second"]) == (8, 1.0, 0.0)
    assert row[["kappa", "kappa_low", "kappa_interval"]].isna().all()


def test_cases_that_occur_more_than_once_widen_the_interval_of_kappa() -> None:
    once = both(counts=(10, 3, 3, 10))
    again = [one.but(repeat=repeat) for repeat in range(3) for one in once]
    row = agreements(verdicts(of(again))).iloc[0]
    assert row["kappa_interval"] == "cluster-bootstrap"
    naive = cohens_kappa([[30, 9], [9, 30]])
    assert row["kappa_high"] - row["kappa_low"] > 1.3 * naive.width
    assert agreements(verdicts(of(again))).equals(agreements(verdicts(of(again))))


def test_judges_are_held_against_each_other_and_each_against_itself() -> None:
    first = [verdict("fail" if n < 3 else "pass", case=f"c{n}", source="judge:j") for n in range(10)]
    second = [verdict("fail" if n < 5 else "pass", case=f"c{n}", source="judge:k") for n in range(10)]
    later = [verdict("fail" if n < 2 else "pass", case=f"c{n}", source="judge:j", turn=1) for n in range(10)]
    together = [verdict("fail", case=f"c{n}", source="judges:majority") for n in range(10)]
    table = agreements(verdicts(of([*first, *second, *later, *together])))
    kinds = table[table["rule"].isna()][["kind", "first", "second", "both_fail", "second_fails", "first_fails"]]
    assert [tuple(row) for row in kinds.itertuples(index=False)] == [
        ("judges", "judge:j", "judge:k", 3, 2, 0),
        ("again", "judge:j", "judge:j", 2, 0, 1),
    ]


def test_what_code_decides_in_part_is_no_verdict_unless_it_fails() -> None:
    cube = verdicts(of(both(counts=(5, 2, 3, 1))))
    row = agreements(cube, partly=["r1"]).iloc[0]
    assert tuple(row[["n", "both_pass", "first_fails", "second_fails", "both_fail"]]) == (3, 0, 2, 0, 1)


def test_disagreements_come_worst_first_with_the_output() -> None:
    made = of(both(counts=(1, 2, 2, 1)))
    surer = [
        one.but(confidence={"c2": 0.99, "c1": 0.6, "c4": 0.9}.get(one.case)) if one.source == "judge:j" else one
        for one in made.verdicts
    ]
    made = made.but(verdicts=tuple(surer))
    table = disagreements(verdicts(made), outputs(made))
    assert {name: str(kind) for name, kind in table.dtypes.items()} == dict(DISAGREEMENT_COLUMNS)
    assert list(table["case"]) == ["c2", "c1", "c4", "c3"]
    first = table.iloc[0]
    assert tuple(first[["code", "judge", "check", "judged_by"]]) == ("fail", "pass", "check:x", "judge:j")
    assert tuple(first[["code_reason", "judge_reason", "output"]]) == ("code 2", "judge 2", "RED")


def test_unscored_and_later_verdicts_disagree_with_nobody() -> None:
    made = of(
        [
            verdict("fail"),
            verdict("unscored", source="judge:j", unscored="judge-empty"),
            verdict("pass", case="c2"),
            verdict("fail", case="c2", source="judge:j", turn=1),
        ]
    )
    assert disagreements(verdicts(made), outputs(made)).empty
    assert agreements(verdicts(made)).empty
