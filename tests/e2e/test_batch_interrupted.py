"""A stop ends all prompts of a batch with what there is; the same command goes on, and pays for nothing twice."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from tests.e2e.batch_project import manifests, write_project
from tests.e2e.command import in_process
from tests.e2e.faults import MODEL, Place, Script, until
from tests.e2e.processes import ended, nobody_stays, started
from tests.servers import ScriptedServer, Step, completion_body

__all__ = ["nobody_stays"]

RED = Step(body=completion_body("RED"))


async def test_all_prompts_end_and_the_same_command_goes_on(tmp_path: Path, scripted: ScriptedServer) -> None:
    project = write_project(tmp_path, alpha=2, beta=5, gamma=9)
    slow = Step(body=completion_body("RED"), delay_s=60)
    script = scripted.otherwise = Script(lambda number, seen: slow if number >= 6 else None, good=RED)
    model = f"{MODEL}?api_base={scripted.url}/v1"
    arguments = ["run", "prompts", "--models", model, "--concurrency", "2", "--store", str(tmp_path / "store.db")]
    process = await started(arguments, Place(project, project / "prompts", 16))
    await until(lambda: script.sent >= 8)
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 130, done.err
    assert done.err.strip().splitlines()[-1].startswith("promptpex: stopped; the answers so far are kept. To continue:")
    kept = manifests(project)
    assert {name: one["asked"] for name, one in kept.items()} == {"alpha": 2, "beta": 2, "gamma": 2}
    assert {name: one.get("partial") for name, one in kept.items()} == {
        "alpha": None,
        "beta": "interrupted",
        "gamma": "interrupted",
    }
    assert "2 runs are not complete (interrupted)" in " ".join(done.out.split())
    (index,) = project.glob("results/batches/*/index.html")
    script.fault = lambda number, seen: None
    resumed = await asyncio.to_thread(in_process, *arguments, cwd=project)
    assert resumed.code == 0, resumed.err
    assert (script.twice, sum(script.paid.values())) == (0, 16)
    assert [*project.glob("results/batches/*/index.html")] == [index]
    assert not any(one.get("partial") for one in manifests(project).values())
