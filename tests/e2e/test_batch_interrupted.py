"""A stop ends all prompts of a batch with what there is; the same command goes on, and pays for nothing twice."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest

from tests.e2e.batch_project import manifests, write_project
from tests.e2e.command import in_process
from tests.e2e.faults import MODEL, Script
from tests.servers import ScriptedServer, Seen, Step, completion_body
from tests.stream_server import in_thread

RED = Step(body=completion_body("RED"))
LATE = Step(body=completion_body("RED"), delay_s=4)
"""Later than what is in flight when a command is stopped may be."""


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_all_prompts_end_and_the_same_command_goes_on(tmp_path: Path) -> None:
    project = write_project(tmp_path, alpha=2, beta=5, gamma=9)

    def stops(number: int, seen: Seen) -> Step | None:
        if number == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return LATE if number >= 6 else None

    script = Script(stops, good=RED)
    server = ScriptedServer(otherwise=script)
    with in_thread(server):
        model = f"{MODEL}?api_base={server.url}/v1"
        arguments = ["run", "prompts", "--models", model, "--concurrency", "2", "--store", str(tmp_path / "store.db")]
        done = in_process(*arguments, cwd=project)
        assert done.code == 130, done.err
        assert "promptpex: stopped; the answers so far are kept. To continue:" in done.err.splitlines()[-1]
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
        resumed = in_process(*arguments, cwd=project)
    assert resumed.code == 0, resumed.err
    assert (script.twice, sum(script.paid.values())) == (0, 16)
    assert [*project.glob("results/batches/*/index.html")] == [index]
    assert not any(one.get("partial") for one in manifests(project).values())
