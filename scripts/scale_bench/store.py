"""Puts, gets and claims a second, with 1 to 8 client processes: PostgreSQL beside SQLite.

Every client is a process with 64 tasks that each put, get or claim one after the other, as those of a run do. A reply
has 2,000 characters, and so has its request; both stores sync to the same disk. The clients of a turn begin each kind
together.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier

TASKS = 64
TEXT = "y" * 2000
KINDS = ("puts", "gets", "claims")
STORES = ("SQLite", "PostgreSQL")
READY_S = 120


@dataclass(frozen=True)
class Figures:
    """What one client did of a kind: how many, in so many seconds, with so much CPU time of its own."""

    kind: str
    count: int
    seconds: float
    cpu_s: float


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the part and its options."""
    parser = commands.add_parser("store", help="puts, gets and claims: PostgreSQL beside SQLite, 1 to 8 clients")
    parser.set_defaults(run=run)
    parser.add_argument("--clients", default="1,2,4,8", help="numbers of client processes")
    parser.add_argument("--seconds", type=float, default=1.5, help="for each kind and turn")
    parser.add_argument("--turns", type=int, default=3, help="the median of so many is shown")
    parser.add_argument("--quick", action="store_true", help="one turn of half a second")


def run(args: argparse.Namespace) -> None:
    """Measures, and prints a table for each kind."""
    turns, seconds = (1, 0.5) if args.quick else (args.turns, args.seconds)
    clients = [int(part) for part in args.clients.split(",")]
    measured: dict[tuple[str, int, str], list[list[Figures]]] = {}
    with tempfile.TemporaryDirectory() as folder, server() as address:
        for turn in range(turns):
            for number in clients:
                for store in STORES:
                    place = f"{folder}/{turn}-{number}.db" if store == "SQLite" else address()
                    for figures in _together(place, number, seconds):
                        measured.setdefault((store, number, figures[0].kind), []).append(figures)
    for kind in KINDS:
        _print(kind, clients, measured)


@contextlib.contextmanager
def server() -> Iterator[Callable[[], str]]:
    """A PostgreSQL server that syncs to the disk of the temporary files; gives addresses of new stores."""
    from tests.postgres import missing, own_cluster

    why = missing()
    if why is not None:
        raise SystemExit(why)
    with own_cluster(durable=True, max_connections="100", shared_buffers="256MB") as cluster:
        yield cluster.address


def _together(place: str, clients: int, seconds: float) -> list[list[Figures]]:
    """What each client did, by kind."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(clients)
    results = context.SimpleQueue()
    processes = [
        context.Process(target=_client, args=(place, number, seconds, barrier, results)) for number in range(clients)
    ]
    for process in processes:
        process.start()
    each = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return [[figures[at] for figures in each] for at in range(len(KINDS))]


def _client(place: str, number: int, seconds: float, barrier: Barrier, results: object) -> None:
    results.put(asyncio.run(_measured(place, number, seconds, barrier)))  # type: ignore[attr-defined]


async def _measured(place: str, number: int, seconds: float, barrier: Barrier) -> list[Figures]:
    from promptpex.core.records import Completion, Message, Request
    from promptpex.store import open_store

    store = await open_store(place, spool=tempfile.gettempdir())
    answer = Completion(text=TEXT, finish_reason="stop")
    stored: list[str] = []
    drawn = random.Random(number)
    asked = (Request(model="m", messages=(Message(role="user", content=f"{number} {n} {TEXT}"),)) for n in range(10**9))

    async def put() -> None:
        request = next(asked)
        request_id = request.id
        await store.put(request_id, request, answer)
        stored.append(request_id)

    async def get() -> None:
        await store.get(drawn.choice(stored))

    claimed = (f"{number:032x}{n:032x}" for n in range(10**9))

    async def claim() -> None:
        await store.claim(next(claimed))

    figures = []
    try:
        for kind, do in zip(KINDS, (put, get, claim), strict=True):
            await asyncio.to_thread(barrier.wait, READY_S)
            figures.append(await _timed(kind, do, seconds))
        await asyncio.to_thread(barrier.wait, READY_S)
    finally:
        await store.close()
    return figures


async def _timed(kind: str, do: Callable[[], Awaitable[None]], seconds: float) -> Figures:
    """So many tasks that do it until the time is over."""
    count = 0
    began, cpu_began = time.perf_counter(), time.process_time()

    async def work() -> None:
        nonlocal count
        while time.perf_counter() - began < seconds:
            await do()
            count += 1
            if count % TASKS == 0:
                await asyncio.sleep(0)

    await asyncio.gather(*(work() for _ in range(TASKS)))
    return Figures(kind, count, time.perf_counter() - began, time.process_time() - cpu_began)


def _print(kind: str, clients: list[int], measured: dict[tuple[str, int, str], list[list[Figures]]]) -> None:
    print(f"\n| {kind} a second | SQLite | PostgreSQL | of SQLite | CPU ms each, SQLite | PostgreSQL |")
    print("|---|---|---|---|---|---|")
    for number in clients:
        rates, cpu = {}, {}
        for store in STORES:
            turns = measured[store, number, kind]
            rates[store] = statistics.median(sum(one.count / one.seconds for one in turn) for turn in turns)
            cpu[store] = statistics.median(
                1000 * sum(one.cpu_s for one in turn) / max(1, sum(one.count for one in turn)) for turn in turns
            )
        share = rates["PostgreSQL"] / rates["SQLite"]
        name = "1 client" if number == 1 else f"{number} clients"
        print(
            f"| {name} | {rates['SQLite']:,.0f} | {rates['PostgreSQL']:,.0f} | {share:.0%} "
            f"| {cpu['SQLite']:.2f} | {cpu['PostgreSQL']:.2f} |"
        )
