#!/usr/bin/env python3
"""Hostile input for every reader, and hostile command lines for every command; reproducible, and offline.

    python scripts/fuzz.py --inputs 1000000 --commands 2000     # the whole; some hours at low priority
    python scripts/fuzz.py --inputs 50000 --first 150000        # a part of it, to be added to others
    python scripts/fuzz.py --only 'input 123456'                # one of them once more, with its traceback
    python scripts/fuzz.py --inputs 1000000 --of schemas        # of these only what one reader is given

An input is made of the seed and its number alone. It may take 20 s of CPU or 120 s altogether, a command line 60 s or
240 s; the longest that one check, template or reply may take by ``docs/security.md`` is 10 s. The exit code is 1 if
there was a traceback, a hang, an "internal error" or an exit code that the README does not know.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzzing import readers, stages, watch
from fuzzing.commands import Commands
from fuzzing.making import Maker

INPUT_LIMITS = (20.0, 120.0)
"""Seconds of CPU, and seconds, that one input may take."""
COMMAND_LIMITS = (60.0, 240.0)
LAST_RESORT_S = 600
"""After so long in one call of C, which no signal ends, the process prints where it is and leaves."""
STAGES_SHARE = 0.12
"""Share of the inputs that are replies to stages."""


def main() -> int:
    """Runs what the arguments say, prints the tally, and gives the exit code."""
    parser = argparse.ArgumentParser(description="Hostile input for every reader and every command.")
    parser.add_argument("--inputs", type=int, default=0, help="inputs in process")
    parser.add_argument("--commands", type=int, default=0, help="command lines")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one of them: 'input N' or 'command N'")
    parser.add_argument("--of", action="append", help="only the inputs of this reader, as the tally names it")
    parser.add_argument("--json", action="store_true", help="the tally as JSON")
    given = parser.parse_args()
    tally = watch.Tally()
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        os.chdir(place)
        try:
            for kind, number in _numbers(given.inputs, given.commands, given.first, given.only):
                faulthandler.dump_traceback_later(LAST_RESORT_S, exit=True)
                if kind == "command":
                    _command(tally, given.seed, number, Path(place))
                else:
                    _input(tally, given.seed, number, Path(place), given.of)
        finally:
            faulthandler.cancel_dump_traceback_later()
            Commands.close()
            os.chdir(here)
    print(watch.tally_text(tally, as_json=given.json))
    return 1 if tally.findings.total() else 0


def _numbers(inputs: int, commands: int, first: int, only: str | None) -> Iterator[tuple[str, int]]:
    if only:
        kind, _, number = only.partition(" ")
        yield kind, int(number)
        return
    yield from (("input", number) for number in range(first, first + inputs))
    yield from (("command", number) for number in range(first, first + commands))


def _input(tally: watch.Tally, seed: int, number: int, place: Path, of: list[str] | None) -> None:
    rng = random.Random(f"{seed}:{number}")
    kind, reader = _reader(rng)
    if of and kind not in of:
        return
    folder = place / "input"
    folder.mkdir(exist_ok=True)
    readers.clean(folder)
    maker = Maker(rng)

    def work() -> None:
        with watch.limited(*INPUT_LIMITS):
            reader(maker, folder)

    watch.watched(tally, f"input {number}", kind, work, readers.GOOD_ENDS)


def _reader(rng: random.Random) -> tuple[str, readers.Reader]:
    if rng.random() < STAGES_SHARE:
        name = rng.choice(list(stages.STAGES))
        return f"replies: {name}", stages.stage_reader(name)
    reader = rng.choices(list(readers.READERS), list(readers.READERS.values()))[0]
    return reader.__name__.replace("_", " "), reader


def _command(tally: watch.Tally, seed: int, number: int, place: Path) -> None:
    commands = Commands.opened(place, seed)

    def work() -> None:
        with watch.limited(*COMMAND_LIMITS):
            commands.run(number, tally)

    watch.watched(tally, f"command {number}", "", work, ())


if __name__ == "__main__":
    sys.exit(main())
