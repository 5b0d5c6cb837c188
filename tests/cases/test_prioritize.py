from __future__ import annotations

from typing import Any

import pytest

from promptpex.cases.rate import keep_most_valuable
from promptpex.core.ids import text_digest
from promptpex.core.records import Case, Rating, Rule, Spec, Suite

SPEC = Spec(prompt="p", rules=tuple(Rule(id=f"r{n}", rule=f"Rule {n}.", inverse=f"No {n}.") for n in range(1, 4)))


def case(name: str, severity: int = 3, importance: int = 3, same: str | None = None, **fields: Any) -> Case:
    rule, _, side = name.partition("-")
    rating = Rating(severity=severity, importance=importance, redundant_with=same)
    inputs = {"thing": text_digest(name, 40)}
    return Case(**{"id": name, "rule": rule, "inverse": "i" in side, "inputs": inputs, "rating": rating, **fields})


def kept(suite: Suite, most: int) -> list[str]:
    return [one.id for one in keep_most_valuable(suite, SPEC, most).suite.usable()]


def suite(*cases: Case) -> Suite:
    return Suite(prompt="p", cases=cases)


FULL = suite(
    case("r1-1", 5, 5), case("r1-2", 4, 4), case("r1-i1", 2, 2),
    case("r2-1", 3, 3), case("r2-i1", 5, 5),
    case("r3-1", 1, 1), case("r3-2", 1, 1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("most", "ids"),
    [
        (1, ["r1-1"]),
        (2, ["r1-1", "r2-i1"]),
        (3, ["r1-1", "r2-1", "r2-i1"]),
        (5, ["r1-1", "r1-2", "r1-i1", "r2-1", "r2-i1"]),
        (6, ["r1-1", "r1-2", "r1-i1", "r2-1", "r2-i1", "r3-1"]),
    ],
)
def test_value_and_coverage_decide(most: int, ids: list[str]) -> None:
    assert kept(FULL, most) == ids


def test_what_is_lost_is_named() -> None:
    choice = keep_most_valuable(FULL, SPEC, 2)
    assert (choice.valid, choice.aside, choice.lost) == (7, 5, ("r2", "r3", "r1-inverse"))
    assert keep_most_valuable(FULL, SPEC, 6).lost == ()


def test_nothing_is_deleted_and_all_comes_back() -> None:
    few = keep_most_valuable(FULL, SPEC, 2).suite
    assert [one.id for one in few.cases] == [one.id for one in FULL.cases]
    assert {one.aside for one in few.cases} == {None, "not among the 2 most valuable"}
    assert keep_most_valuable(few, SPEC, 7).suite == FULL
    assert kept(few, 5) == kept(FULL, 5)


def test_of_two_that_test_the_same_one_is_kept() -> None:
    twins = suite(case("r1-1", 5, 5), case("r1-2", 5, 5, same="r1-1"), case("r1-3", 2, 3))
    assert kept(twins, 2) == ["r1-1", "r1-3"]
    copies = suite(case("r1-1", 5, 5), case("r1-2", 5, 5, inputs=case("r1-1").inputs), case("r1-3", 2, 3))
    assert kept(copies, 2) == ["r1-1", "r1-3"]


def test_peoples_cases_always_stay_and_count() -> None:
    mine = suite(*FULL.cases, case("r3-9", origin="added", rating=None), case("r2-9", origin="edited"))
    assert kept(mine, 3) == ["r1-1", "r3-9", "r2-9"]
    assert kept(mine, 1) == ["r3-9", "r2-9"]
    put_aside = suite(case("r3-9", origin="added", aside="by hand"), case("r1-1"))
    assert kept(put_aside, 5) == ["r1-1"]


def test_invalid_cases_and_unrated_ones() -> None:
    odd = suite(case("r1-1", 5, 5, invalid="no"), case("r1-2", rating=None), case("r1-3", 2, 2))
    assert kept(odd, 1) == ["r1-2"]
    assert keep_most_valuable(odd, SPEC, 1).suite.cases[0].aside is None
