"""From flags to a session: settings, listeners, Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from promptpex.cli import progress
from promptpex.cli.plain import visible
from promptpex.events import Listener, fan_out

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.session import Session

T = TypeVar("T")

LISTS = ("models", "judge")
"""Settings that a flag gives as one comma-separated text."""

MANNERS = ("quiet", "verbose", "log")


def settings(flags: Mapping[str, Any], *, start: Path | None = None) -> Resolved:
    """The resolved settings of a command: file, environment, then the flags that were given."""
    from promptpex.config import load

    given = {name: value for name, value in flags.items() if value is not None and name not in MANNERS}
    for name in LISTS:
        if isinstance(given.get(name), str):
            given[name] = [part.strip() for part in given[name].split(",") if part.strip()]
    return load(given, start=start or Path.cwd(), env=os.environ)


def work(flags: Mapping[str, Any], job: Callable[[Session], Awaitable[T]], *, start: Path | None = None) -> T:
    """Runs ``job`` in a session on the resolved settings, showing progress, and gives what it returns.

    Ctrl-C once lets what is in flight finish and ends the job with what there is; twice stops at once.
    """
    resolved = settings(flags, start=start)
    quiet, verbose = bool(flags.get("quiet")), bool(flags.get("verbose"))
    with listeners(quiet=quiet, verbose=verbose, log=flags.get("log")) as emit:
        if verbose:
            say_settings(resolved)
        for warning in resolved.warnings:
            click.echo(visible(f"warning: {warning}"), err=True)
        return asyncio.run(_session(resolved, job, emit))


async def _session(resolved: Resolved, job: Callable[[Session], Awaitable[T]], emit: Listener) -> T:
    from promptpex.session import open_session

    async with open_session(resolved, emit=emit) as session:
        with interrupts(session):
            return await job(session)


@contextlib.contextmanager
def interrupts(session: Session) -> Iterator[None]:
    """The first Ctrl-C stops sending; the second is a KeyboardInterrupt."""
    loop = asyncio.get_running_loop()
    pressed = False

    def stop() -> None:
        nonlocal pressed
        if pressed:
            loop.remove_signal_handler(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            return
        pressed = True
        click.echo("\nstopping: waiting a few seconds for what is in flight (Ctrl-C again stops at once)", err=True)
        session.client.stop()

    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except (NotImplementedError, RuntimeError, ValueError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextlib.contextmanager
def listeners(*, quiet: bool, verbose: bool, log: Path | None) -> Iterator[Listener]:
    """Who hears the events of a command: the screen unless ``quiet``, and the log."""
    with contextlib.ExitStack() as stack:
        heard: list[Listener] = []
        if not quiet:
            heard.append(progress.notices(verbose))
            live = sys.stderr.isatty()
            heard.append(stack.enter_context(progress.bars()) if live else progress.plain_lines())
        logger = stack.enter_context(progress.json_log(log))
        if logger is not None:
            heard.append(logger)
        yield fan_out(heard)


def say_settings(resolved: Resolved) -> None:
    """Prints every setting with its origin."""
    for name, origin in sorted(resolved.origins.items()):
        click.echo(visible(f"{name} = {getattr(resolved.settings, name)!r}  ({origin})"), err=True)


def resume_line() -> str:
    """The command as it was typed, for the line that tells how to go on."""
    return "promptpex " + " ".join(shlex.quote(argument) for argument in sys.argv[1:])
