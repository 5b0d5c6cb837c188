"""Runs that end early, where failures take longer: the table ``deadlines`` of ``simulate_statistics.py``.

Each replication is a run through the shipped stack (queue, deadlines, budget, judging along), in virtual time, so that
hours of waiting take seconds. Nothing is stored.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from promptpex import tables
from promptpex.core.records import Case, Check, Request, Rule, Run, Spec, Suite
from promptpex.promptfile import parse
from promptpex.workflow.execution import run_records
from tests.llm.virtual_time import VirtualTimeLoop, session_of

CASES, RATE = 100, 0.3


@dataclass(frozen=True, slots=True)
class World:
    """How a run ends, and what takes how long.

    Attributes:
        name: for the table.
        seconds: of an answer that keeps its rule; with a judge, of a verdict.
        factor: how much longer one takes that breaks it.
        judge: whether a judge says so, and takes longer; else code does.
        ends: seconds after which the run ends.
        stop: whether the user stops it, else a deadline does.
        budget: requests that it may take instead.
    """

    name: str
    seconds: float
    factor: float
    judge: bool
    ends: float = 0.0
    stop: bool = False
    budget: int | None = None


WORLDS = (
    World("deadline, all in flight comes", 0.2, 4, False, 0.75),
    World("deadline, some is cut", 20, 4, False, 75),
    World("Ctrl-C, some is cut", 2, 4, False, 7.5, stop=True),
    World("deadline, all in flight comes", 0.3, 3, True, 0.8),
    World("deadline, some is cut", 20, 3, True, 53),
    World("Ctrl-C, some is cut", 2, 3, True, 5.3, stop=True),
    World("budget", 0.3, 3, True, budget=120),
)


def lines(rng: Any, rounds: int) -> Any:
    """The rows of the table, world by world."""
    for world in WORLDS:
        seeds = rng.integers(1 << 31, size=rounds)
        rows = np.array([_measured(world, int(seed)) for seed in seeds], dtype=float)
        rows = rows[~np.isnan(rows[:, 0])]
        share, low, high, wide_low, wide_high, scored, cut = rows.T
        yield [
            f"{'judge' if world.judge else 'model'} slow by {world.factor:g}, {world.name}",
            f"{100 * np.mean((wide_low <= RATE) & (wide_high >= RATE)):.1f}",
            f"{100 * np.mean((low <= RATE) & (high >= RATE)):.1f}",
            f"{100 * np.average(share, weights=scored):.1f}",
            f"{np.mean(scored):.0f}",
            f"{np.mean(cut):.1f}",
            f"{rounds - len(rows)}",
        ]


def _measured(world: World, seed: int) -> list[float]:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        run = runner.run(_run(world, seed))
    row = tables.records(tables.models(tables.outputs(run)))[0]
    if not row["scored"]:
        return [float("nan")] * 7
    low, high = min(row["ci_low"], row["best_case"]), max(row["ci_high"], row["worst_case"])
    cut = row["unscored"] - row["not_asked"]
    return [row["non_compliance"], row["ci_low"], row["ci_high"], low, high, row["scored"], cut]


async def _run(world: World, seed: int) -> Run:
    loop, rng = asyncio.get_running_loop(), random.Random(seed)
    broken = {number: rng.random() < RATE for number in range(CASES)}
    waits = {key: rng.lognormvariate(0, 0.3) for key in range(2 * CASES)}

    async def reply(request: Request) -> str:
        number = int(re.findall(r"number (\d+)", request.messages[-1].content)[-1])
        judges = request.stage == "judge"
        slower = world.factor if broken[number] and judges == world.judge else 1
        takes = world.seconds if judges == world.judge else world.seconds / 4
        await asyncio.sleep(takes * slower * waits[number + CASES * judges])
        if judges:
            return json.dumps({"r1": {"reason": "", "verdict": "fail" if broken[number] else "pass"}})
        return f"{'BAD' if broken[number] and not world.judge else 'good'} number {number}"

    given: dict[str, Any] = {"models": ["fake/m"], "judge": ["fake/j" if world.judge else "none"], "concurrency": 32}
    given |= {"max_requests": world.budget} if world.budget else {} if world.stop else {"deadline": world.ends}
    session = session_of(reply, rng, **given, seed=seed)
    if world.stop:
        loop.call_later(world.ends, session.client.cancel)
    rule = Rule(id="r1", rule="Is good.", checks=() if world.judge else (Check(kind="not-contains", value="BAD"),))
    cases = tuple(Case(id=f"c{number}", rule="r1", inputs={"n": f"number {number}"}) for number in range(CASES))
    prompt = parse("Say {{n}}.", "p.md")
    begun = await run_records.begin(
        session, prompt, Spec(prompt="p.md", intent="Say.", rules=(rule,)), Suite(prompt="p.md", cases=cases)
    )
    return await run_records.execute(session, begun)
