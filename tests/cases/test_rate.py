from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.rate import keep_most_valuable, rate, unrated
from promptpex.core.ids import text_digest
from promptpex.core.records import Case, Rating, Request, Rule, Spec, Suite
from tests.samples import asked, prompt, role_model, spec


def suite(count: int = 3, **fields: Any) -> Suite:
    cases = [
        Case(id=f"c{n}", rule="r1", inverse=n == 2, inputs={"thing": f"thing {n}", "place": "x"}, **fields)
        for n in range(1, count + 1)
    ]
    return Suite(prompt="prompt.md", cases=tuple(cases))


def rated(name: str, severity: int = 3, importance: int = 3, redundant_with: str = "none") -> dict[str, Any]:
    return {"case": name, "severity": severity, "importance": importance, "redundant_with": redundant_with}


async def test_many_cases_are_rated_in_one_request() -> None:
    ratings = [rated("i1", 5, 4), rated("i2", 1, 2, "i1"), rated("i3", 2, 2, "i3")]
    author, client = role_model(lambda request: {"ratings": ratings})
    made = await rate(author, prompt(), spec(), suite())
    assert len(client.requests) == 1
    text = asked(client.requests[0])
    assert "r1-inverse (failure): The output has several words." in text
    assert "for r1-inverse\nthing: thing 2\nplace: x" in text
    numbers = [(case.rating.value, case.rating.redundant_with) for case in made.cases if case.rating]
    assert numbers == [(20, None), (2, "c1"), (4, None)]
    assert unrated(made, spec()) == []


async def test_what_has_changed_is_rated_again_and_nothing_else() -> None:
    author, client = role_model(lambda request: {"ratings": [rated(f"i{n}") for n in range(1, 4)]})
    made = await rate(author, prompt(), spec(), suite())
    reworded = spec().replace(rules=(spec().rules[0].replace(inverse="Other words."), spec().rules[1]))
    assert [case.id for case in unrated(made, reworded)] == ["c2"]
    assert await rate(author, prompt(), spec(), made) == made
    assert len(client.requests) == 1


async def test_invalid_cases_and_those_that_people_have_rated_are_not_rated() -> None:
    author, client = role_model(lambda request: {"ratings": []})
    mine = suite(origin="added", rating=Rating(severity=5, importance=5))
    for odd in (mine, suite(invalid="no")):
        assert await rate(author, prompt(), spec(), odd) == odd
    assert client.requests == []


OWN = """# mine
prompt: prompt.md
cases:
  - id: c1          # the one that failed in May
    rule: r1
    inverse: false
    inputs: {thing: "a  'quoted'   thing", place: x}
    origin: added
  - {id: c2, rule: r1, inverse: true, inputs: {thing: t, place: y}, rating: {severity: 1, importance: 1}}
"""


async def test_peoples_cases_are_rated_and_keep_every_byte_of_theirs(tmp_path: Path) -> None:
    file = tmp_path / "p.cases.yaml"
    file.write_text(OWN, encoding="utf-8")
    author, client = role_model(lambda request: {"ratings": [rated("i1", 5, 4)]})
    before = read_suite(file)
    assert [case.id for case in unrated(before, spec())] == ["c1"]
    made = await rate(author, prompt(), spec(), before)
    write_suite(file, made)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line in OWN.splitlines()] == OWN.splitlines()
    first, second = read_suite(file).cases
    assert (first.origin, first.rating and first.rating.value) == ("added", 20)
    assert (second.origin, second.rating) == ("added", Rating(severity=1, importance=1))
    assert (unrated(read_suite(file), spec()), len(client.requests)) == ([], 1)
    text = file.read_text(encoding="utf-8")
    write_suite(file, made)
    write_suite(file, before)
    assert file.read_text(encoding="utf-8") == text


async def test_a_case_that_a_person_has_changed_is_rated_again_and_stays_theirs(tmp_path: Path) -> None:
    file = tmp_path / "p.cases.yaml"
    author, _ = role_model(lambda request: {"ratings": [rated("i1", 5, 4), rated("i2", 2, 2)]})
    write_suite(file, await rate(author, prompt(), spec(), suite(2)))
    file.write_text(file.read_text(encoding="utf-8").replace("thing 1", "my thing"), encoding="utf-8")
    changed = read_suite(file)
    assert [(case.id, case.origin) for case in unrated(changed, spec())] == [("c1", "edited")]
    author, _ = role_model(lambda request: {"ratings": [rated("i1", 1, 1)]})
    write_suite(file, await rate(author, prompt(), spec(), changed))
    after = read_suite(file)
    assert [(case.origin, case.rating and case.rating.value) for case in after.cases] == [
        ("edited", 1),
        ("generated", 4),
    ]
    assert "my thing" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
async def test_a_rating_of_a_persons_case_is_kept_in_every_format(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"p.cases.{ending}"
    write_suite(file, suite(1, origin="added"), by_hand=True)
    author, _ = role_model(lambda request: {"ratings": [rated("i1", 5, 4)]})
    write_suite(file, await rate(author, prompt(), spec(), read_suite(file)))
    (case,) = read_suite(file).cases
    assert (case.origin, case.rating and case.rating.value) == ("added", 20)


@pytest.mark.parametrize(
    "ratings", [[], [rated("i7")], [rated("i1", 9)], [{"case": "i1"}], [rated("i2"), rated("i2", 5, 5)]]
)
async def test_what_cannot_be_read_leaves_a_case_without(ratings: Any) -> None:
    author, _ = role_model(lambda request: {"ratings": ratings})
    made = await rate(author, prompt(), spec(), suite())
    assert made.cases[0].rating is None
    assert made.cases[1].rating is None or made.cases[1].rating.value == 9


async def test_a_batch_that_cannot_be_read_is_asked_for_case_by_case() -> None:
    def reply(request: Request) -> Any:
        return "?" if "<i2-" in asked(request) else {"ratings": [rated("i1")]}

    author, _ = role_model(reply)
    made = await rate(author, prompt(), spec(), suite(2))
    assert all(case.rating is not None for case in made.cases)


SPEC = Spec(prompt="p", rules=tuple(Rule(id=f"r{n}", rule=f"Rule {n}.", inverse=f"No {n}.") for n in range(1, 4)))


def case(name: str, severity: int = 3, importance: int = 3, same: str | None = None, **fields: Any) -> Case:
    rule, _, side = name.partition("-")
    rating = Rating(severity=severity, importance=importance, redundant_with=same)
    inputs = {"thing": text_digest(name, 40)}
    return Case(**{"id": name, "rule": rule, "inverse": "i" in side, "inputs": inputs, "rating": rating, **fields})


def kept(suite_of_prioritize: Suite, most: int) -> list[str]:
    return [one.id for one in keep_most_valuable(suite_of_prioritize, SPEC, most).suite.usable()]


def suite_of_prioritize(*cases: Case) -> Suite:
    return Suite(prompt="p", cases=cases)


FULL = suite_of_prioritize(
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
    twins = suite_of_prioritize(case("r1-1", 5, 5), case("r1-2", 5, 5, same="r1-1"), case("r1-3", 2, 3))
    assert kept(twins, 2) == ["r1-1", "r1-3"]
    copies = suite_of_prioritize(case("r1-1", 5, 5), case("r1-2", 5, 5, inputs=case("r1-1").inputs), case("r1-3", 2, 3))
    assert kept(copies, 2) == ["r1-1", "r1-3"]


def test_peoples_cases_always_stay_and_count() -> None:
    mine = suite_of_prioritize(*FULL.cases, case("r3-9", origin="added", rating=None), case("r2-9", origin="edited"))
    assert kept(mine, 3) == ["r1-1", "r3-9", "r2-9"]
    assert kept(mine, 1) == ["r3-9", "r2-9"]
    put_aside = suite_of_prioritize(case("r3-9", origin="added", aside="by hand"), case("r1-1"))
    assert kept(put_aside, 5) == ["r1-1"]
