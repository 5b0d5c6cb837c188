"""``--engine ray``: models are asked by workers, and nothing that a person sees is another thing for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.engines.ray_cluster import RayCluster
from tests.e2e.faults import MODEL, Script, command, place, reasons, sound, until
from tests.e2e.processes import ended, nobody_stays, started
from tests.e2e.test_shared_store import shared_place
from tests.postgres import Cluster
from tests.servers import ScriptedServer, Step, completion_body

__all__ = ["nobody_stays"]

pytestmark = pytest.mark.slow
SLOW = Step(body=completion_body("NN"), delay_s=60)
OF_RAY = (b"raylet", b"gcs_server", b"ray::")
ON_RAY = ("--engine", "ray", "--workers", "2")


def asked(server: ScriptedServer, *more: str) -> list[str]:
    """The flags of a run on a cluster that sends four requests at a time."""
    return ["--models", f"{MODEL}?api_base={server.url}/v1", "--concurrency", "4", *ON_RAY, *more]


def processes(*names: bytes) -> set[int]:
    """The processes that bear one of these names, by their ids."""
    named = set[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            program = (folder / "cmdline").read_bytes().partition(b"\0")[0]
            if any(name in program for name in names):
                named.add(int(folder.name))
    return named


def workers() -> set[int]:
    """The processes that ask for this one."""
    return {process for process in processes(b"ray::_Actor") if os.getpid() in ancestors(process)}


def ancestors(process: int) -> Iterator[int]:
    """The processes that a process descends from."""
    with contextlib.suppress(OSError):
        while process > 1:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
            yield process


def tables(results: Path) -> dict[str, bytes]:
    """The tables of the one run under this folder."""
    return {path.name: path.read_bytes() for path in sorted(results.glob("*/*/*.csv"))}


async def test_a_run_is_the_local_run_byte_for_byte_on_one_store(
    tmp_path: Path, scripted: ScriptedServer, ray: RayCluster
) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = Script()
    first = await command(here.arguments(*asked(scripted), "--record", str(tmp_path / "ray.jsonl")))
    assert first.code == 0, first.err
    assert (script.sent, script.twice) == (12, 0)
    assert scripted.max_in_flight <= 4
    on_ray = tables(here.folder / "results")
    local = await command(
        [
            *("run", str(here.prompt), "--store", str(here.store), "--results", str(tmp_path / "local")),
            *("--models", f"{MODEL}?api_base={scripted.url}/v1", "--record", str(tmp_path / "local.jsonl")),
        ]
    )
    assert local.code == 0, local.err
    again = await command(
        [
            *("run", str(here.prompt), "--store", str(here.store), "--results", str(tmp_path / "again")),
            *asked(scripted, "--record", str(tmp_path / "again.jsonl")),
        ]
    )
    assert again.code == 0, again.err
    assert script.sent == 12, "the store answers all of it"
    assert set(on_ray) >= {"results.csv", "report.csv", "verdicts.csv"}
    assert on_ray == tables(tmp_path / "local") == tables(tmp_path / "again")
    recordings = {(tmp_path / name).read_bytes() for name in ("ray.jsonl", "local.jsonl", "again.jsonl")}
    assert len(recordings) == 1


async def test_the_budget_is_that_of_the_cluster(tmp_path: Path, scripted: ScriptedServer, ray: RayCluster) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = Script()
    done = await command(here.arguments(*asked(scripted, "--max-requests", "7")))
    sound(here, done, here.rows())
    assert reasons(here.rows()) == {"budget": 5}, done.err
    assert script.sent == 7
    assert "7 requests sent" in done.out


async def test_what_killed_workers_were_at_is_asked_again_and_nothing_else(
    tmp_path: Path, scripted: ScriptedServer, ray: RayCluster
) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = Script(lambda number, seen: SLOW if number >= 5 else None)
    running = asyncio.ensure_future(command(here.arguments(*asked(scripted))))
    await until(lambda: script.sent >= 9 and len(here.stored()) == 5)
    answered = Counter(script.paid)
    script.fault = lambda number, seen: None
    for process in workers():
        os.kill(process, signal.SIGKILL)
    done = await running
    assert done.code == 0, done.err
    sound(here, done, here.rows())
    assert reasons(here.rows()) == {}
    assert script.sent == 12 + 4, "the four that were in flight, with no answer"
    assert all(script.paid[question] == 1 for question in answered), "what was paid is not paid again"
    assert script.twice == 0
    assert "A worker was lost" in done.err
    count = re.search(r"(\d+) requests sent", done.out)
    assert count is not None
    assert 12 <= int(count[1]) <= 16, "a worker may die before it has said that a request left"


@pytest.mark.usefixtures("ray_installed")
async def test_ctrl_c_ends_a_run_as_on_one_machine_and_leaves_no_process(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = Script(lambda number, seen: SLOW if number >= 5 else None)
    process = await started(here.arguments(*asked(scripted)), here, forked=False)
    await until(lambda: script.sent >= 9)
    started_by_it = {one for one in processes(*OF_RAY) if process.pid in ancestors(one)}
    assert len(started_by_it) >= 4, "two servers and two that ask"
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 130, done.err
    rows = here.rows()
    sound(here, done, rows)
    assert reasons(rows) == {"interrupted": 3, "cut-by-stop": 4}
    assert here.manifest()["partial"] == "interrupted"
    assert "stopped; the answers so far are kept" in done.err
    await until(lambda: not started_by_it & processes(*OF_RAY))


async def test_a_wrong_key_on_the_workers_costs_one_request(
    tmp_path: Path, scripted: ScriptedServer, ray: RayCluster
) -> None:
    here = place(tmp_path)
    refused = Step(body=b'{"error": {"message": "no such key"}}', status=401)
    script = scripted.otherwise = Script(lambda number, seen: refused)
    done = await command(here.arguments(*asked(scripted)))
    assert done.code == 3, done.err
    assert reasons(here.rows()) == {"not-authorised": 12}
    assert script.sent == 1
    assert done.err.count("cannot be asked, so it is asked nothing more") == 1


async def test_killed_workers_cost_nothing_twice_on_a_shared_server_either(
    tmp_path: Path, scripted: ScriptedServer, ray: RayCluster, postgres: Cluster
) -> None:
    here = shared_place(tmp_path, postgres, 12)
    script = scripted.otherwise = Script(lambda number, seen: SLOW if number >= 5 else None)
    running = asyncio.ensure_future(command(here.run(scripted, *ON_RAY)))
    await until(lambda: script.sent >= 9 and len(here.stored()) == 5)
    script.fault = lambda number, seen: None
    for process in workers():
        os.kill(process, signal.SIGKILL)
    done = await running
    assert done.code == 0, done.err
    assert reasons(here.rows()) == {}
    assert len(here.stored()) == 12
    assert (script.sent, script.twice) == (12 + 4, 0)
