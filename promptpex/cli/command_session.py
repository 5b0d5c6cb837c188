"""From flags to a session: settings, listeners, Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from promptpex.cli import output, progress
from promptpex.cli.output import say
from promptpex.core.errors import ConfigError, InputError, Interrupted, Stopped
from promptpex.core.events import Listener, fan_out
from promptpex.core.translation import ENGLISH, Key, from_data, speak, tr

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.workflow.session import Session


T = TypeVar("T")

LISTS = ("models", "judge")
"""Settings that a flag gives as one comma-separated text."""

OUTPUT_FLAGS = ("quiet", "verbose", "log")

_ORIGINS: dict[str, Key] = {
    place: place for place in (Key("default"), Key("environment"), Key("flag"), Key("front matter"))
}


def settings(flags: Mapping[str, Any], *, start: Path | None = None) -> Resolved:
    """The resolved settings of a command: file, environment, then the flags that were given."""
    from promptpex.config import load

    given_flags = {name: value for name, value in flags.items() if value is not None and name not in OUTPUT_FLAGS}
    for name in LISTS:
        if isinstance(given_flags.get(name), str):
            given_flags[name] = [part.strip() for part in given_flags[name].split(",") if part.strip()]
            if not given_flags[name]:
                raise ConfigError(f"--{name} names no model; write --{name} NAME, or leave it out")
    resolved = load(given_flags, start=start or Path.cwd(), env=os.environ)
    _speak(resolved)
    for warning in resolved.warnings:
        say(tr("warning: {message}", message=from_data(warning)), err=True)
    return resolved


def _speak(resolved: Resolved) -> None:
    """Makes the language of the settings that of the command, whose end ``main`` says in it, too; a program that reads
    JSON is told all in English."""
    import click

    context = click.get_current_context(silent=True)
    flags = {} if context is None else context.params
    as_json = bool(flags.get("as_json")) or flags.get("layout") == "json"
    speak(ENGLISH if as_json else resolved.settings.report_language)


def report_options(resolved: Resolved) -> dict[str, Any]:
    """The report's options that flags gave; the others are those that the run was made with."""
    names = ("confidence", "tolerance", "against", "weights", "rank_by")
    return {name: getattr(resolved.settings, name) for name in names if resolved.given(name)}


def work(flags: Mapping[str, Any], job: Callable[[Session], Awaitable[T]], *, start: Path | None = None) -> T:
    """Runs ``job`` in a session on the resolved settings, showing progress, and gives what it returns.

    Ctrl-C, or SIGTERM, once: what is in flight may finish for a few seconds, and the job ends with what there is.
    Twice: at once; the store is closed all the same.

    Raises:
        Interrupted: the job was stopped before it had anything to give.
    """
    resolved = settings(flags, start=start)
    quiet, verbose = bool(flags.get("quiet")), bool(flags.get("verbose"))
    with listeners(quiet=quiet, verbose=verbose, log=flags.get("log")) as emit, interrupts() as stops:
        if verbose:
            say_settings(resolved)
        try:
            return asyncio.run(_session(resolved, job, emit, stops))
        except (Stopped, KeyboardInterrupt) as error:
            raise Interrupted(kept_and_resumed()) from error


async def _session(resolved: Resolved, job: Callable[[Session], Awaitable[T]], emit: Listener, stops: Interrupts) -> T:
    from promptpex.workflow.session import open_session

    async with open_session(resolved, emit=emit) as session:
        stops.attach(session.client.cancel)
        return await job(session)


def kept_and_resumed() -> str:
    """For a command that was stopped: nothing is lost, and how to continue."""
    return tr("stopped; the answers so far are kept. To continue: {command}", command=resume_line())


@contextlib.contextmanager
def listeners(*, quiet: bool, verbose: bool, log: Path | None) -> Iterator[Listener]:
    """The listeners to the events of a command: the screen unless ``quiet``, and the log."""
    with contextlib.ExitStack() as stack:
        active: list[Listener] = []
        active.append(progress.notices(verbose, quiet=quiet))
        if not quiet:
            live = sys.stderr.isatty()
            active.append(stack.enter_context(progress.bars() if live else progress.plain_lines()))
        logger = stack.enter_context(progress.json_log(log))
        if logger is not None:
            active.append(logger)
        yield fan_out(active)


def say_settings(resolved: Resolved) -> None:
    for name, origin in sorted(resolved.origins.items()):
        say(f"{name} = {getattr(resolved.settings, name)!r}  ({_origin_in_words(origin)})", err=True)


def _origin_in_words(origin: str) -> str:
    """Where a setting comes from, in the reader's language; its name and value are data."""
    if origin in _ORIGINS:
        return _ORIGINS[origin].tr()
    kind, _, name = origin.partition(" ")
    if kind == "preset":
        return tr("preset {name}", name=name)
    if kind == "file" and name:
        return tr("file {path}", path=name)
    if origin.startswith("user file "):
        return tr("user file {path}", path=origin.removeprefix("user file "))
    return origin


def resume_line() -> str:
    """The command as it was typed, for the line that tells how to go on; without ``--fresh``, which would ask anew what
    has just been answered."""
    return _as_typed([argument for argument in sys.argv[1:] if argument != "--fresh"])


def whole_suite_line() -> str:
    """The command as it was typed, without its choice of cases; empty where it chose none."""
    from promptpex.cli.options import SUBSET_FLAGS, SUBSET_OPTIONS

    words, is_value = [], False
    for argument in sys.argv[1:]:
        if not is_value and argument.partition("=")[0] not in (*SUBSET_OPTIONS, *SUBSET_FLAGS):
            words.append(argument)
        is_value = not is_value and argument in SUBSET_OPTIONS
    return _as_typed(words) if len(words) < len(sys.argv[1:]) else ""


def _as_typed(arguments: Sequence[str]) -> str:
    return "promptpex " + " ".join(map(shlex.quote, arguments))


@contextlib.contextmanager
def reporting_all_problems(*files: Path | None) -> Iterator[None]:
    """Names all errors of these files, and of those that belong to them, where one ended the command."""
    try:
        yield
    except InputError as failure:
        from promptpex.workflow.validation.validate import validate

        with contextlib.suppress(OSError):
            problems = validate(file for file in files if file is not None)
            errors = [problem for problem in problems if problem.severity == "error"]
            if len(errors) > 1 and any(failure.message.startswith(error.message) for error in errors):
                lines = "\n".join(f"  {error.text()}" for error in errors)
                raise InputError(f"fix these {len(errors)} problems first:\n{lines}") from failure
        raise


class Interrupts:
    """What signals do to a command: the first stops sending, the second is a KeyboardInterrupt, others nothing."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: Callable[[], None] = lambda: None
        self.pressed = False
        self._ending = False

    def attach(self, stop: Callable[[], None]) -> None:
        """From now on the first signal calls ``stop`` in the running loop; until now it ends the command."""
        self._loop, self._stop = asyncio.get_running_loop(), stop
        self._loop.set_exception_handler(_report)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signal handler; Python calls it between two bytecodes, also while the loop is busy."""
        if self._ending:
            return
        if self.pressed or self._loop is None:
            self.pressed = self._ending = True
            raise KeyboardInterrupt
        self.pressed = True
        with contextlib.suppress(RuntimeError):  # the loop may have ended just now
            self._loop.call_soon_threadsafe(self._stop_and_say)

    def _stop_and_say(self) -> None:
        self._stop()
        say(tr("stopping: waiting a few seconds for what is in flight (Ctrl-C again stops at once)"), err=True)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Reports what nobody took, as asyncio does, but for the second signal: it may have ended a task in mid-step."""
    if not isinstance(context.get("exception"), KeyboardInterrupt):
        loop.default_exception_handler(context)


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Handles Ctrl-C and SIGTERM in the main thread; in another, which gets no signals, it does nothing."""
    stops = Interrupts()
    try:
        before = {number: signal.signal(number, stops.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:
        yield stops
        return
    try:
        yield stops
    finally:
        over = stops.pressed and output.WHOLE_PROCESS
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if over else handler if handler is not None else signal.SIG_DFL)
