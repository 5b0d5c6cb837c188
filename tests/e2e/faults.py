"""Servers that fail by script, runs of the real command against them, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.e2e.command import Done, benchmark, in_process
from tests.servers import ScriptedServer, Seen, Step, completion_body

GOOD = Step(body=completion_body("NN"))
MODEL = "openai/any"

Fault = Callable[[int, Seen], Step | None]
"""What goes wrong with the n-th request, from 0; None = it is answered."""


@dataclass(slots=True)
class Script:
    """Answers every request but those that ``fault`` spoils, and counts the answers per question.

    Attributes:
        paid: how often each question was answered whole.
        sent: requests that came.
    """

    fault: Fault = lambda number, seen: None
    good: Step = GOOD
    paid: Counter[str] = field(default_factory=Counter)
    sent: int = 0

    def __call__(self, seen: Seen) -> Step:
        number, self.sent = self.sent, self.sent + 1
        spoiled = self.fault(number, seen)
        if spoiled is not None:
            return spoiled
        self.paid[json.dumps([seen.body["model"], seen.body["messages"]])] += 1
        return self.good

    @property
    def twice(self) -> int:
        """Questions that were answered more than once."""
        return sum(count > 1 for count in self.paid.values())


def about(seen: Seen, text: str) -> bool:
    """Whether a request's prompt holds this text."""
    return any(text in message["content"] for message in seen.body["messages"])


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with a small suite, its store and its results."""

    folder: Path
    prompt: Path
    cells: int

    @property
    def store(self) -> Path:
        return self.folder / "store.db"

    def arguments(self, *more: str, verb: str = "run") -> list[str]:
        """A command on this suite, with the store and, where it takes them, the results in this folder."""
        results = [] if verb in ("estimate", "generate") else ["--results", str(self.folder / "results")]
        return [verb, str(self.prompt), "--store", str(self.store), *results, *more]

    def rows(self) -> list[dict[str, str]]:
        """The rows of ``results.csv``."""
        (path,) = self.folder.glob("results/*/*/results.csv")
        csv.field_size_limit(2**30)
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def manifest(self) -> dict[str, Any]:
        """The run's manifest."""
        (path,) = self.folder.glob("results/*/*/manifest.json")
        manifest = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(manifest, dict)
        return manifest

    def stored(self) -> dict[str, str]:
        """The replies in the store: request id to completion."""
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            return dict(connection.execute("SELECT id, completion FROM replies").fetchall())


def place(folder: Path, *, cells: int = 12, name: str = "speech-tag") -> Place:
    """A copy of a benchmark with its first cases."""
    return Place(folder, benchmark(name, folder, cases=cells), cells)


async def command(arguments: list[str]) -> Done:
    """The command line in this process, in a thread beside the server; its output and exit code."""
    return await asyncio.to_thread(in_process, *arguments, cwd=Path())


async def until(holds: Callable[[], bool], *, seconds: float = 300) -> None:
    """Waits until something holds."""
    for _ in range(int(seconds / 0.02)):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"it did not come about within {seconds:g} s")


def reasons(rows: list[dict[str, str]]) -> dict[str, int]:
    """Why outputs are unscored, as ``results.csv`` says."""
    return dict(Counter(row["unscored"] for row in rows if row["verdict"] == "unscored"))


def sound(here: Place, done: Done, rows: list[dict[str, str]]) -> None:
    """What holds after any run: every cell is there, scored or labelled; what is scored is stored; no traceback."""
    assert "Traceback" not in done.err + done.out
    assert "internal error" not in done.err
    assert len(rows) == here.cells
    for row in rows:
        assert row["verdict"] in ("pass", "fail", "unscored")
        assert (row["verdict"] == "unscored") == bool(row["unscored"])
        assert not row["error"] or (row["unscored"] == row["error"] and row["message"])
    scored = {row["request"] for row in rows if row["verdict"] != "unscored"}
    assert scored <= set(here.stored())


def nothing_kept(here: Place, done: Done, expected: Mapping[str, int]) -> None:
    """What holds after a run without an answer: the screen says why, and there is no run folder."""
    assert "Traceback" not in done.err + done.out
    assert f"{here.cells} output{'s' * (here.cells > 1)}: {counts_text(expected)}" in done.err
    assert "Report: " not in done.out
    assert not list(here.folder.glob("results/*"))


async def campaign(
    here: Place,
    server: ScriptedServer,
    fault: Fault,
    *flags: str,
    expected: Mapping[str, int],
    code: int,
    good: Step = GOOD,
    url: str | None = None,
) -> Done:
    """A run with a fault and one without: all is labelled by its reason, nothing is lost, nothing is paid twice."""
    script = Script(fault, good)
    server.otherwise = script
    asked = here.arguments("--models", f"{MODEL}?api_base={url or server.url + '/v1'}", *flags)
    done = await command(asked)
    if sum(expected.values()) == here.cells:
        nothing_kept(here, done, expected)
    else:
        sound(here, done, here.rows())
        assert reasons(here.rows()) == expected, done.err
    assert done.code == code, done.err
    answered = here.cells - sum(expected.values())
    before = here.stored()
    assert len(before) == answered
    if url is not None:
        return done
    script.fault = lambda number, seen: None
    sent = script.sent
    healed = await command(here.arguments("--models", f"{MODEL}?api_base={server.url}/v1"))
    assert healed.code == 0, healed.err
    rows = here.rows()
    sound(here, healed, rows)
    assert reasons(rows) == {}
    assert before.items() <= here.stored().items()
    assert script.sent - sent == here.cells - answered
    assert script.twice == 0
    return done


def counts_text(expected: Mapping[str, int]) -> str:
    """Reasons and counts in words."""
    return ", ".join(f"{count} {reason}" for reason, count in expected.items())


class Mortal(ScriptedServer):
    """A scripted server that dies and comes back at the same address."""

    async def die(self) -> None:
        """Closes the port and every connection."""
        assert self._runner is not None
        await self._runner.cleanup()

    async def revive(self) -> None:
        """Listens again where it did."""
        port = int(self.url.rpartition(":")[2])
        self._runner = web.AppRunner(self.application(), shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port, reuse_address=True).start()
