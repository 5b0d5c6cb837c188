"""A model with parameters has a bar of its own, and what it is answered and costs is booked there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.progress import ProgressCounts, StageProgress
from promptpex.config import load
from promptpex.core.events import Event, StageEnded
from promptpex.core.records import Completion, Request
from promptpex.llm.fake import FakeClient
from promptpex.workflow.execution.early_stopping import execute
from promptpex.workflow.execution.run_records import begin
from promptpex.workflow.session import open_session
from tests.samples import prompt, spec, suite

PLAIN, WARM = "fake/a", "fake/a?temperature=0.3"
PAID = Completion(text="RED", tokens_in=3, tokens_out=1, cost_usd=0.5, latency_ms=1.0)


async def tallies_at_end(folder: Path, models: list[str], judge: list[str]) -> dict[tuple[str, str], StageProgress]:
    """The tally of each stage and model at its end."""
    tallies, at_end = ProgressCounts(lambda: 0.0), dict[tuple[str, str], StageProgress]()

    def hear(event: Event) -> None:
        tally = tallies.count(event)
        if isinstance(event, StageEnded) and tally is not None:
            at_end[event.stage, event.model] = tally

    given: dict[str, Any] = {"models": models, "judge": judge, "store": str(folder / "s.db")}
    async with open_session(load(given, start=folder, env={}), provider=FakeClient(reply), emit=hear) as session:
        await execute(session, await begin(session, prompt(), spec(), suite()))
    return at_end


def reply(request: Request) -> Completion:
    verdicts = {rule.id: {"reason": "fine", "verdict": "pass"} for rule in spec().rules}
    return PAID if request.stage == "output" else PAID.replace(text=str(verdicts).replace("'", '"'))


async def test_what_a_model_costs_is_reported_under_the_name_that_it_was_given(tmp_path: Path) -> None:
    cases = len(suite().usable())
    await tallies_at_end(tmp_path, [PLAIN], ["none"])
    tallies = await tallies_at_end(tmp_path, [PLAIN, WARM], [PLAIN + "?top_p=0.5"])
    plain, warm = tallies["output", PLAIN], tallies["output", WARM]
    assert (plain.cached, plain.cost) == (cases, 0.0)
    assert warm.cached == 0
    assert warm.cost == pytest.approx(0.5 * cases)
    assert tallies["judge", PLAIN + "?top_p=0.5"].cost > 0


def test_the_name_is_no_part_of_the_question() -> None:
    asked = Request(model="m", messages=(), label="m?temperature=0")
    assert asked.id == Request(model="m", messages=()).id
    assert "label" not in asked.to_dict()
