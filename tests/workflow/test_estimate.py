"""What is said of a suite that is still to be generated: as many cases as its spec asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.config import load
from promptpex.core.records import Spec, Suite
from promptpex.llm.fake import FakeClient
from promptpex.workflow.estimate import estimate, number_of_cases
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
        assert f"{cases} case" in detectable(session, cases)
    return cases, sum(line.calls for line in lines if line.stage == "output")


async def test_the_rules_of_a_spec_say_how_many_cases_there_will_be(tmp_path: Path) -> None:
    assert await outputs(tmp_path, spec()) == (RULES * 3, RULES * 3)
    assert await outputs(tmp_path, spec(), cases_per_rule=1, inverse_cases=0, repeats=2) == (RULES, RULES * 2)


async def test_longer_variants_are_asked_as_well(tmp_path: Path) -> None:
    plain, grown = [await outputs(tmp_path, None, None, expansion=times) for times in (0, 1)]
    assert grown == (2 * plain[0], 2 * plain[1])
    assert await outputs(tmp_path, spec(), expansion=2) == (RULES * 9, RULES * 9)


@pytest.mark.parametrize("known", [spec(), None], ids=["with its spec", "without a spec"])
async def test_a_suite_that_there_is_is_counted_as_it_is(tmp_path: Path, known: Spec | None) -> None:
    cases = len(suite().usable())
    assert await outputs(tmp_path, known, suite()) == (cases, cases)
