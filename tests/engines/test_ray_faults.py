"""Workers and nodes that are lost in the middle of a job: the results are those of one process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from promptpex.core.errors import EngineError
from promptpex.engines.ray_cluster import RayCluster
from promptpex.engines.ray_engine import TRIES, RayEngine
from tests.engines.jobs import FunctionJob, Journal, die_at_forty, give_a_lambda, kept, refuse_forty, until

pytestmark = pytest.mark.slow

SQUARES = [number * number for number in range(60)]


async def test_a_killed_workers_chunks_are_done_again(
    ray: RayCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path, gated=True)
    running = asyncio.ensure_future(RayEngine(ray, 2, chunk=5).map(journal, range(60)))
    await until(lambda: len([lines for lines in journal.lines() if len(lines) > 1]) == 2)
    killed = journal.processes()[0]
    os.kill(killed, signal.SIGKILL)
    journal.let_go()
    assert await running == SQUARES
    assert "closed" not in (tmp_path / f"{killed}.txt").read_text()
    assert capsys.readouterr() == ("", ""), "nothing of it stands among results"


async def test_a_chunk_that_kills_its_workers_is_given_up_after_the_results_before_it(ray: RayCluster) -> None:
    results: list[int] = []
    stream = RayEngine(ray, 2, chunk=20).stream(FunctionJob(die_at_forty), range(100))
    with pytest.raises(EngineError, match=f"a worker died {TRIES} times at the same work"):
        await kept(stream, results)
    assert results == list(range(40))


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
from tests.engines.jobs import Journal, until

async def main(folder):
    plain = dict(include_dashboard=False, include_log_monitor=False, object_store_memory=80_000_000)
    nodes = Cluster(initialize_head=True, head_node_args=dict(plain, num_cpus=1, no_monitor=True))
    other = nodes.add_node(num_cpus=1, **plain)
    journal = Journal(folder, gated=True)
    with RayCluster(nodes.address) as cluster:
        running = asyncio.ensure_future(RayEngine(cluster, 2, chunk=5).map(journal, range(60)))
        await until(lambda: len([lines for lines in journal.lines() if len(lines) > 1]) == 2)
        nodes.remove_node(other, allow_graceful=False)
        journal.let_go()
        results = await running
    nodes.shutdown()
    print(json.dumps({"results": results, "processes": len(journal.lines())}))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_lost_nodes_chunks_are_done_by_the_other(ray_installed: None, tmp_path: Path) -> None:
    """In a process of its own, which is connected to a cluster of two nodes, with a worker on each."""
    script, folder = tmp_path / "nodes.py", tmp_path / "journal"
    script.write_text(NODES)
    folder.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "RAY_AUTH_MODE": "disabled",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [sys.executable, str(script), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["results"] == SQUARES
