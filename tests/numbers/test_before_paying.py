"""What ``estimate`` says of a suite before anything is paid, and that no run denies it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.e2e.faults import command
from tests.numbers.server import Place, answering


@pytest.fixture
def here(place: Callable[[int], Place]) -> Place:
    return place(30)


async def promised(*flags: str, cases: int = 30) -> str:
    """What is said of the cases."""
    done = await command(["estimate", "p.md", "--judge", "none", *flags])
    return " ".join(done.out.split()).partition(f"{cases} case{'' if cases == 1 else 's'}: ")[2]


async def test_one_sentence_goes_by_the_last_run_and_forbids_nothing(here: Place) -> None:
    models = ("--models", "openai/a,openai/b", "--repeats", "3")
    before = await promised(*models)
    assert before.startswith("differences of about 27 points or more will probably show, smaller ones may not")
    here.server.otherwise = answering({"a": 15, "b": 15})
    _, report = await here.run("a,b", judge="none")
    after = await promised(*models)
    assert f"(shares of failures as in run {report['run']})" in after
    assert int(re.findall(r"about (\d+) points", after)[0]) > 27, "shares near a half take more to tell apart"


async def test_a_difference_that_a_run_has_shown_is_not_called_impossible(place: Callable[[int], Place]) -> None:
    here = place(12)
    here.server.otherwise = answering({"a": 0, "b": 12})
    _, report = await here.run("a,b", judge="none")
    assert [row["decision"] for row in report["models"]] == ["best", "worse"]
    assert (await promised("--models", "openai/a,openai/b", cases=12)).startswith("differences of about 59 points")


async def test_one_model_has_an_interval(here: Place) -> None:
    assert await promised("--models", "openai/a") == "a share of 10% will have an interval of about 2.1–27%."
    assert (await promised("--models", "openai/a", "--repeats", "3")).endswith("an interval of about 3.1–23%.")


async def test_a_part_that_was_chosen_by_its_outcome_says_nothing_of_the_next_run(here: Place) -> None:
    """And with one case an interval has two ends that one can read."""
    here.server.otherwise = answering({"a": 15})
    await here.run("a", judge="none")
    await here.run("a", "--only-failed", "--fresh", judge="none")
    assert (await promised("--models", "openai/a")).startswith("a share of 50% will have an interval of about ")
    here.server.otherwise = answering({"a": 0})
    await here.run("a", "--fresh", judge="none")
    one = await promised("--models", "openai/a", "--first", "1", cases=1)
    assert one.startswith("a share of 1% will have an interval of about 0–")
