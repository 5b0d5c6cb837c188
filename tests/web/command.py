"""A command that serves the local page, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.command import Done, environment
from tests.fork_server.start import forking

LINK = re.compile(r"http://127\.0\.0\.1:\d+/enter\?token=[\w-]+")


@dataclass
class ServingCommand:
    """A running command.

    Attributes:
        process: as asyncio has it.
        lines: what it has printed on stdout so far.
    """

    process: Process
    lines: list[str] = field(default_factory=list)

    async def link(self) -> str:
        """The link that the command prints next."""
        assert self.process.stdout is not None
        while line := (await self.process.stdout.readline()).decode():
            self.lines.append(line.rstrip("\n"))
            if match := LINK.search(line):
                return match[0]
        assert self.process.stderr is not None
        raise AssertionError(f"no link: {self.lines} {(await self.process.stderr.read()).decode()}")

    async def ended(self, number: int = signal.SIGINT) -> Done:
        """Sends a signal, and gives how the command ended and all that it printed."""
        self.process.send_signal(number)
        out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Done(self.process.returncode, "\n".join(self.lines) + out.decode(), err.decode())


@contextlib.asynccontextmanager
async def serving(*arguments: str, cwd: Path, forked: bool = True) -> AsyncIterator[ServingCommand]:
    """Starts ``promptpex ARGUMENTS`` without a screen; it is killed at the end of the block if it still runs."""
    with forking(forked):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "promptpex", *arguments),
            cwd=cwd,
            env=environment(DISPLAY="", WAYLAND_DISPLAY=""),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )
    try:
        yield ServingCommand(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
