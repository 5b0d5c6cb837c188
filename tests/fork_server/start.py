"""Commands that tests start by a fork of a Python that has imported everything: a tenth of the work of a start.

In ``with forking():``, what is started as ``python -m MODULE`` or ``python -c CODE``, by ``subprocess`` or ``asyncio``,
is forked from the fork server (``tests/fork_server/serve.py``). All else is as with a start: the command is a child
of this process, with its streams, folder, environment, group and, if asked for, session. It is started as usual where
that is not possible: on other systems than Linux, with something to be done before it or files to be handed on, with
other variables of Python than the server was started with.

What a fork does not show: what a command imports, what that does, and that two starts of Python order sets differently.
Tests about these start commands as usual, as does one at least of each kind.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from tests.fork_server.requests import LARGEST, Request

ROOT = Path(__file__).resolve().parents[2]
NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""What keeps numpy and pyarrow from starting threads, of which a fork would not have a copy."""

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER: whether what a descendant of this process leaves becomes its child."""

_FORKING = ContextVar("forking", default=False)


class ForkServer:
    """The server's process. It ends with this one, however that ends.

    Attributes:
        variables: Python's own variables, as they were when the server was started.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.variables = _of_python(environment)
        self._turn = threading.Lock()
        self._control = ctypes.CDLL(None).prctl
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server.serve", str(theirs.fileno())],
                cwd=ROOT,
                env={**environment, **NO_THREADS, "PYTHONPATH": ""},  # what it names would not be in the path otherwise
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, request: bytes, streams: Sequence[int]) -> int:
        """Has a command forked with these as stdin, stdout and stderr; its id, that of a child of this process."""
        with self._turn:
            self._control(SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._ours, [request], list(streams))
                command = self._ours.recv(64)
            finally:
                self._control(SUBREAPER, 0, 0, 0, 0)
        assert command, "the fork server has died"
        return int(command)

    def close(self) -> None:
        """Ends the server."""
        self._ours.close()
        self._process.wait(60)


@contextlib.contextmanager
def forking(forked: bool = True) -> Iterator[None]:
    """In this block, and in what it awaits, commands are forked where that is possible; not so unless ``forked``."""
    before = _FORKING.set(forked and sys.platform == "linux")
    try:
        yield
    finally:
        _FORKING.reset(before)


def install() -> None:
    """Has ``subprocess`` look whether it is in such a block."""
    usual = getattr(subprocess, "_fork_exec", None)
    if usual is None:
        return
    setattr(subprocess, "_USE_POSIX_SPAWN", False)  # noqa: B010 - from Python 3.13 on it goes past what is looked at here

    def fork_exec(*given: Any) -> int:
        asked = _request(given) if _FORKING.get() else None
        server = _server(asked.environment) if asked is not None else None
        if asked is None or server is None:
            return int(usual(*given))
        streams = [usual if one < 0 else one for usual, one in enumerate((given[6], given[9], given[11]))]
        return server.fork(asked.packed(), streams)

    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]


_SERVERS: list[ForkServer] = []


def _server(environment: Mapping[str, str]) -> ForkServer | None:
    """The server, started when it is first asked for; None where it could not run a command in this environment."""
    if not _SERVERS:
        _SERVERS.append(ForkServer(environment))
        atexit.register(_SERVERS[0].close)
    return _SERVERS[0] if _SERVERS[0].variables == _of_python(environment) else None


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """What Python reads when it starts, and a fork cannot read again."""
    return {name: value for name, value in environment.items() if name.startswith("PYTHON") and name != "PYTHONPATH"}


def _request(given: Sequence[Any]) -> Request | None:
    """What these arguments of ``_posixsubprocess.fork_exec`` ask for; None where it is more than the server can do."""
    command, _, _, handed_on, folder, environment = given[:6]
    session, group, gid, groups, uid, mask, before = given[15:22]
    arguments = [os.fsdecode(part) for part in command]
    its_own = (len(handed_on), group, gid, groups, uid, mask, before)
    if arguments[0] != sys.executable or arguments[1:2] not in (["-m"], ["-c"]) or len(arguments) < 3:
        return None
    if its_own != (1, -1, None, None, None, -1, None):
        return None
    pairs = [os.fsdecode(pair).partition("=") for pair in environment or ()]
    variables = {name: value for name, _, value in pairs} if environment is not None else dict(os.environ)
    if variables.get("PYTHONUTF8") != "1" or "PYTHONUNBUFFERED" in variables:
        return None
    there = os.path.abspath(os.fsdecode(folder) if folder else os.curdir)
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN]
    request = Request(arguments[1:], there, variables, bool(session), ignored)
    return request if os.path.isdir(there) and len(request.packed()) < LARGEST else None
