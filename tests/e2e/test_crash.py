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
from tests.servers import ScriptedServer, Step, completion_body

KILLS = 20


def stored(folder: Path) -> int:
    path = folder / ".promptpex" / "store.db"
    if not path.exists():
        return 0
    with sqlite3.connect(path) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.slow
async def test_killed_at_random_moments_it_loses_nothing_and_repays_nothing(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    prompt = benchmark("speech-tag", tmp_path, cases=30)
    scripted.otherwise = Step(body=completion_body("NN"), delay_s=0.03)
    arguments = ["run", str(prompt), "--models", "openai/any", "--api-base", scripted.url, "--repeats", "8", "-q"]
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
        await asyncio.sleep(rng.uniform(0.5, 2.5))
        process.kill()
        await process.wait()
        now = stored(tmp_path)
        assert now >= kept
        kept = now
    asked = scripted.count
    done = await promptpex_beside(*arguments, "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["requests"]["cached"] == kept
    assert told["requests"]["requests"] == 240 - kept
    assert scripted.count - asked == 240 - kept
    assert stored(tmp_path) == 240
    assert told["models"][0]["scored"] == 240
    assert scripted.count <= 240 + KILLS * 4
