"""A process of its own for code and parsers that no run may hang or die of.

It is started when first needed, watched, and replaced when it ends. It has an empty environment, writes no files, and
has bounded memory (``worker_loop``). Requests and answers are lines of JSON.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from promptpex.assertions.model import Unscorable

OVERRUNS, TRIES_PER_OVERRUN = 3, 50
"""One may go over its limits so often, and once more for so many tries, before it is given up."""
OVERRUNS_IN_ALL, WINDOW_SECONDS = 20, 120.0
"""After so many overruns in the whole process within so many seconds, only what has once come to a verdict is tried."""


class ProcessStrikes:
    """The overruns of a whole process, whatever it was that overran."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._times: deque[float] = deque(maxlen=OVERRUNS_IN_ALL)

    def exhausted(self) -> bool:
        return len(self._times) == OVERRUNS_IN_ALL and self._clock() - self._times[0] < WINDOW_SECONDS

    def add(self) -> None:
        self._times.append(self._clock())

    def reset(self) -> None:
        self._times.clear()


PROCESS_STRIKES = ProcessStrikes()


class StrikeCounter:
    """Which patterns, scripts or templates went over their limits too often to be tried again, so that no run hangs.

    Some bad outputs among many do not lose the verdicts on the others; a thousand different scripts that hang do not
    take a thousand times the limit. Safe to share between threads.
    """

    def __init__(self, shared: ProcessStrikes | None = None) -> None:
        self._tries: Counter[object] = Counter()
        self._overruns: Counter[object] = Counter()
        self._shared = shared or PROCESS_STRIKES

    def struck_out(self, name: object) -> bool:
        overruns, tries = self._overruns[name], self._tries[name]
        if overruns == tries and self._shared.exhausted():
            return True
        return overruns >= OVERRUNS + tries // TRIES_PER_OVERRUN

    def record(self, name: object, overran: bool) -> None:
        self._tries[name] += 1
        if overran:
            self._overruns[name] += 1
            self._shared.add()


_GRACE_SECONDS = 1.0
"""How much longer than its own limit the process may take to answer before it is ended."""
_START_SECONDS = 10.0
"""How long a start may take; it takes 0.1 s on an idle machine."""
_WATCH_SECONDS = 0.1
"""How often the watchdog looks: what it adds to a limit at most."""

WorkerRequest = dict[str, object]
WorkerAnswer = dict[str, Any]
"""What the process says to a request: JSON, its keys by the operation; see ``v8_worker`` and ``monty_worker``."""


class WorkerDied(Exception):
    """The process ended, or, ``late``, did not answer in time and was ended."""

    def __init__(self, late: bool) -> None:
        self.late = late
        super().__init__(late)


class Watchdog:
    """Ends a process that does not answer in time. One thread a process; arming it costs next to nothing."""

    def __init__(self, end_process: Callable[[], None]) -> None:
        self.late = False
        self._end_process = end_process
        self._until = 0.0
        self._armed = threading.Event()
        self._over = False
        threading.Thread(target=self._watch, name="promptpex-worker", daemon=True).start()

    def arm(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self._armed.set()

    def disarm(self) -> None:
        self._armed.clear()

    def end(self) -> None:
        self._over = True
        self._armed.set()

    def _watch(self) -> None:
        while True:
            self._armed.wait()
            if self._over:
                return
            time.sleep(_WATCH_SECONDS)
            if self._armed.is_set() and not self._over and time.monotonic() > self._until:
                self.late = True
                self._end_process()
                return


class WorkerProcess:
    """The process, started with the first request and replaced when it ends. Safe to share between threads.

    Args:
        command: gives the file whose ``answer`` answers requests, and its arguments.
            It may raise ``Unscorable``, when something is not installed.
        own_group: whether it starts processes itself, which have to end with it and not at Ctrl-C in the terminal.
    """

    def __init__(self, command: Callable[[], list[str]], *, own_group: bool = False) -> None:
        self._command = command
        self._own_group = own_group
        atexit.register(self.close)
        self._lock = threading.RLock()
        self._process: subprocess.Popen[str] | None = None
        self._watchdog: Watchdog | None = None
        self._awake = False
        self._owner = os.getpid()

    def start(self) -> None:
        """Start it now; it comes up while the caller goes on."""
        with self._lock:
            if self._owner != os.getpid():  # after a fork the pipes are the parent's
                self._process, self._watchdog, self._owner = None, None, os.getpid()
            if self._process is None or self._process.poll() is not None:
                self._process = started = _started(self._command(), self._own_group)
                self._watchdog = Watchdog(lambda: self._kill(started))
                self._awake = False

    def ask(self, request: WorkerRequest, seconds: float) -> WorkerAnswer:
        """The reply to a request. A process that is just coming up is waited for before the time begins.

        Raises:
            WorkerDied: the process ended, or did not answer within ``seconds`` and some grace.
        """
        with self._lock:
            self.start()
            if not self._awake:
                self._exchange({"op": "wake"}, _START_SECONDS)
                self._awake = True
            return self._exchange(request, seconds + _GRACE_SECONDS)

    def _exchange(self, request: WorkerRequest, seconds: float) -> WorkerAnswer:
        line = json.dumps(request) + "\n"
        process, watchdog = self._process, self._watchdog
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        assert watchdog is not None
        watchdog.arm(seconds)
        try:
            process.stdin.write(line)
            process.stdin.flush()
            reply = process.stdout.readline()
        except (OSError, ValueError):
            reply = ""
        finally:
            watchdog.disarm()
        if not reply.endswith("\n"):
            self.close()
            raise WorkerDied(watchdog.late)
        answer: WorkerAnswer = json.loads(reply)
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            process, self._process = self._process, None
            watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None:
            watchdog.end()
        if process is not None and self._owner == os.getpid():
            self._kill(process)
            process.wait()
            for pipe in (process.stdin, process.stdout):
                _closed(pipe)

    def _kill(self, process: subprocess.Popen[str]) -> None:
        if self._own_group and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()


def _closed(pipe: IO[str] | None) -> None:
    try:
        if pipe is not None:
            pipe.close()
    except OSError:
        return


def _started(command: list[str], own_group: bool) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("worker_loop.py")), *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        encoding="ascii",
        start_new_session=own_group,
    )


def home_of(package: str) -> str:
    """The folder that a package is installed in.

    Raises:
        Unscorable: ``not-installed``.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise Unscorable(
            "not-installed", f"the package {package.replace('_', '-')}, which checks need, is not installed"
        )
    return str(Path(spec.origin).parent.parent)


def _environment() -> dict[str, str]:
    """Nothing but what Windows needs to start a process: no key reaches the one that runs scripts."""
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
