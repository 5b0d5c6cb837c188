"""What is said of a suite that is still to be generated: as many cases as its spec asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.config import load
from promptpex.core.records import Spec, Suite
from promptpex.llm.fake import FakeClient
from promptpex.workflow.estimate import EstimateLine, again_in_words, estimate, number_of_cases, total_in_words
from promptpex.workflow.session import open_session
from promptpex.workflow.statistical_power import detectable
from tests.samples import prompt, spec, suite

RULES = len(spec().rules)


async def outputs(folder: Path, a_spec: Spec | None, a_suite: Suite | None = None, **flags: object) -> tuple[int, int]:
    """Cases that are expected, and requests for their outputs."""
    given = {"author": "fake/a", "models": "fake/m", "judge": "none", "store": str(folder / "store.db"), **flags}
    async with open_session(load(given, start=folder, env={}), provider=FakeClient(["x"])) as session:
        lines = await estimate(session, prompt(), a_spec, a_suite)
        cases = number_of_cases(session, prompt(), a_spec, a_suite)
        assert f"{cases} case" in detectable(session, "colours", cases)
    return cases, sum(line.calls for line in lines if line.stage == "output")


async def test_the_rules_of_a_spec_say_how_many_cases_there_will_be(tmp_path: Path) -> None:
    assert await outputs(tmp_path, spec()) == (RULES * 3, RULES * 3)
    assert await outputs(tmp_path, spec(), cases_per_rule=1, inverse_cases=0, repeats=2) == (RULES, RULES * 2)


async def lines_of(folder: Path, a_spec: Spec | None, a_suite: Suite | None, **flags: object) -> list[EstimateLine]:
    given = {"author": "fake/a", "models": "fake/m", "judge": "fake/j", "store": str(folder / "store.db"), **flags}
    async with open_session(load(given, start=folder, env={}), provider=FakeClient(["x"])) as session:
        return await estimate(session, prompt(), a_spec, a_suite)


async def test_what_may_have_to_be_asked_twice_is_said_at_its_most(tmp_path: Path) -> None:
    known = await lines_of(tmp_path, spec(), suite())
    calls = {line.stage: (line.calls, line.again) for line in known}
    judging = calls["judge"][0]
    assert (calls["output"][1], calls["judge"][1]) == (0, judging)
    assert again_in_words(known) == (
        f"Not counted: an unreadable reply is requested once more, and then in parts. That is {judging} requests more "
        "if that happens to every reply, not counting the parts."
    )
    guessed = await lines_of(tmp_path, None, None, checks=True)
    checks = next(line for line in guessed if line.stage == "checks")
    assert checks.again == 2 * checks.calls
    assert "; rejected checks are proposed once more. That is " in again_in_words(guessed)
    assert again_in_words([line for line in known if line.stage == "output"]) == again_in_words([]) == ""


def priced(*costs: float | None) -> list[EstimateLine]:
    return [EstimateLine("judge", f"m{at}", 2, 0, 10, 10, cost) for at, cost in enumerate(costs)]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (priced(0.25), "2 requests, about $0.2500"),
        (priced(0.0), "2 requests, about $0.00"),
        (priced(0.25, None), "4 requests, about $0.2500 and the unknown price of m1"),
        (priced(None, None), "4 requests; the price of m0, m1 is unknown"),
        ([], "0 requests, about $0.00"),
    ],
)
def test_a_price_that_nobody_knows_is_no_sum(lines: list[EstimateLine], text: str) -> None:
    assert total_in_words(lines) == text
