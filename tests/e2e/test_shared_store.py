"""Runs on a store that a PostgreSQL server keeps: many at once, and the server stopped and started under them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from promptpex.core.store_address import parse_address
from tests.e2e.command import environment
from tests.e2e.faults import GOOD, MODEL, Place, Script, command, place, reasons, until
from tests.e2e.test_store_faults import is_one_sentence
from tests.fork_server.start import forking
from tests.postgres import GUEST, PASSWORD, SUPERUSER, Cluster, own_cluster
from tests.servers import ScriptedServer, Step

SLOW = Step(body=GOOD.body, delay_s=0.05)
CLIENTS = 5


@dataclass(frozen=True, slots=True)
class SharedPlace(Place):
    """A folder with a small suite whose store is on a server."""

    address: str = ""
    cluster: Cluster | None = None

    def run(self, server: ScriptedServer, *more: str) -> list[str]:
        results = [] if "--results" in more else ["--results", str(self.folder / "results")]
        model = f"{MODEL}?api_base={server.url}/v1"
        flags = ["--store", self.address, "--models", model, "--concurrency", "4"]
        return ["run", str(self.prompt), *flags, *results, *more]

    def stored(self) -> dict[str, str]:
        assert self.cluster is not None
        rows = self.cluster.execute(f"SELECT id, completion FROM {parse_address(self.address).schema}.replies")
        return {str(name): str(completion) for name, completion in rows}


def shared_place(folder: Path, cluster: Cluster, cells: int, **more: str) -> SharedPlace:
    here = place(folder, cells=cells)
    return SharedPlace(here.folder, here.prompt, cells, cluster.address(**more), cluster)


@pytest.fixture(scope="module")
def mortal(postgres: Cluster) -> Iterator[Cluster]:
    """A server that tests stop and start; it runs between them."""
    with own_cluster() as cluster:
        yield cluster


@pytest.mark.long
async def test_many_clients_on_one_suite_pay_for_every_question_once(
    postgres: Cluster, tmp_path: Path, scripted: ScriptedServer
) -> None:
    here = shared_place(tmp_path, postgres, 30)
    script = scripted.otherwise = Script(good=SLOW)
    with forking():
        started = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "promptpex"),
                *here.run(scripted, "--results", str(tmp_path / f"results-{number}"), "--json", "-q"),
                cwd=tmp_path,
                env=environment(),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            for number in range(CLIENTS)
        ]
    ended = await asyncio.gather(*(process.communicate() for process in started))
    assert [process.returncode for process in started] == [0] * CLIENTS, ended
    summaries = [json.loads(out) for out, _ in ended]
    assert [one["models"][0]["scored"] for one in summaries] == [30] * CLIENTS
    assert script.sent == sum(one["requests"]["requests"] for one in summaries) == len(here.stored()) == 30
    assert script.twice == 0


async def test_a_run_whose_server_goes_away_says_so_and_the_next_asks_only_what_is_missing(
    mortal: Cluster, tmp_path: Path, scripted: ScriptedServer
) -> None:
    here = shared_place(tmp_path, mortal, 20)
    script = scripted.otherwise = Script(good=SLOW)
    asked = here.run(scripted, "--repeats", "4")  # more than are let through at a time
    running = asyncio.create_task(command(asked))
    await until(lambda: script.sent >= 8 or running.done())
    mortal.stop("immediate")
    try:
        done = await running
        is_one_sentence(done, "cannot be reached", "run the same command again, what was committed is kept")
        is_one_sentence(await command(asked), "cannot be reached")
    finally:
        mortal.start()
    before, kept = script.sent, len(here.stored())
    healed = await command(asked)
    assert healed.code == 0, healed.err
    assert reasons(here.rows()) == {}
    assert (script.sent, len(here.stored())) == (before + 80 - kept, 80), "what was committed is not asked again"


async def test_no_password_gets_into_what_a_run_leaves(
    postgres: Cluster, tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = shared_place(tmp_path, postgres, 2)
    schema = parse_address(here.address).schema
    postgres.execute(f"CREATE SCHEMA {schema} AUTHORIZATION {GUEST}")
    theirs = SharedPlace(here.folder, here.prompt, 2, here.address.replace(f"//{SUPERUSER}@", f"//{GUEST}@"), postgres)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    scripted.otherwise = Script()
    done = await command(theirs.run(scripted, "--log", str(tmp_path / "run.log"), "-v"))
    assert done.code == 0, done.err
    assert theirs.manifest()["settings"]["store"] == theirs.address
    assert PASSWORD not in done.out + done.err
    assert holding(PASSWORD.encode(), tmp_path) == []


def holding(text: bytes, folder: Path) -> list[Path]:
    """The files below a folder that hold a text."""
    return [path for path in folder.rglob("*") if path.is_file() and text in path.read_bytes()]
