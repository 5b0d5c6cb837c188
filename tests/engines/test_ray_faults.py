"""Workers and nodes that are lost in the middle of a job: the results are those of one process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from promptpex.core.errors import EngineError
from promptpex.engines import ray_engine
from promptpex.engines.ray_cluster import RayCluster
from promptpex.engines.ray_engine import RayEngine
from tests.engines.jobs import (
    DyingSource,
    FunctionJob,
    Journal,
    die_at_forty,
    give_a_lambda,
    kept,
    refuse_forty,
    until,
)

pytestmark = pytest.mark.slow

SQUARES = [number * number for number in range(60)]


WAYS = pytest.mark.parametrize("way", ["stream", "stream_from"])


@WAYS
async def test_a_killed_workers_chunks_are_done_again(
    ray: RayCluster, way: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    journal, results = Journal(tmp_path, gated=True), list[int]()

    def kill() -> None:
        asyncio.run(until(lambda: len(working(journal)) == 2))
        os.kill(working(journal)[0], signal.SIGKILL)
        journal.let_go()

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    await kept(getattr(RayEngine(ray, 2, chunk=5), way)(journal, range(60)), results)
    killing.join()
    assert results == SQUARES
    begun = [line for lines in journal.lines() for line in lines if line.isdigit()]
    assert len(begun) > len(set(begun)) == 60, "what the killed one was at was done again"
    assert capfd.readouterr() == ("", ""), "nothing of it stands among results"


def working(journal: Journal) -> list[int]:
    """The processes that have begun something."""
    return [int(path.stem) for path in journal.folder.glob("*.txt") if len(path.read_text().split()) > 1]


@pytest.fixture
def tries(monkeypatch: pytest.MonkeyPatch) -> int:
    """One try less than there is else: each takes a second."""
    monkeypatch.setattr(ray_engine, "TRIES", ray_engine.TRIES - 1)
    return ray_engine.TRIES


@WAYS
async def test_what_kills_its_workers_is_given_up_after_the_results_before_it(
    ray: RayCluster, way: str, tries: int
) -> None:
    results: list[int] = []
    stream = getattr(RayEngine(ray, 1, chunk=20), way)(FunctionJob(die_at_forty), range(60))
    with pytest.raises(EngineError, match=f"a worker died {tries} times on the same work"):
        await kept(stream, results)
    assert results == list(range(40))


async def test_a_source_that_kills_its_reader_is_given_up(ray: RayCluster, tries: int) -> None:
    results: list[int] = []
    with pytest.raises(EngineError, match=f"a worker died {tries} times on the same work"):
        await kept(RayEngine(ray, 1).stream_from(FunctionJob(abs), DyingSource()), results)
    assert results == list(range(30))[: len(results)]


async def test_what_cannot_be_pickled_is_named(ray: RayCluster) -> None:
    jobs: list[FunctionJob[int, object]] = [FunctionJob(lambda number: number), FunctionJob(give_a_lambda)]
    for job in jobs:
        with pytest.raises(EngineError, match="cannot be pickled"):
            await RayEngine(ray, 1).map(job, range(3))
    refusing = FunctionJob(refuse_forty)
    assert await RayEngine(ray, 1).map(refusing, range(3)) == [0, 1, 2], "it goes on being usable"


NODES = """
import asyncio, json, sys
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from ray.util import placement_group, remove_placement_group
from promptpex.engines.ray_cluster import RayCluster
from promptpex.engines.ray_engine import RayEngine
from tests.engines.jobs import Journal, kept, until

PLAIN = dict(include_dashboard=False, include_log_monitor=False, object_store_memory=80_000_000)

def begun(journal):
    return [lines for lines in journal.lines() if len(lines) > 1]

async def done(cluster, way, journal):
    results = []
    await kept(getattr(RayEngine(cluster, 2, chunk=5), way)(journal, range(60)), results)
    return results

async def main(folder):
    nodes = Cluster(initialize_head=True, head_node_args=dict(PLAIN, num_cpus=2, no_monitor=True))
    other = nodes.add_node(num_cpus=2, **PLAIN)
    with RayCluster(nodes.address) as cluster:
        cluster.open()
        from_here, from_there = (Journal(folder / way, gated=True) for way in ("stream", "stream_from"))
        for journal in (from_here, from_there):
            journal.folder.mkdir()
        rest = placement_group([{"CPU": 1}] * 2, strategy="STRICT_SPREAD")
        ray.get(rest.ready())
        first = asyncio.ensure_future(done(cluster, "stream", from_here))
        await until(lambda: len(begun(from_here)) == 2 or first.done())
        remove_placement_group(rest)  # it has kept a CPU of each node free for the second
        second = asyncio.to_thread(lambda: asyncio.run(done(cluster, "stream_from", from_there)))
        both = asyncio.gather(first, second)
        await until(lambda: len(begun(from_there)) == 2 or both.done())
        nodes.remove_node(other, allow_graceful=False)
        for journal in (from_here, from_there):
            journal.let_go()
        print(json.dumps(await both))
    nodes.shutdown()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_lost_nodes_chunks_are_done_by_the_other(ray_installed: None, tmp_path: Path) -> None:
    """In a process of its own, which is connected to a cluster of two nodes, with a worker of each stream on each."""
    script = tmp_path / "nodes.py"
    script.write_text(NODES)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "RAY_AUTH_MODE": "disabled",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [SQUARES, SQUARES]
