"""SIGKILL at any moment: no committed reply is lost, none is paid for twice."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.e2e.command import benchmark, environment, promptpex_beside
from tests.e2e.faults import until
from tests.e2e.tally import TALLY, Row
from tests.servers import ScriptedServer, Step, completion_body

KILLS = 20


def stored(folder: Path) -> int:
    path = folder / ".promptpex" / "store.db"
    if not path.exists():
        return 0
    with sqlite3.connect(path) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.slow
async def test_killed_at_random_moments_it_loses_nothing_and_repays_what_was_in_flight(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    prompt = benchmark("speech-tag", tmp_path, cases=30)
    scripted.otherwise = Step(body=completion_body("NN"), delay_s=0.03)
    arguments = ["run", str(prompt), "--models", "openai/any", "--api-base", scripted.url, "--repeats", "20", "-q"]
    rng = random.Random(7)
    kept = 0
    for _ in range(KILLS):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "promptpex", *arguments, "--concurrency", "4"),
            cwd=tmp_path,
            env=environment(),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        begun, some = scripted.count, rng.randint(1, 25)
        await until(lambda begun=begun, some=some: scripted.count >= begun + some)  # type: ignore[misc]
        await asyncio.sleep(rng.uniform(0, 0.06))
        process.kill()
        await process.wait()
        now = stored(tmp_path)
        assert now >= kept
        kept = now
    assert kept >= KILLS, "it was killed before anything was stored"
    asked = scripted.count
    done = await promptpex_beside(*arguments, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["requests"]["cached"] == kept
    assert told["requests"]["requests"] == 600 - kept
    assert scripted.count - asked == 600 - kept
    assert stored(tmp_path) == 600
    assert told["models"][0]["scored"] == 600
    assert scripted.count <= 600 + KILLS * 8  # at each kill, 4 in flight and as many on their way to the disk
    again = scripted.count - 600
    TALLY.rows.append(Row(f"SIGKILL at {KILLS} random moments", 600, kept, "killed", -9, 600 - kept, again))
