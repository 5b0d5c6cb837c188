#!/usr/bin/env python3
"""Runs inspect_ai itself on the tasks that we export, and ourselves on the same suites, and compares every verdict.

    python scripts/agree_with_inspect.py --install     # by pip, at a pinned version, into an environment of its own
    python scripts/agree_with_inspect.py [SUITE ...]   # exit code 1 where verdicts differ

Both programs ask the same server on loopback. The logs of Inspect are then imported and judged, with the same verdicts.
A test runs a part of it where inspect_ai is installed (``PROMPTPEX_INSPECT`` names another environment than the usual
one).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from agreement.suites import answers_for, suites  # noqa: E402
from inspect_agreement.compare import agreements, record  # noqa: E402
from inspect_agreement.program import Inspect, default_folder  # noqa: E402

RECORDED = ROOT / "tests" / "data" / "inspect" / "haiku"
"""A suite of whose runs in Inspect logs are kept."""
TITLES = ('{"title": "The Spring Pond", "mood": "calm"}', '{"title": "First Snow of this Winter", "mood": "sad"}', "no",
          '{"title": "Autumn", "mood": "merry"}', '{"mood": "calm"}', '```json\n{"title": "x"}\n```', "Summer, winter",
          '{"title": "Winter wind", "mood": "sad"}', "[1]")  # fmt: skip


def main() -> int:
    """Prints the figures; 1 where verdicts differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--install", action="store_true", help="install inspect_ai by pip first")
    parser.add_argument("--record", action="store_true", help="keep logs for the tests, and compare nothing")
    parser.add_argument("--folder", type=Path, default=default_folder(), help="the environment it is installed in")
    parser.add_argument("names", nargs="*", help="suites to compare [all]")
    arguments = parser.parse_args()
    program = Inspect(arguments.folder)
    if arguments.install:
        program.install()
    if not program.is_there:
        print(f"inspect_ai is not in {arguments.folder}; add --install", file=sys.stderr)
        return 2
    if arguments.record:
        with tempfile.TemporaryDirectory() as work:
            record(program, RECORDED, Path(work), TITLES)
        return 0
    chosen = [suite for suite in suites() if not arguments.names or suite.name in arguments.names]
    texts = tuple(dict.fromkeys(text for suite in chosen for text in answers_for(suite)))
    total = different = 0
    with tempfile.TemporaryDirectory() as work:
        for agreement in agreements(program, chosen, Path(work), texts):
            print(agreement.line(), *agreement.different, sep="\n  ", flush=True)
            total, different = total + len(agreement.theirs), different + len(agreement.different)
    print(f"{total} verdicts, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
