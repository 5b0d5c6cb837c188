"""A forked command is to the tests what a started one is."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import ROOT, environment
from tests.fork_server import start
from tests.fork_server.requests import Request, receive
from tests.fork_server.start import forking

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux alone")

HERE = """
import json, os, random, signal, sys, threading

def about(stream):
    return [stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.isatty(), stream.mode]

streams = [(sys.stdin, sys.__stdin__), (sys.stdout, sys.__stdout__), (sys.stderr, sys.__stderr__)]
print(json.dumps({
    "arguments": [sys.argv, sys.orig_argv], "path": sys.path, "folder": os.getcwd(), "environment": dict(os.environ),
    "streams": [[about(one), one is original] for one, original in streams],
    "flags": repr(sys.flags), "main": [__name__, globals().get("__file__")],
    "module": sys.modules["__main__"].__dict__ is globals(),
    "signals": [str(signal.getsignal(number)).split(" at ")[0] for number in sorted(signal.valid_signals())],
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "umask": os.umask(0),
    "open": sorted(os.listdir("/proc/self/fd")), "threads": os.listdir("/proc/self/task") == [str(os.getpid())],
    "parent": os.getppid(), "group": os.getpgid(0) == os.getpid() or os.getpgid(0),
    "session": os.getsid(0) == os.getpid() or os.getsid(0),
}))
"""


def both(*arguments: str, **how: Any) -> list[subprocess.CompletedProcess[str]]:
    """What comes of Python with these arguments: started, and forked."""
    command, ends = [sys.executable, *arguments], []
    for forked in (False, True):
        with forking(forked):
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=300, check=False, env=environment(), **how
            )
        ends.append(done)
    return ends


@pytest.mark.parametrize("session", [False, True])
def test_it_finds_what_a_start_finds(session: bool, tmp_path: Path) -> None:
    started, forked = both("-c", HERE, "one", "två", "\udc80", cwd=tmp_path, start_new_session=session, input="")
    assert started.returncode == 0, started.stderr
    assert json.loads(forked.stdout) == json.loads(started.stdout)
    assert json.loads(forked.stdout)["parent"] == os.getpid()


@contextlib.contextmanager
def handled_here(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    """Has this process treat a signal so; it may have been started with others."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ignores_what_is_ignored_here(number: signal.Signals) -> None:
    with handled_here(number, signal.SIG_IGN):
        started, forked = both("-c", HERE, input="")
    assert json.loads(forked.stdout)["signals"] == json.loads(started.stdout)["signals"]
    assert json.loads(started.stdout)["signals"][number - 1] == str(signal.SIG_IGN)


def test_what_the_server_was_started_with_is_in_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    server = start.ForkServer({**environment(), "PYTHONPATH": str(ROOT)}, bare=True)
    monkeypatch.setattr(start, "_SERVERS", [server])
    try:
        started, forked = both("-c", HERE, input="")
    finally:
        server.close()
    assert json.loads(forked.stdout)["path"] == json.loads(started.stdout)["path"]


def found_on_a_terminal(forked: bool) -> dict[str, list[object]]:
    ours, theirs = pty.openpty()
    with forking(forked):
        command = [sys.executable, "-c", HERE]
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment())
    written = b""
    while not written.endswith(b"\n"):
        written += os.read(ours, 65536)
    assert process.wait(300) == 0
    os.close(theirs)
    os.close(ours)
    state = json.loads(written)
    assert isinstance(state, dict)
    return state


def test_on_a_terminal_as_well() -> None:
    forked = found_on_a_terminal(True)
    assert forked == found_on_a_terminal(False)
    assert "true" in json.dumps(forked["streams"][0])


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("print('done')", 0),
        ("import sys; sys.exit(300)", 44),
        ("import sys; sys.exit('a sentence')", 1),
        ("import os; os._exit(7)", 7),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import atexit; atexit.register(print, 'at the end')", 0),
        ("import threading, time; threading.Thread(target=lambda: print(input())).start()", 0),
    ],
)
def test_it_ends_as_a_start_ends(code: str, status: int) -> None:
    started, forked = both("-c", code, input="a line\n")
    assert (started.returncode, forked.returncode) == (status, status)
    assert forked.stdout == started.stdout
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


def test_a_signal_reaches_it() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        with forking(), handled_here(number, signal.SIG_DFL):
            process = subprocess.Popen(
                [sys.executable, "-c", "import sys; print(1, flush=True); sys.stdin.read()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"1\n"
            process.send_signal(number)
        assert process.returncode == -number


def test_the_command_is_the_same(tmp_path: Path) -> None:
    for arguments in (["--version"], ["nothing"], ["validate", str(ROOT / "benchmarks/speech-tag/prompt.md")]):
        started, forked = both("-m", "promptpex", *arguments, cwd=tmp_path, stdin=subprocess.DEVNULL)
        assert vars(forked) == vars(started)


def test_random_numbers_are_its_own() -> None:
    code = "import random, tempfile; print(random.random(), tempfile.mktemp())"
    assert both("-c", code)[1].stdout != both("-c", code)[1].stdout


async def test_several_at_once_in_the_loop() -> None:
    async def one(number: int) -> tuple[bytes, int | None]:
        with forking():
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", "import sys; print(sys.stdin.read()); sys.exit(int(sys.argv[1]))", str(number)),
                env=environment(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        return (await process.communicate(str(number).encode()))[0], process.returncode

    assert await asyncio.gather(*map(one, range(5))) == [(b"%d\n" % number, number) for number in range(5)]


@pytest.mark.parametrize("more", [{"umask": 0o077}, {"process_group": 0}, {"env": environment(PYTHONHASHSEED="7")}])
def test_what_the_server_cannot_do_is_started(more: dict[str, Any]) -> None:
    code = "import os, sys; print(oct(os.umask(0)), os.getpgid(0) == os.getpid(), hash('x'), 'pandas' in sys.modules)"
    ends = []
    for forked in (False, True):
        with forking(forked):
            ends.append(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, **more).stdout)
    assert b"False\n" in ends[1]
    assert ends[0] == ends[1] or "env" not in more


def test_a_folder_that_is_not_there_is_the_usual_error(tmp_path: Path) -> None:
    with forking(), pytest.raises(FileNotFoundError):
        subprocess.run([sys.executable, "-c", "pass"], cwd=tmp_path / "none", env=environment(), check=False)


TESTS = """
import os, subprocess, sys
from tests.fork_server import start
start.install()
environment = {**os.environ, "PYTHONUTF8": "1"}
environment.pop("PYTHONUNBUFFERED", None)
start._SERVERS.append(start.ForkServer(environment, bare=True))
with start.forking():
    code = "import sys; print('tests.fork_server.requests' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, None])
def test_the_server_ends_with_the_tests(number: signal.Signals | None) -> None:
    """It holds their stderr, which has an end when it is gone as well."""
    with subprocess.Popen(
        [sys.executable, "-c", TESTS],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"True\n"
        process.send_signal(number) if number is not None else process.stdin.close()
        assert process.stderr.read() == b""


def test_the_server_ends_in_silence_when_nobody_takes_its_answer() -> None:
    """The tests may be killed at any moment: before the answer is sent, or before it is read."""
    tests, server = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with server:
        server.send(b"an answer")
        tests.close()
        assert receive(server) is None
    tests, server = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.fork_server.serve", str(server.fileno()), "bare"]
    with (
        server,
        open(os.devnull, "r+b") as nothing,
        subprocess.Popen(
            command, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, pass_fds=[server.fileno()]
        ) as process,
    ):
        request = Request(["-c", "pass"], str(ROOT), environment(), session=False, ignored=())
        socket.send_fds(tests, [request.packed()], [nothing.fileno()] * 3)
        tests.close()
        server.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 0
