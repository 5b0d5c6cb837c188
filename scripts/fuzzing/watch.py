"""What comes of an input: a good end, an error that nobody named, or no end within the limit; counted and told."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

KINDS = ("tracebacks", "hangs", "errors of promptpex itself", "broken promises")


class Hang(BaseException):
    """The limit of an input has passed. No ``Exception``: nothing that reads may catch it."""


@dataclass(slots=True)
class Tally:
    """What was tried, and what came of it.

    Attributes:
        tried: inputs by reader, command lines by command.
        refused: those that ended in an error of promptpex's own tree, or a command's exit code above 0.
        findings: their number by kind.
        slowest: seconds of CPU of the slowest one, and its name.
    """

    tried: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")
    seen: Counter[str] = field(default_factory=Counter)

    def find(self, kind: str, name: str, detail: str, place: str) -> None:
        """Counts a finding, and prints the first three of each place in full."""
        self.findings[kind] += 1
        self.seen[place] += 1
        if self.seen[place] <= 3:
            sys.stderr.write(f"{kind}: {name}\n{detail}\n")
            sys.stderr.flush()

    def timed(self, name: str, seconds: float) -> None:
        """Remembers the slowest."""
        self.slowest = max(self.slowest, (seconds, name))

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {
            "tried": dict(self.tried),
            "refused": dict(self.refused),
            "findings": {kind: self.findings[kind] for kind in KINDS},
            "slowest": list(self.slowest),
        }

    def lines(self) -> Iterator[str]:
        """A Markdown table, and the sums."""
        yield "| what | tried | of these refused |"
        yield "|---|---:|---:|"
        for name, count in self.tried.items():
            yield f"| {name} | {count:,} | {self.refused[name]:,} |"
        yield f"| all | {self.tried.total():,} | {self.refused.total():,} |"
        yield ""
        yield ", ".join(f"{kind}: {self.findings[kind]}" for kind in KINDS)
        yield f"slowest: {self.slowest[0]:.2f} s of CPU, {self.slowest[1]}"


@contextlib.contextmanager
def limited(cpu_s: float, wall_s: float) -> Iterator[None]:
    """Ends what is inside by ``Hang`` after so much CPU time of this process, or so much time altogether."""

    def over(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = [signal.signal(number, over) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


def watched(tally: Tally, name: str, kind: str, work: Callable[[], object], good: tuple[type[Exception], ...]) -> None:
    """Does ``work`` and counts what comes of it under ``kind``, if it has one; errors of ``good`` are good ends."""
    if kind:
        tally.tried[kind] += 1
    start = time.process_time()
    try:
        work()
    except good:
        tally.refused[kind] += 1
    except Hang:
        tally.find("hangs", name, traceback.format_exc(), f"hang {kind}")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        tally.find("tracebacks", name, traceback.format_exc(), f"{last.filename}:{last.lineno} {type(error).__name__}")
    tally.timed(name, time.process_time() - start)


def tally_text(tally: Tally, *, as_json: bool) -> str:
    """The tally for people or for programs."""
    return json.dumps(tally.to_dict()) if as_json else "\n".join(tally.lines())
