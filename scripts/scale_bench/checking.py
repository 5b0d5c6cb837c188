"""Checking rows of logs: rows a second, CPU time per row, and the memory of the command, on each engine."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scale_bench import processes

ROOT = Path(__file__).resolve().parents[2]
CHECKS = {
    "plain": "- {type: contains, value: hello}\n- {type: regex, value: '^[0-9]+ '}\n"
    "- {type: word-count, value: {max: 9}}\n",
    "script": "- type: javascript\n  value: |\n    let sum = 0; for (let at = 0; at < 2e5; at++) sum += at % 7;\n"
    "    return output.length > 8 && sum > 0\n",
}
"""Assertions that take microseconds, and a script that takes a quarter of a millisecond."""
NODES = 3
ON_LOOPBACK = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}


@dataclass(frozen=True, slots=True)
class Load:
    """What is measured: so many rows by some assertions, in one way.

    Attributes:
        way: ``local``, ``ray`` on this machine, or ``nodes``, a cluster of three nodes with a CPU each on this machine.
    """

    way: str
    workers: int
    checks: str
    rows: int
    folder: str


def add_parser(commands: Any) -> None:
    """The subcommand ``check``."""
    parser = commands.add_parser("check", help=__doc__)
    parser.add_argument("--rows", type=int, default=40_000, help="rows of each measurement of speed")
    parser.add_argument("--memory", type=int, nargs="*", default=[100_000, 1_000_000], help="rows of those of memory")
    parser.add_argument("--turns", type=int, default=3, help="how often all ways are measured in turn")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Prints the tables."""
    if args.one:
        print(json.dumps(one(Load(**json.loads(args.one)))))
        return
    with tempfile.TemporaryDirectory() as folder:
        ways = [("local", 1), ("local", 2), ("ray", 1), ("ray", 2), ("nodes", NODES)]
        for checks in CHECKS:
            print(f"\n## {args.rows:,} rows, {checks} assertions\n")
            _speed([Load(way, workers, checks, args.rows, folder) for way, workers in ways], args.turns)
        print("\n## Memory\n\n| engine | rows | MB of the command | rows/s |\n|---|---|---|---|")
        for rows in args.memory:
            for way, workers in (("local", 1), ("local", 2), ("ray", 2)):
                figures = _measured(Load(way, workers, "plain", rows, folder))
                print(
                    f"| {way}, {workers} | {rows:,} | {figures['mb']:.0f} | {rows / figures['seconds']:,.0f} |",
                    flush=True,
                )


def _speed(loads: list[Load], turns: int) -> None:
    """A row for each way: the median of the turns, in which they alternate."""
    found: dict[Load, list[dict[str, Any]]] = {load: [] for load in loads}
    for _ in range(turns):
        for load in loads:
            found[load].append(_measured(load))
    assert len({one["sha256"] for each in found.values() for one in each}) == 1, "all engines print the same"
    print("| engine | workers | start: s | rows/s | times as fast | CPU per row: µs |\n|---|---|---|---|---|---|")
    first = statistics.median(one["seconds"] for one in found[loads[0]])
    for load, figures in found.items():
        start, seconds, cpu = (statistics.median(one[name] for one in figures) for name in ("start", "seconds", "cpu"))
        cells = (load.way, load.workers, f"{start:.1f}", f"{load.rows / seconds:,.0f}", f"{first / seconds:.2f}")
        print(f"| {' | '.join(map(str, cells))} | {cpu / load.rows * 1e6:.0f} |", flush=True)


def _measured(load: Load) -> dict[str, Any]:
    """The figures of one measurement, in a process of its own."""
    command = [sys.executable, str(ROOT / "scripts" / "bench_scale.py"), "check", "--one", json.dumps(asdict(load))]
    quiet = {
        **os.environ,
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**quiet, "PYTHONPATH": str(ROOT)})
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def one(load: Load) -> dict[str, Any]:
    """Checks the rows in this process; what it takes to start an engine is measured apart."""
    from promptpex.cli.main import run_cli
    from promptpex.engines.ray_cluster import RayCluster

    folder = Path(load.folder)
    checks, rows, out = folder / f"{load.checks}.yaml", _rows(folder, load.rows), folder / f"out{os.getpid()}.jsonl"
    checks.write_text(CHECKS[load.checks], encoding="utf-8")
    engine = (
        ["--workers", str(load.workers)] if load.way == "local" else ["--engine", "ray", "--workers", str(load.workers)]
    )
    begun = time.monotonic()
    with _nodes() if load.way == "nodes" else contextlib.nullcontext() as address, RayCluster(address) as cluster:
        if load.way != "local":
            cluster.open()
            engine += ["--address", address] if address else []
        before, start = _cpu(), time.monotonic()
        run_cli(["check", str(rows), "--assertions", str(checks), "--json", "-q", "--out", str(out), *engine])
        seconds, cpu = time.monotonic() - start, _cpu() - before
    with out.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    out.unlink()
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"start": start - begun, "seconds": seconds, "cpu": cpu, "mb": mb, "sha256": digest}


def _rows(folder: Path, count: int) -> Path:
    path = folder / f"{count}.jsonl.gz"
    if not path.exists():
        with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
            for number in range(count):
                row = {
                    "id": number,
                    "output": f"{number} hello, here is what you asked for",
                    "vars": {"user": number % 97},
                }
                file.write(json.dumps(row) + "\n")
    return path


def _cpu() -> float:
    """Seconds of CPU time of this process and of all that it has started, those that have ended too."""
    mine = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in mine) + sum(one.cpu_s for one in processes.below())


@contextlib.contextmanager
def _nodes() -> Iterator[str]:
    """A cluster of three nodes on this machine, and its address."""
    from ray.cluster_utils import Cluster

    plain: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 100_000_000}
    nodes = Cluster(initialize_head=True, head_node_args={**plain, "num_cpus": 1})
    for _ in range(NODES - 1):
        nodes.add_node(num_cpus=1, **plain)
    try:
        yield nodes.address
    finally:
        nodes.shutdown()  # type: ignore[no-untyped-call]
