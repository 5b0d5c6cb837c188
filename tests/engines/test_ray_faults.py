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
from promptpex.engines.ray_cluster import RayCluster
from promptpex.engines.ray_engine import TRIES, RayEngine
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


@WAYS
async def test_what_kills_its_workers_is_given_up_after_the_results_before_it(ray: RayCluster, way: str) -> None:
    results: list[int] = []
    stream = getattr(RayEngine(ray, 2, chunk=20), way)(FunctionJob(die_at_forty), range(100))
    with pytest.raises(EngineError, match=f"a worker died {TRIES} times on the same work"):
        await kept(stream, results)
    assert results == list(range(40))


async def test_a_source_that_kills_its_reader_is_given_up(ray: RayCluster) -> None:
    results: list[int] = []
    with pytest.raises(EngineError, match=f"a worker died {TRIES} times on the same work"):
        await kept(RayEngine(ray, 2).stream_from(FunctionJob(abs), DyingSource()), results)
    assert results == list(range(30))[: len(results)]


async def test_what_cannot_be_pickled_is_named(ray: RayCluster) -> None:
    jobs: list[FunctionJob[int, object]] = [FunctionJob(lambda number: number), FunctionJob(give_a_lambda)]
    for job in jobs:
        with pytest.raises(EngineError, match="cannot be pickled"):
            await RayEngine(ray, 2).map(job, range(3))
    refusing = FunctionJob(refuse_forty)
    assert await RayEngine(ray, 2).map(refusing, range(3)) == [0, 1, 2], "it goes on being usable"


NODES = """
import asyncio, json, sys
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from promptpex.engines.ray_cluster import RayCluster
from promptpex.engines.ray_engine import RayEngine
from tests.engines.jobs import Journal, kept, until

PLAIN = dict(include_dashboard=False, include_log_monitor=False, object_store_memory=80_000_000)

async def done_on_two(nodes, engine, way, folder):
    folder.mkdir()
    other = nodes.add_node(num_cpus=1, **PLAIN)
    journal, results = Journal(folder, gated=True), []

    def lose_a_node():
        asyncio.run(until(lambda: len([lines for lines in journal.lines() if len(lines) > 1]) == 2))
        nodes.remove_node(other, allow_graceful=False)
        journal.let_go()

    losing = asyncio.get_running_loop().run_in_executor(None, lose_a_node)
    await kept(getattr(engine, way)(journal, range(60)), results)
    await losing
    return results

async def main(folder):
    nodes = Cluster(initialize_head=True, head_node_args=dict(PLAIN, num_cpus=1, no_monitor=True))
    with RayCluster(nodes.address) as cluster:
        engine = RayEngine(cluster, 2, chunk=5)
        print(json.dumps([await done_on_two(nodes, engine, way, folder / way) for way in ("stream", "stream_from")]))
    nodes.shutdown()

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_lost_nodes_chunks_are_done_by_the_other(ray_installed: None, tmp_path: Path) -> None:
    """In a process of its own, which is connected to a cluster of two nodes, with a worker on each."""
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
