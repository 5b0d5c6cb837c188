"""The ``git`` program, in a repository that may be a stranger's: bounded in time, memory and output, starting nothing.

A repository's own settings can name programs: hooks, pagers, drivers of differences and filters, monitors of the file
system, transports of a partial clone, viewers of signatures. Each of them is turned off here; ``docs/security.md``
says what is relied on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from promptpex.core.errors import SynthesisError

SECONDS = 30.0
"""How long one call may take."""
MOST_BYTES = 64_000_000
"""Bytes of output that one call may give."""
MOST_MEMORY = 400_000_000
"""Bytes that git may ask for, where the system (Linux) limits it; packs that it maps are not among them."""
_MOST_COMPLAINTS = 10_000

_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "",
    "core.pager": "cat",
    "core.alternateRefsCommand": "",
    "core.sshCommand": "false",
    "core.askPass": "",
    "credential.helper": "",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "log.showSignature": "false",
    "log.mailmap": "false",
    "log.follow": "false",
    "diff.renameLimit": "400",
    "diff.orderFile": os.devnull,
    "submodule.recurse": "false",
    "color.ui": "false",
}
_FLAGS = ("--no-pager", "--no-optional-locks", "--no-replace-objects", "--literal-pathspecs")
_OWN = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
    "LANGUAGE": "",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What git said.

    Attributes:
        output: what it wrote, in full.
        complaint: the first line of what it wrote to stderr.
        code: its exit code.
    """

    output: bytes
    complaint: str
    code: int

    @property
    def line(self) -> str:
        """The output as one line of text."""
        return self.output.decode("utf-8", "replace").strip()


def program() -> str | None:
    """Where git is; None where it is not installed. A ``git`` in the folder one works in is never taken."""
    path = shutil.which("git")
    return path if path is not None and os.path.isabs(path) and Path(path).parent != Path.cwd() else None


def git(folder: Path, *arguments: str, stdin: bytes = b"", limit: int = MOST_BYTES, seconds: float = SECONDS) -> Answer:
    """What git answers when it is called in this folder.

    Args:
        stdin: what it is given to read.
        limit: bytes of its answer.
        seconds: how long it may take.

    Raises:
        SynthesisError: git is not installed, takes too long, or answers more than ``limit``.
    """
    path = program()
    if path is None:
        raise SynthesisError("git is not installed, or not on the PATH; name the versions with --versions", path=folder)
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    command = [path, *_FLAGS, *settings, *arguments]
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as failure:
        raise SynthesisError(f"git cannot be started: {failure}", path=folder) from None
    _limit_memory(process.pid)
    try:
        answer = _answer(process, stdin, limit, seconds, folder)
    finally:
        _end(process)
    if answer.code and "out of memory" in answer.complaint.lower():
        most = f"{MOST_MEMORY // 1_000_000} MB of memory"
        raise SynthesisError(f"git needs more than {most}; name the versions with --versions", path=folder)
    return answer


def _limit_memory(process: int) -> None:
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import resource

        resource.prlimit(process, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _environment() -> dict[str, str]:
    """Ours, without what points git to other repositories, settings or programs."""
    variables = {
        name: value for name, value in os.environ.items() if not name.upper().startswith(("GIT_", "SSH_ASKPASS"))
    }
    return {**variables, **_OWN}


def _answer(process: subprocess.Popen[bytes], stdin: bytes, limit: int, seconds: float, folder: Path) -> Answer:
    pipes = ((cast("BinaryIO", process.stdout), limit), (cast("BinaryIO", process.stderr), _MOST_COMPLAINTS))
    gathered = [bytearray(), bytearray()]
    threads = [
        threading.Thread(target=_gather, args=(pipe, most, received), daemon=True)
        for (pipe, most), received in zip(pipes, gathered, strict=True)
    ]
    threads.append(threading.Thread(target=_feed, args=(cast("BinaryIO", process.stdin), stdin), daemon=True))
    for thread in threads:
        thread.start()
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        if len(gathered[0]) > limit:
            raise _too_much(limit, folder) from None
        raise SynthesisError(
            f"git gave no answer within {seconds:g} s; name the versions with --versions", path=folder
        ) from None
    for thread in threads:
        thread.join(1)
    if len(gathered[0]) > limit:
        raise _too_much(limit, folder)
    complaint = bytes(gathered[1]).decode("utf-8", "replace").strip()
    return Answer(bytes(gathered[0]), complaint.split("\n")[0][:300], code)


def _gather(pipe: BinaryIO, most: int, kept: bytearray) -> None:
    """Reads up to ``most`` bytes and one more, and then leaves, so that a flood ends with a broken pipe."""
    with contextlib.suppress(OSError, ValueError), pipe:
        while len(kept) <= most:
            piece = os.read(pipe.fileno(), min(65_536, most + 1 - len(kept)))
            if not piece:
                return
            kept += piece


def _feed(pipe: BinaryIO, data: bytes) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        pipe.write(data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends git, and whatever it may have started."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _too_much(limit: int, folder: Path) -> SynthesisError:
    return SynthesisError(f"git answers more than {limit / 1e6:g} MB; narrow it down with --since", path=folder)
