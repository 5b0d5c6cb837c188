#!/usr/bin/env python3
"""Runs promptfoo itself on what we export, and ourselves on what we import, and compares every verdict.

    python scripts/agree_with_promptfoo.py --install   # by npm, at pinned versions, into a folder of its own
    python scripts/agree_with_promptfoo.py             # all suites; exit code 1 where a difference has no reason

Both programs ask the same server on loopback, which answers the same chat the same way. Tests run a part
of it where promptfoo is installed (``PROMPTPEX_PROMPTFOO`` names another folder than the usual one).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from agreement.answers import AnswerServer  # noqa: E402
from agreement.suites import ODD, answers_for, suites  # noqa: E402
from promptfoo_agreement.compare import Agreement, exported, imported, record, shown  # noqa: E402
from promptfoo_agreement.program import Promptfoo, default_folder  # noqa: E402

CORPUS = ROOT / "tests" / "data" / "promptfoo"
"""Configurations of promptfoo, a folder each."""


def configurations() -> list[Path]:
    """The corpus of configurations."""
    return sorted(path.parent for path in CORPUS.glob("*/promptfooconfig.yaml"))


def agreements(program: Promptfoo, work: Path, chosen: Callable[[str], bool]) -> Iterator[Agreement]:
    """Every suite and configuration, one after the other."""
    for suite in filter(lambda path: chosen(path.name), suites()):
        with AnswerServer(answers_for(suite)) as server:
            yield exported(program, suite, work, server)
    for folder in filter(lambda path: chosen(path.name), configurations()):
        with AnswerServer(ODD) as server:
            yield imported(program, folder, work, server)


def main() -> int:
    """Prints the figures; 1 where a difference has no reason."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--install", action="store_true", help="install promptfoo by npm first")
    parser.add_argument("--record", action="store_true", help="keep promptfoo's verdicts beside the corpus")
    parser.add_argument("--folder", type=Path, default=default_folder(), help="where it is installed")
    parser.add_argument("names", nargs="*", help="suites to compare [all]")
    arguments = parser.parse_args()
    program = Promptfoo(arguments.folder)
    if arguments.install:
        program.install()
    if not program.is_there:
        print(f"promptfoo is not in {arguments.folder}; add --install", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as work:
        names = set(arguments.names)
        every = list(agreements(program, Path(work), lambda name: not names or name in names))
    for agreement in every:
        if arguments.record and agreement.recorded:
            record(agreement, CORPUS / agreement.name)
    for line in shown(every):
        print(line)
    return 1 if any(agreement.unexplained for agreement in every) else 0


if __name__ == "__main__":
    sys.exit(main())
