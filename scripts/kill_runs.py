#!/usr/bin/env python3
"""Kills runs by SIGKILL at random moments and counts what that costs: replies lost, and replies paid for again.

    python scripts/kill_runs.py [--kills 1000] [--outputs 600] [--seconds 3600] [--seed 0]

A server on loopback, in this process, answers every question in a few milliseconds. ``promptpex run`` asks it and is
killed; the same command goes on from there, until the run is whole; then another run begins. Held after each kill,
on a copy of the store, and broken claims end the script with code 1:

- the store is sound, and every reply that an earlier kill left in it is still there, to the letter;
- every answer in the run's folder is in the store;
- what was sent and is not in the store was in flight: at most ``in_flight(concurrency)`` requests;
- nothing that is in the store is asked again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web
from bench_client import environment, write_project

from promptpex.llm.cache import MIN_ADMITTED

CONCURRENCIES = (4, 16, 32)
MOMENTS = {"while it starts": 0.15, "while it asks": 0.75, "when all is asked": 0.1}
"""When a run is killed, and how often."""
START_S = 1.5
"""Kills while a run starts come within so many seconds."""
DRAIN_S = 0.02
"""What a killed run had sent is received within so many seconds."""
STDERR_FILE = "stderr.txt"
"""What the latest command wrote to stderr."""
GIVE_UP_S = 120.0
"""Seconds after which a run that neither asks nor ends is a failure."""


@dataclass(slots=True)
class Tally:
    """The kills of one kind of moment.

    Attributes:
        kills: how many.
        kept: replies that were to be in the store: those of before, and those in the run's folder.
        lost: of these, how many were not, or were others.
        again: requests that were sent and not stored when the kill came, so that they are paid for again.
        most: of these, the most at one kill.
        beyond: of these, those that cannot have been in flight.
    """

    kills: int = 0
    kept: int = 0
    lost: int = 0
    again: int = 0
    most: int = 0
    beyond: int = 0


@dataclass(slots=True)
class Server:
    """Answers each question with a text of its own; counts the requests.

    Attributes:
        asked: the questions of each process, in order.
        process: the number of the process that is asking; it is its key, by which late requests are told apart.
        stored: the questions whose reply was in the store when that process began.
        requests: how many came, over all processes.
        wasted: of these, questions that were stored, or asked by the same process before.
    """

    rng: random.Random
    base: str = ""
    asked: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    process: int = 0
    stored: set[str] = field(default_factory=set)
    requests: int = 0
    wasted: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        question = (await request.json())["messages"][-1]["content"]
        asked = self.asked[request.headers["Authorization"]]
        self.wasted += question in asked or (asked is self.now and question in self.stored)
        asked.append(question)
        self.requests += 1
        self.came.set()
        await asyncio.sleep(self.rng.uniform(0.002, 0.008))
        message = {"role": "assistant", "content": reply_to(question)}
        usage = {"prompt_tokens": 20, "completion_tokens": 5}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return web.json_response({"model": "any", "choices": [choice], "usage": usage})

    @property
    def now(self) -> list[str]:
        """What the present process has asked."""
        return self.asked[f"Bearer {self.key}"]

    @property
    def key(self) -> str:
        return f"process-{self.process}"

    async def until(self, count: int) -> None:
        """Waits until the present process has asked so much."""
        while len(self.now) < count:
            self.came.clear()
            await self.came.wait()


def reply_to(question: str) -> str:
    """The one right reply."""
    return f"OK {hashlib.sha256(question.encode()).hexdigest()[:16]}"


def in_flight(concurrency: int) -> int:
    """Requests that may be on their way, from being handed over to being durable."""
    return max(MIN_ADMITTED, 2 * concurrency)


@contextlib.asynccontextmanager
async def serving(rng: random.Random) -> AsyncIterator[Server]:
    """The server, on a port of its own."""
    server = Server(rng)
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.base = "http://{}:{}/v1".format(*runner.addresses[0][:2])
    try:
        yield server
    finally:
        await runner.cleanup()


class Campaign:
    """Runs that are killed, one after another, in folders below ``folder``."""

    def __init__(self, folder: Path, server: Server, *, outputs: int, rng: random.Random) -> None:
        self.tallies = {moment: Tally() for moment in MOMENTS}
        self.problems: list[str] = []
        self.runs = 0
        self._folder = folder
        self._server = server
        self._outputs = outputs
        self._rng = rng

    async def go(self, kills: int, until: float) -> None:
        """So many kills, or fewer when the time is over; every run is brought to its end."""
        while not self.problems and self.killed < kills and time.monotonic() < until:
            here = self._folder / f"run{self.runs}"
            write_project(here, self._outputs)
            self.runs += 1
            self._server.stored = set()
            ended = False
            while not ended and not self.problems and self.killed < kills and time.monotonic() < until:
                ended = not await self._kill(here)
            if not self.problems:
                await self._finish(here)
            shutil.rmtree(here)

    @property
    def killed(self) -> int:
        return sum(tally.kills for tally in self.tallies.values())

    async def _kill(self, here: Path) -> bool:
        """Starts the command and kills it; False when it came to its end before that."""
        moment = self._rng.choices(list(MOMENTS), list(MOMENTS.values()))[0]
        concurrency = self._rng.choice(CONCURRENCIES)
        process = await self._started(here, concurrency)
        moment_comes = asyncio.create_task(self._moment(moment))
        ends = asyncio.create_task(process.wait())
        await asyncio.wait({moment_comes, ends}, timeout=GIVE_UP_S, return_when=asyncio.FIRST_COMPLETED)
        if not moment_comes.done() and not ends.done():
            self._failed(here, f"a run neither asked nor ended within {GIVE_UP_S:g} s")
        moment_comes.cancel()
        if ends.done():
            if process.returncode != 0:
                self._failed(here, f"a run ended with code {process.returncode}")
            return False
        process.kill()
        await ends
        await asyncio.sleep(DRAIN_S)
        self._count(here, self.tallies[moment], in_flight(concurrency))
        return True

    async def _started(self, here: Path, concurrency: int) -> asyncio.subprocess.Process:
        self._server.process += 1
        with (here / STDERR_FILE).open("wb") as stderr:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "promptpex", "run", "prompt.md", "-q", "--models", "openai/any"),
                *("--api-base", self._server.base, "--concurrency", str(concurrency)),
                cwd=here,
                env={**environment(), "PROMPTPEX_API_KEY": self._server.key},
                stdout=asyncio.subprocess.DEVNULL,
                stderr=stderr,
            )

    def _failed(self, here: Path, what: str) -> None:
        stderr = (here / STDERR_FILE).read_text(encoding="utf-8", errors="replace")[-500:]
        self.problems.append(f"{what}: {stderr}" if stderr else what)

    async def _moment(self, moment: str) -> None:
        """Waits for the moment of the kill."""
        left = self._outputs - len(self._server.stored)
        if moment == "while it starts":
            await asyncio.sleep(self._rng.uniform(0, START_S))
        elif moment == "while it asks":
            await self._server.until(self._rng.randint(1, max(1, min(left, 60))))
            await asyncio.sleep(self._rng.uniform(0, 0.03))
        else:
            await self._server.until(left)
            await asyncio.sleep(self._rng.uniform(0, 1.0))

    def _count(self, here: Path, tally: Tally, most: int) -> None:
        kept = stored(here)
        to_be_kept = {reply_to(question) for question in self._server.stored} | set(answers_shown(here))
        now = {question for question, reply in kept.items() if reply == reply_to(question)}
        unstored = set(self._server.now) - now
        tally.kills += 1
        tally.kept += len(to_be_kept)
        tally.lost += len(to_be_kept - set(kept.values()))
        tally.again += len(unstored)
        tally.most = max(tally.most, len(unstored))
        tally.beyond += max(0, len(unstored) - most)
        self._server.stored = now

    async def _finish(self, here: Path) -> None:
        """The same command to its end: it asks what is missing and nothing else, and reports on everything."""
        left = self._outputs - len(stored(here))
        process = await self._started(here, max(CONCURRENCIES))
        code = await process.wait()
        if code != 0 or len(self._server.now) != left:
            self._failed(here, f"the last run ended with code {code} and asked {len(self._server.now)} of {left}")
        if len(stored(here)) != self._outputs or len(set(answers_shown(here))) != self._outputs:
            self._failed(here, f"the last run is not whole: {len(stored(here))} stored, {self._outputs} asked for")


def stored(here: Path) -> dict[str, str]:
    """Question to reply in the store, read from a copy: what a kill left is for the next run alone to mend.

    Raises:
        sqlite3.DatabaseError: the store is damaged.
    """
    folder = here / ".promptpex"
    if not (folder / "store.db").exists():
        return {}
    with tempfile.TemporaryDirectory(dir=here) as copy:
        for name in ("store.db", "store.db-wal"):
            if (folder / name).exists():
                shutil.copy(folder / name, Path(copy) / name)
        with contextlib.closing(sqlite3.connect(Path(copy) / "store.db")) as connection:
            if connection.execute("PRAGMA integrity_check").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("the store is damaged")
            if not connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'replies'").fetchone()[0]:
                return {}
            rows = connection.execute("SELECT request, completion FROM replies").fetchall()
    return {json.loads(asked)["messages"][-1]["content"]: json.loads(reply)["text"] for asked, reply in rows}


def answers_shown(here: Path) -> list[str]:
    """The answers in the run's folder; the last line may be cut."""
    files = list(here.glob("results/*/*/outputs.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines(keepends=True)]
    return [str(json.loads(line)["text"]) for line in lines if line.endswith("\n")]


def table(campaign: Campaign, server: Server) -> str:
    """The tally in Markdown, a row per kind of moment and the sum."""
    rows = dict(campaign.tallies)
    each = rows.values()
    rows["all"] = Tally(
        sum(one.kills for one in each),
        sum(one.kept for one in each),
        sum(one.lost for one in each),
        sum(one.again for one in each),
        max(one.most for one in each),
        sum(one.beyond for one in each),
    )
    heads = ("killed", "kills", "replies to be kept", "lost", "paid again", "most at one kill", "not in flight")
    lines = [f"| {' | '.join(heads)} |", "| --- " * len(heads) + "|"]
    lines += [
        f"| {name} | {one.kills:,} | {one.kept:,} | {one.lost} | {one.again:,} | {one.most} | {one.beyond} |"
        for name, one in rows.items()
    ]
    summary = f"{campaign.runs} runs, {server.requests:,} requests; {server.wasted} asked for what the store held."
    return "\n".join([*lines, "", summary])


async def campaign_of(args: argparse.Namespace) -> int:
    rng = random.Random(args.seed)
    until = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory(prefix="promptpex-kills-") as folder:
        async with serving(rng) as server:
            campaign = Campaign(Path(folder), server, outputs=args.outputs, rng=rng)
            await campaign.go(args.kills, until)
    print(table(campaign, server))
    for problem in campaign.problems:
        print(problem, file=sys.stderr)
    broken = campaign.problems or server.wasted or any(one.lost or one.beyond for one in campaign.tallies.values())
    return 1 if broken else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--outputs", type=int, default=600, help="outputs of a run")
    parser.add_argument("--seconds", type=float, default=3600.0, help="no kill begins after so many")
    parser.add_argument("--seed", type=int, default=0)
    sys.exit(asyncio.run(campaign_of(parser.parse_args())))


if __name__ == "__main__":
    main()
