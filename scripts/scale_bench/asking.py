"""Asking models on a cluster: throughput, CPU time per output, and what a lost worker or node costs."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scale_bench import processes, server

ROOT = Path(__file__).resolve().parents[2]
PROMPT = " ".join(["The fox, well-known for its cunning, asks: which part of speech is this word?"] * 18)
TURNS = 3
NODES = 3
WAYS = (("local", 1), ("ray", 1), ("ray", 2), ("ray", 4), ("nodes", NODES))


@dataclass(frozen=True, slots=True)
class Load:
    """What is measured: so many outputs, so many in flight, asked in one way.

    Attributes:
        way: ``local``, ``ray`` on one machine, or ``nodes``, a cluster of as many on this machine as ask.
        workers: how many ask.
        lose: ``worker`` or ``node``: killed when half of the outputs are in.
        after_s: seconds later.
    """

    way: str
    base: str
    workers: int = 1
    count: int = 4000
    concurrency: int = 256
    lose: str = ""
    after_s: float = 0.0


Figures = dict[str, float]


def add_parser(commands: Any) -> None:
    """The subcommand ``asking``."""
    parser = commands.add_parser("asking", help=__doc__)
    parser.add_argument("--count", type=int, default=4000, help="outputs of each measurement")
    parser.add_argument("--turns", type=int, default=TURNS, help="how often all ways are measured in turn")
    parser.add_argument("--only", choices=("speed", "losses"), help="one of the two parts")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Prints the tables."""
    if args.one:
        print(json.dumps(asyncio.run(one(Load(**json.loads(args.one))))))
        return
    if args.only != "losses":
        for latency, concurrency, title in (
            (20, 256, "As fast as the machine can, 20 ms x 256"),
            (500, 64, "As fast as 64 in flight at 500 ms allow"),
        ):
            count = args.count if latency < 100 else min(args.count, 1500)
            print(f"\n## {title}, {count} outputs\n")
            with server.serving(latency) as base:
                loads = [Load(way, base, workers, count, concurrency) for way, workers in WAYS]
                table(loads, args.turns, ideal=concurrency / latency * 1000)
    if args.only != "speed":
        print("\n## A worker or a node is killed when half of the outputs are in\n")
        losses(min(args.count, 2000))


def table(loads: list[Load], turns: int, ideal: float) -> None:
    """Medians over turns, in each of which every way is measured once, so that a busy machine slows all alike."""
    taken = [[measured(load) for load in loads] for _ in range(turns)]
    print(
        "| way | outputs per second | of the local engine | most in flight | CPU ms per output: run | workers | Ray |"
    )
    print("|---|---|---|---|---|---|---|")
    middle = [
        {name: statistics.median(turn[at][name] for turn in taken) for name in taken[0][at]} for at in range(len(loads))
    ]
    for load, got in zip(loads, middle, strict=True):
        share = statistics.median(turn[loads.index(load)]["per_s"] / turn[0]["per_s"] for turn in taken)
        print(
            f"| {named(load)} | {got['per_s']:.0f} | {share:.0%} | {got['max_in_flight']:.0f} of {load.concurrency} "
            f"| {got['run_ms']:.2f} | {got['workers_ms']:.2f} | {got['ray_ms']:.2f} |"
        )
    print(f"\nIdeal is {ideal:.0f} outputs per second.")


def losses(count: int) -> None:
    """What is redone and what is paid twice."""
    print("| lost | outputs | answered | sent | sent again | paid twice | seconds longer |")
    print("|---|---|---|---|---|---|---|")
    with server.serving(200) as base:
        for way, workers, lose in (("ray", 2, "worker"), ("nodes", NODES, "node")):
            load = Load(way, base, workers, count, 64)
            whole, got = measured(load), measured(replace(load, lose=lose))
            print(
                f"| a {lose} of {workers} | {count} | {got['outputs']:.0f} | {got['requests']:.0f} "
                f"| {got['requests'] - count:.0f} | {got['twice']:.0f} | {got['seconds'] - whole['seconds']:.1f} |"
            )


def named(load: Load) -> str:
    """The way, in words."""
    if load.way == "local":
        return "local engine"
    where = f" on {load.workers} nodes" if load.way == "nodes" else ""
    return f"ray, {load.workers} worker{'s' if load.workers > 1 else ''}{where}"


def measured(load: Load) -> Figures:
    """What ``one`` measures, in a process of its own, and what the server has counted."""
    server.reset(load.base)
    command = [sys.executable, str(ROOT / "scripts" / "bench_scale.py"), "asking", "--one", json.dumps(asdict(load))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        sys.exit(f"{named(load)}: {done.stderr[-3000:]}")
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return {**figures, **server.stats(load.base)}


def environment() -> Mapping[str, str]:
    """This process's environment without keys."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**kept, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none", "RAY_DEDUP_LOGS": "0"}


async def one(load: Load) -> Figures:
    """Seconds, outputs per second, and CPU milliseconds per output of the run's process, its workers and Ray."""
    from promptpex.core.records import Completion, Message, Params, Request
    from promptpex.engines import run_all

    with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as folder, cluster(load) as (address, lose):
        async with client(load, Path(folder), address) as ask:
            answered = 0

            def request(number: int) -> Request:
                messages = (Message(role="user", content=f"{number} {PROMPT}"),)
                return Request(
                    model="openai/mock", messages=messages, params=Params(temperature=0.0), api_base=load.base
                )

            async def question(number: int) -> bool:
                nonlocal answered
                completion = await ask(request(number))
                answered += 1
                if load.lose and number >= 0 and answered == load.count // 2:
                    await asyncio.sleep(load.after_s)
                    await asyncio.to_thread(lose)
                return isinstance(completion, Completion)

            await run_all(
                question, range(-8 * load.workers, 0)
            )  # all workers are up, with their imports and connections
            answered = 0
            server.reset(load.base)
            began, cpu_began = time.perf_counter(), cpu_s()
            outputs = sum(await run_all(question, range(load.count)))
            seconds, cpu = time.perf_counter() - began, cpu_s()
            spent = {f"{name}_ms": (cpu[name] - cpu_began[name]) / load.count * 1000 for name in cpu}
            return {"seconds": seconds, "per_s": load.count / seconds, "outputs": outputs, **spent}


async def warm(load: Load, ask: Callable[[], Awaitable[object]]) -> None:
    """Asks until all workers are up, with their imports and connections."""
    await ask()
    while load.way != "local" and sum(each.is_worker for each in processes.below()) < load.workers:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    await ask()


def cpu_s() -> dict[str, float]:
    """Seconds of CPU time of this process, of the workers below it, and of what else Ray has started."""
    children = processes.below()
    workers = sum(each.cpu_s for each in children if each.is_worker)
    return {"run": time.process_time(), "workers": workers, "ray": sum(each.cpu_s for each in children) - workers}


@asynccontextmanager
async def client(load: Load, folder: Path, address: str | None) -> AsyncIterator[Callable[[Any], Any]]:
    """The client of a run on a store of its own."""
    from promptpex.config import Settings
    from promptpex.engines.ray_cluster import RayCluster
    from promptpex.engines.ray_links import RayCarrier
    from promptpex.llm.providers import ProviderOptions, Router
    from promptpex.llm.stack import build
    from promptpex.store import SqliteStore
    from promptpex.workflow.client_options import stack_options
    from promptpex.workflow.execution.asking_on_workers import asking_on_workers

    settings = Settings(store=str(folder / "store.db"), concurrency=load.concurrency, workers=load.workers)
    ray = None if load.way == "local" else RayCluster(address, load.workers)
    remote = None if ray is None else asking_on_workers(RayCarrier(ray), settings, ProviderOptions())
    async with SqliteStore(settings.store) as store:
        options = stack_options(settings)
        stack = build(Router(), store=store, rng=random.Random(0), clock=time.monotonic, options=options, remote=remote)
        try:
            yield stack.complete
        finally:
            await stack.close()
            if ray is not None:
                await asyncio.to_thread(ray.close)


@contextlib.contextmanager
def cluster(load: Load) -> Iterator[tuple[str | None, Callable[[], None]]]:
    """The address of a cluster of several nodes where one is asked for, and what kills a worker or a node of it."""
    if load.way != "nodes":
        yield None, lose_worker
        return
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    more = [nodes.add_node(num_cpus=1, include_dashboard=False) for _ in range(load.workers - 1)]
    try:
        yield nodes.address, lambda: lose_node(nodes, more)
    finally:
        nodes.shutdown()  # type: ignore[no-untyped-call]


def lose_node(cluster: Any, nodes: Sequence[Any]) -> None:
    """Kills all processes of a node that has a worker, at once, as when a machine loses power."""
    asking = {each.parent for each in processes.below() if each.is_worker}
    raylets = {node.all_processes["raylet"][0].process.pid: node for node in nodes}
    raylet = next(pid for pid in raylets if pid in asking)
    for pid in (*(each.pid for each in processes.below(raylet)), raylet):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    cluster.remove_node(raylets[raylet], allow_graceful=False)


def lose_worker() -> None:
    """Kills one of the processes that ask."""
    pid = max(each.pid for each in processes.below() if each.is_worker)
    os.kill(pid, signal.SIGKILL)
