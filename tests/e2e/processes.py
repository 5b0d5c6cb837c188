"""``promptpex`` in processes of their own, which tests send signals to or run side by side."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.e2e.command import Done, environment
from tests.e2e.faults import MODEL, Place
from tests.fork_server.start import forking
from tests.servers import ScriptedServer

STARTED: list[Process] = []


@pytest_asyncio.fixture(autouse=True)
async def nobody_stays() -> AsyncIterator[None]:
    """Kills the processes that a test has left."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def started(arguments: list[str], here: Place, *, stderr: int = PIPE, forked: bool = True) -> Process:
    with forking(forked):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "promptpex", *arguments),
            cwd=here.folder,
            env=environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=stderr,
        )
    STARTED.append(process)
    return process


async def ended(process: Process) -> Done:
    async with asyncio.timeout(300):
        out, err = await process.communicate()
    return Done(process.returncode or 0, out.decode(), (err or b"").decode())


def asked(here: Place, server: ScriptedServer, *more: str) -> list[str]:
    return here.arguments("--models", f"{MODEL}?api_base={server.url}/v1", "--concurrency", "4", *more)
