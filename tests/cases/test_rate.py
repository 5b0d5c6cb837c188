from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.cases.file import read_suite, write_suite
from promptpex.cases.rate import rate, unrated
from promptpex.core.records import Case, Rating, Request, Suite
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


@pytest.mark.parametrize("ending", ["yaml", "csv", "jsonl"])
def test_ratings_and_marks_are_read_back_and_make_no_case_a_persons(ending: str, tmp_path: Path) -> None:
    rating = Rating(severity=5, importance=2, redundant_with="c2", of="abc")
    written = write_suite(tmp_path / f"p.cases.{ending}", suite(2))
    marked = written.replace(cases=(written.cases[0].replace(rating=rating, aside="not now"), *written.cases[1:]))
    write_suite(tmp_path / f"p.cases.{ending}", marked)
    first, second = read_suite(tmp_path / f"p.cases.{ending}").cases
    assert (first.rating, first.aside, first.origin) == (rating, "not now", "generated")
    assert (second.rating, second.aside, second.origin) == (None, None, "generated")
