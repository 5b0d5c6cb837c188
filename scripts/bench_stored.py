#!/usr/bin/env python3
"""What a run takes whose outputs are all stored, and its report: ``python scripts/bench_stored.py [--mock PATH]``.

Fills a store from the measuring server of ``scripts/bench_client.py`` on loopback, and then runs and reports three
times, each in a process of its own; the best of three counts. The aims: 198 outputs in 2 s and their report in 1 s;
10,000 outputs in 4 s of CPU and their report in 3 s of CPU. Ends with code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from bench_client import MOCK, server, timed, write_project

CHECKS = (
    "{kind: contains, value: OK}",
    "{kind: regex, value: '^[A-Z]+$'}",
    "{kind: javascript, value: output.length < 9}",
)
SMALL, LARGE = "seconds", "CPU seconds"
AIMS = {("run", SMALL): 2.0, ("report", SMALL): 1.0, ("run", LARGE): 4.0, ("report", LARGE): 3.0}


def main(mock: Path) -> int:
    """Prints a line per command; 1 if one took longer than it may."""
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    print("| outputs | command | seconds | of them CPU |\n|---|---|---|---|")
    missed = measured(mock, 66, "openai/a,openai/b,openai/c", CHECKS, SMALL)
    missed += measured(mock, 10_000, "openai/a", CHECKS[:1], LARGE)
    for what in missed:
        print(f"missed: {what}")
    return 1 if missed else 0


def measured(mock: Path, cases: int, models: str, checks: tuple[str, ...], counts: str) -> list[str]:
    """Prints what running and reporting take, and gives the aims that are missed."""
    missed = []
    outputs = cases * len(models.split(","))
    with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as place, server(mock, 1) as base:
        folder = Path(place)
        write_project(folder, cases, checks)
        run = ["run", "prompt.md", "--models", models, "--api-base", base, "--judge", "none", "--quiet"]
        timed(run, folder)
        for command in (run, ["report", "--quiet"]):
            seconds, cpu_s = map(min, zip(*(timed(command, folder) for _ in range(3)), strict=True))
            print(f"| {outputs:,} | {command[0]} | {seconds:.2f} | {cpu_s:.2f} |", flush=True)
            if (seconds if counts == SMALL else cpu_s) > AIMS[command[0], counts]:
                missed.append(f"{command[0]} of {outputs:,} outputs in {AIMS[command[0], counts]:.0f} {counts}")
    return missed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mock", type=Path, default=MOCK, help="the server that answers")
    sys.exit(main(parser.parse_args().mock))
