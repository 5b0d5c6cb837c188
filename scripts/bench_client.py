#!/usr/bin/env python3
"""Measures the model layer on loopback: throughput, CPU time, cold start. Prints ratios, asserts nothing.

    python scripts/bench_client.py [--quick] [--only throughput,cpu,start] [--mock PATH]

Needs a chat server for measurements (``mockllm.py``, beside the repository under ``shared/tools``) and its httptools.
Each figure is taken in a process of its own, so that one client's imports do not weigh on another's.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOCK = ROOT.parent / "shared" / "tools" / "mockllm.py"
PROMPT = " ".join(["The fox, well-known for its cunning, asks: which part of speech is this word?"] * 18)
LATENCIES_MS = (20, 100, 500)
CONCURRENCIES = (16, 64, 256)
TURNS = 3
SECTIONS = ("throughput", "cpu", "start")
Ask = Callable[[int], Awaitable[object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer requests at 500 ms")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, with commas")
    parser.add_argument("--mock", type=Path, default=MOCK, help="the server to measure against")
    parser.add_argument("--one", nargs="*", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(asyncio.run(one(*args.one))))
        return
    if not args.mock.exists():
        sys.exit(f"{args.mock} is missing: name the measuring server with --mock.")
    print(f"Python {platform.python_version()} on {machine()}")
    for section in args.only.split(","):
        print(f"\n## {section}\n")
        globals()[section](args)


def throughput(args: argparse.Namespace) -> None:
    """Seconds through the whole stack with a store, beside a bare client's in turn with it: medians of ``TURNS``.

    Ideal is requests x latency / concurrency.
    """
    print(
        "| latency | concurrency | requests | ideal | bare client | stack | of the bare client | CPU ms per request |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for latency in LATENCIES_MS:
        with server(args.mock, latency) as base:
            for concurrency in CONCURRENCIES:
                count = 4 * concurrency if args.quick and latency == 500 else 1000
                bare, stack = in_turn(("aiohttp", "stack"), base, concurrency, count)
                ideal = count * latency / 1000 / concurrency
                print(
                    f"| {latency} ms | {concurrency} | {count} | {ideal:.2f} s | {bare['seconds']:.2f} s "
                    f"| {stack['seconds']:.2f} s | {bare['seconds'] / stack['seconds']:.0%} | {stack['cpu_ms']:.2f} |"
                )


def in_turn(clients: Sequence[str], base: str, concurrency: int, count: int) -> list[dict[str, float]]:
    """Medians of what the clients take, each turn one after the other, so that a busy machine slows all alike."""
    turns = [[measured(client, base, concurrency, count) for client in clients] for _ in range(TURNS)]
    return [
        {name: statistics.median(turn[at][name] for turn in turns) for name in turns[0][at]}
        for at in range(len(clients))
    ]


def cpu(args: argparse.Namespace) -> None:
    """CPU time per request of each client's whole process, its imports left out."""
    print("| client | CPU ms per request | requests per second | of a bare client |")
    print("|---|---|---|---|")
    bare = 0.0
    with server(args.mock, 20) as base:
        for client in ("aiohttp", "provider", "stack without store", "stack", "litellm"):
            got = measured(client, base, 64, 300 if client == "litellm" else 2000)
            bare = bare or got["cpu_ms"]
            print(f"| {client} | {got['cpu_ms']:.2f} | {got['per_s']:.0f} | {got['cpu_ms'] / bare:.1f} x |")


def start(args: argparse.Namespace) -> None:
    """Seconds from the shell to the end: help, and runs whose outputs are asked for, then all stored."""
    print("| what | seconds | of them CPU | CPU ms per output |")
    print("|---|---|---|---|")
    print(f"| promptpex --help | {min(timed(['--help'], ROOT)[0] for _ in range(4)):.2f} | | |")
    for count, latency in ((1000, 1),) if args.quick else ((1000, 1), (10_000, 20)):
        with tempfile.TemporaryDirectory() as folder, server(args.mock, latency) as base:
            run = ["run", "prompt.md", "--models", "openai/mock", "--api-base", base, "--quiet", "--concurrency", "64"]
            for name, cases in (("warm", 1), ("own", count)):
                write_project(Path(folder) / name, cases)
            timed(run, Path(folder) / "warm")
            for what in (f"asked for at {latency} ms", "stored"):
                seconds, cpu_s = timed(run, Path(folder) / "own")
                cells = f"{seconds:.2f} | {cpu_s:.2f} | {cpu_s / count * 1000:.2f}"
                print(f"| promptpex run, {count:,} outputs {what} | {cells} |")


def measured(client: str, base: str, concurrency: int, count: int) -> dict[str, float]:
    """What ``one`` measures, in a process of its own."""
    command = [sys.executable, __file__, "--one", client, base, str(concurrency), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        sys.exit(f"{client}: {done.stderr[-2000:]}")
    measures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measures


async def one(client: str, base: str, concurrency: str, count: str) -> dict[str, float]:
    """Seconds, CPU milliseconds per request and requests per second of one client."""
    from promptpex.engines import run_all

    with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as folder:
        async with contextlib.AsyncExitStack() as after:
            make = ASKING[client.removesuffix(" without store")]
            ask = await make(client, base, int(concurrency), Path(folder), after)
            await ask(-1)
            began, cpu_began = time.perf_counter(), time.process_time()
            await run_all(ask, range(int(count)))
            return figures(began, cpu_began, int(count))


def figures(began: float, cpu_began: float, count: int) -> dict[str, float]:
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - cpu_began
    return {"seconds": seconds, "cpu_ms": cpu_s / count * 1000, "per_s": count / seconds}


async def ask_stack(client: str, base: str, concurrency: int, folder: Path, after: contextlib.AsyncExitStack) -> Ask:
    from promptpex.core.records import Message, Params, Request
    from promptpex.llm.providers.router import Router
    from promptpex.llm.stack import StackOptions, build
    from promptpex.store import SqliteStore

    kept = (
        None if client.endswith("without store") else await after.enter_async_context(SqliteStore(folder / "store.db"))
    )
    options = StackOptions(concurrency=concurrency)
    stack = build(Router(), store=kept, rng=random.Random(0), clock=time.monotonic, options=options)
    after.push_async_callback(stack.close)

    async def ask(number: int) -> object:
        messages = (Message(role="user", content=f"{number} {PROMPT}"),)
        request = Request(model="openai/mock", messages=messages, params=Params(temperature=0.0), api_base=base)
        return await stack.complete(request)

    return ask


async def ask_provider(client: str, base: str, concurrency: int, folder: Path, after: contextlib.AsyncExitStack) -> Ask:
    from promptpex.core.records import Message, Params, Request
    from promptpex.llm.providers.router import Router

    router, turn = Router(), asyncio.Semaphore(concurrency)
    after.push_async_callback(router.close)

    async def ask(number: int) -> object:
        messages = (Message(role="user", content=f"{number} {PROMPT}"),)
        request = Request(model="openai/mock", messages=messages, params=Params(temperature=0.0), api_base=base)
        async with turn:
            return await router.complete(request)

    return ask


async def ask_aiohttp(client: str, base: str, concurrency: int, folder: Path, after: contextlib.AsyncExitStack) -> Ask:
    import aiohttp

    session = await after.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
    turn = asyncio.Semaphore(concurrency)

    async def ask(number: int) -> object:
        body = {"model": "mock", "temperature": 0.0, "messages": [{"role": "user", "content": f"{number} {PROMPT}"}]}
        async with turn, session.post(f"{base}/chat/completions", json=body) as response:
            return await response.json()

    return ask


async def ask_litellm(client: str, base: str, concurrency: int, folder: Path, after: contextlib.AsyncExitStack) -> Ask:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    import litellm

    turn = asyncio.Semaphore(concurrency)

    async def ask(number: int) -> object:
        messages = [{"role": "user", "content": f"{number} {PROMPT}"}]
        async with turn:
            return await litellm.acompletion(
                model="openai/mock", messages=messages, api_base=base, api_key="none", num_retries=0, max_retries=0
            )

    return ask


ASKING = {"stack": ask_stack, "provider": ask_provider, "aiohttp": ask_aiohttp, "litellm": ask_litellm}


@contextlib.contextmanager
def server(mock: Path, latency_ms: int) -> Iterator[str]:
    """The base URL of a measuring server with this latency."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(mock), "--port", str(port), "--latency-ms", str(latency_ms)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=1).close()
                break
            if process.poll() is not None:
                sys.exit(f"the measuring server ended: {process.stderr.read() if process.stderr else ''}")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()
        if process.stderr:
            process.stderr.close()


def timed(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Seconds of a promptpex command, and of CPU time in it."""
    began, spent = time.perf_counter(), children_s()
    command = [sys.executable, "-m", "promptpex", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment())
    if done.returncode:
        print(f"promptpex {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-500:]}", file=sys.stderr)
    return time.perf_counter() - began, children_s() - spent


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def write_project(folder: Path, cases: int, checks: tuple[str, ...] = ("{kind: equals, value: OK}",)) -> None:
    """A prompt with a rule for each check, and so many cases."""
    rules = "".join(
        f"  - id: r{number}\n    rule: The output is OK.\n    inverse: The output is not OK.\n"
        f"    checks:\n      - {check}\n    decides: wholly\n    origin: added\n"
        for number, check in enumerate(checks, 1)
    )
    (folder / ".git").mkdir(parents=True)  # the store and the results stand here, whatever lies above
    (folder / "prompt.md").write_text("Answer with OK to anything.\n\n{{question}}\n", encoding="utf-8")
    (folder / "prompt.spec.yaml").write_text(
        f"prompt: prompt.md\nintent: To say OK.\nrules:\n{rules}", encoding="utf-8"
    )
    listed = "".join(
        f"  - {{id: c{number}, rule: r1, inputs: {{question: Is {number} a number?}}, origin: added}}\n"
        for number in range(cases)
    )
    (folder / "prompt.cases.yaml").write_text(f"prompt: prompt.md\ncases:\n{listed}", encoding="utf-8")


def environment() -> dict[str, str]:
    """This process's environment without keys, with the package importable and compiled code kept as usual."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "none"}


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"{os.cpu_count()} cores, {memory:.0f} GB, load {load:.1f} at the start, {limit} open files allowed"


if __name__ == "__main__":
    main()
