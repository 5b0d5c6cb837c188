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


async def said(*flags: str) -> str:
    done = await command(["estimate", "p.md", "--judge", "none", *flags])
    assert done.code == 0
    return " ".join(done.out.split())


async def test_one_sentence_goes_by_the_last_run_and_forbids_nothing(here: Place) -> None:
    models = ("--models", "openai/a,openai/b", "--repeats", "3")
    before = await said(*models)
    assert "30 cases: differences of about 27 points or more will probably show, smaller ones may not" in before
    here.server.otherwise = answering({"a": 15, "b": 15})
    _, report = await here.run("a,b", judge="none")
    after = await said(*models)
    assert f"(shares of failures as in run {report['run']})" in after
    assert int(re.findall(r"about (\d+) points", after)[0]) > 27, "shares near a half take more to tell apart"


async def test_one_model_has_an_interval(here: Place) -> None:
    assert "30 cases: a share of 10% will have an interval of about 2.1–27%." in await said("--models", "openai/a")
