#!/usr/bin/env python3
"""Measures what goes beyond one process and one machine. Prints tables with ratios within one run, asserts nothing.

    python scripts/bench_scale.py check [--rows N] [--memory N ...] [--turns N]
    python scripts/bench_scale.py asking [--count N] [--turns N]
    python scripts/bench_scale.py store [--clients 1,2,4,8] [--turns N] [--quick]
    python scripts/bench_scale.py run [--outputs N ...] [--turns N] [--again]
    python scripts/bench_scale.py report [--outputs N ...] [--at-once N] [--parquet]

``docs/scale.md`` has what it printed, and what follows from it.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]

from scale_bench import asking, checking, reporting, running, store  # noqa: E402

PARTS = (asking, store, checking, running, reporting)


def main() -> None:
    """Runs the part that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for part in PARTS:
        part.add_parser(commands)
    args = parser.parse_args()
    if not getattr(args, "one", None):
        print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the start")
    args.run(args)


if __name__ == "__main__":
    main()
