from __future__ import annotations

import numpy as np
import pytest

from promptpex.core.records import Run, Verdict
from promptpex.stats import clopper_pearson
from promptpex.stats.agreement import cohens_kappa
from promptpex.tables import (
    AGREEMENT_COLUMNS,
    DISAGREEMENT_COLUMNS,
    agreements,
    disagreements,
    outputs,
    verdicts,
)
from tests.tables.by_hand import output, run, verdict
from tests.tables.cubes import cube_of
from tests.tables.many import cases


def both(
    *, rule: str = "r1", counts: tuple[int, int, int, int], judge: str = "judge:j", start: int = 0
) -> list[Verdict]:
    """Verdicts of code and a judge: both pass, only code fails, only the judge fails, both fail."""
    words = [("pass", "pass"), ("fail", "pass"), ("pass", "fail"), ("fail", "fail")]
    pairs = [pair for pair, count in zip(words, counts, strict=True) for _ in range(count)]
    made = []
    for n, (code, by_judge) in enumerate(pairs, start):
        made.append(verdict(code, rule, f"c{n}", reason=f"code {n}"))
        made.append(verdict(by_judge, rule, f"c{n}", source=judge, counts=False, reason=f"judge {n}"))
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
    assert row["agreed_low"] == pytest.approx(clopper_pearson(35, 50).low)
    assert (row["agreed_interval"], row["kappa_interval"]) == ("exact", "smoothed")
    assert row["kappa_low"] == pytest.approx(cohens_kappa([[15, 5], [10, 20]]).low)
    assert table.iloc[0]["n"] == 55


def test_a_kappa_that_is_not_defined_is_missing_and_the_rest_is_there() -> None:
    row = agreements(verdicts(of(both(counts=(8, 0, 0, 0))))).iloc[0]
    assert (row["n"], row["agreed"], row["fail_rate_second"]) == (8, 1.0, 0.0)
    assert row[["kappa", "kappa_low", "kappa_interval"]].isna().all()


def test_cases_that_occur_more_than_once_widen_the_interval_of_kappa() -> None:
    once = both(counts=(10, 3, 3, 10))
    again = [one.replace(repeat=repeat) for repeat in range(3) for one in once]
    row = agreements(verdicts(of(again))).iloc[0]
    assert row["kappa_interval"] == "smoothed-by-cluster"
    naive = cohens_kappa([[30, 9], [9, 30]])
    assert row["kappa_high"] - row["kappa_low"] > 1.3 * naive.width
    assert agreements(verdicts(of(again))).records() == agreements(of(again)).records()


@pytest.mark.long
@pytest.mark.parametrize(("cases", "models", "share"), [(30, 5, 0.8), (100, 15, 0.9)])
def test_the_interval_of_the_share_covers_where_the_verdicts_of_a_case_hang_together(
    cases: int, models: int, share: float
) -> None:
    """Each rule is a draw: its cases differ in how often code and judge agree, with a correlation of .3 in a case."""
    rng = np.random.default_rng(1)
    rules = 200
    rates = rng.beta(share * 0.7 / 0.3, (1 - share) * 0.7 / 0.3, size=(rules, cases, 1))
    agrees = rng.random((rules, cases, models)) < rates
    table = agreements(cube_of(agrees, rng.random(agrees.shape) < 0.3))
    per_rule = table[table["rule"].notna()]
    assert len(per_rule) == rules
    assert set(per_rule["agreed_interval"]) == {"korn-graubard"}
    covered = per_rule["agreed_low"].le(share) & per_rule["agreed_high"].ge(share)
    # 0.95 less two and a half standard errors of 200 draws; as if all were independent it was 0.83 and 0.6.
    assert covered.mean() >= 0.911


def test_of_many_cases_copies_of_a_case_tell_no_more_than_the_case() -> None:
    rng = np.random.default_rng(5)
    agrees, fails = (rng.random((1, 2_100, 1)) < share for share in (0.85, 0.3))
    once = agreements(cube_of(agrees, fails)).iloc[0]
    copied = agreements(cube_of(np.repeat(agrees, 5, axis=2), np.repeat(fails, 5, axis=2))).iloc[0]
    assert (copied["n"], copied["kappa"]) == (10_500, pytest.approx(once["kappa"]))
    assert copied["kappa_interval"] == "smoothed-by-cluster"
    for name in ("agreed", "kappa"):
        width, alone = (row[f"{name}_high"] - row[f"{name}_low"] for row in (copied, once))
        assert width == pytest.approx(alone, rel=0.05)


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
        one.replace(confidence={"c2": 0.99, "c1": 0.6, "c4": 0.9}.get(one.case)) if one.source == "judge:j" else one
        for one in made.verdicts
    ]
    made = made.replace(verdicts=tuple(surer))
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
