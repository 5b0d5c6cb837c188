"""The fork server: a Python that has imported what commands import, and forks for each instead of starting anew.

    python -m tests.fork_server.serve SOCKET

``SOCKET`` is the number of an open socket on which requests come; when its other end is closed, however the tests
have ended, the server ends. It has one thread, opens nothing and keeps nothing between requests. A command leaves the
loop by a fork and goes on in ``main``.

Its parent is the process of the tests, as if that had started it: the process between the two is gone before the
answer is sent, and the tests have asked the system to be given what it leaves (see ``tests/fork_server/start.py``).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import multiprocessing.process
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
import time
import types
from collections.abc import Callable, Sequence
from typing import IO, NoReturn

from tests.fork_server.requests import Request, receive

LIBRARIES = (
    *("aiohttp.client", "asyncio", "jsonschema", "multiprocessing.spawn", "numpy", "ollama", "pandas", "rapidfuzz"),
    *("regex", "rich.console", "rich.live", "rich.progress", "rich.table", "ruamel.yaml", "starlette.applications"),
    *("uvicorn", "yaml"),
)
"""Heavy ones that nearly every command imports. Not those that start threads or are seldom wanted: litellm, V8."""


def prepare() -> None:
    """Imports the libraries and every module of promptpex, and compiles the templates of its pages."""
    import promptpex

    for name in LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(promptpex.__path__, "promptpex."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
    from promptpex.report.html_page import TEMPLATES, environment

    for template in environment(TEMPLATES).list_templates():
        environment(TEMPLATES).get_template(template)


def serve(connection: socket.socket) -> Request | None:
    """Forks for each request. None in the server, at the end; the request in each command, with its streams."""
    while (asked := receive(connection)) is not None:
        request, streams = asked
        read, write = os.pipe()
        between = os.fork()
        if not between:
            middle = os.getpid()
            command = os.fork()
            if command:
                os.write(write, str(command).encode())
                os._exit(0)
            while os.getppid() == middle:  # until its parent is what it will be
                time.sleep(0.0002)
            _take(streams)
            return request
        os.waitpid(between, 0)
        answer = os.read(read, 64)
        for number in (read, write, *streams):
            os.close(number)
        try:
            connection.send(answer)
        except (BrokenPipeError, ConnectionResetError):  # the tests have ended
            return None
    return None


def _take(streams: list[int]) -> None:
    """Makes these the standard streams, and closes whatever else is open."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def become(request: Request) -> None:
    """Makes this process what a start of Python with these arguments would have made it."""
    if request.session:
        os.setsid()
    _set_signals(request.ignored)
    installed = sys.path[1 + len(_search_path()) :]
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    streams = {name: _stream(number) for number, name in enumerate(("stdin", "stdout", "stderr"))}
    sys.__dict__.update(streams, **{f"__{name}__": stream for name, stream in streams.items()})
    kind, _, *arguments = request.arguments
    sys.path[:] = [request.folder if kind == "-m" else "", *dict.fromkeys([*_search_path(), *installed])]
    sys.argv[:] = [kind, *arguments]
    sys.orig_argv[:] = [sys.executable, *request.arguments]
    vars(multiprocessing.process)["ORIGINAL_DIR"] = request.folder


def _set_signals(ignored: Sequence[int]) -> None:
    """Ignores these signals and no others, as a start does that inherits what its parent ignores."""
    for number in signal.valid_signals():
        if number in ignored:
            signal.signal(number, signal.SIG_IGN)
        elif signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _search_path() -> list[str]:
    """The folders of PYTHONPATH."""
    named = os.environ.get("PYTHONPATH")
    return list(dict.fromkeys(map(os.path.abspath, named.split(os.pathsep)))) if named else []


def _stream(number: int) -> IO[str]:
    """A standard stream as Python opens it in UTF-8 mode."""
    mode, errors = "w" if number else "r", "backslashreplace" if number == 2 else "surrogateescape"
    by_line = 1 if number == 2 else -1
    return open(number, mode, by_line, "utf-8", errors, "\n", closefd=False)


def run(request: Request) -> None:
    """Runs the module or the code, as Python does with ``-m`` or ``-c``."""
    kind, what = request.arguments[:2]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
        return
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(what, "<string>", "exec"), main.__dict__)


def leave(code: int) -> NoReturn:
    """Ends the process as Python does, but for taking apart all modules, which takes longer than most commands."""
    shutdown: Callable[[], None] = vars(threading)["_shutdown"]
    shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


def main() -> None:
    """Serves; in a command, runs it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which then end this process
    connection = socket.socket(fileno=int(sys.argv[1]))
    prepare()
    assert len(os.listdir("/proc/self/task")) == 1, "a fork has a copy of one thread alone"
    gc.collect()
    gc.freeze()  # what all commands share need not be looked at by each
    request = serve(connection)
    if request is None:
        return
    connection.detach()
    become(request)
    try:
        run(request)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        leave(end.code or 0)
    leave(0)


if __name__ == "__main__":
    main()
