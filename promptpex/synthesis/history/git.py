"""The versions of a prompt in git: the program, what it may do, and what a file was like in each commit."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from promptpex.codecs.files.ordinary_files import MEGABYTE
from promptpex.core.errors import SynthesisError
from promptpex.core.translation import stored

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
    """What git said."""

    output: bytes
    complaint: str
    code: int

    @property
    def line(self) -> str:
        return self.output.decode("utf-8", "replace").strip()


def program() -> str | None:
    """Where git is; None where it is not installed. A ``git`` in the folder one works in is never taken."""
    path = shutil.which("git")
    return path if path is not None and os.path.isabs(path) and Path(path).parent != Path.cwd() else None


def git(folder: Path, *arguments: str, stdin: bytes = b"", limit: int = MOST_BYTES, seconds: float = SECONDS) -> Answer:
    """What git answers when it is called in this folder."""
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
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _too_much(limit: int, folder: Path) -> SynthesisError:
    return SynthesisError(f"git answers more than {limit / 1e6:g} MB; narrow it down with --since", path=folder)


MOST_REVISIONS = 500
"""Revisions that are looked at; of a longer history the newest."""
MOST_RENAMES = 20
MOST_TEXT = 3 * MEGABYTE
"""Bytes of all revisions; of a longer history the newest."""
ID_DIGITS = 10
"""Hex digits of a commit that a version is named by; always as many, so that names stay as the repository grows."""

_HEAD = re.compile(r"\x01([0-9a-f]{40,64})")
_META = re.compile(r"\n?:(\d{6}) (\d{6}) ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([A-Z])\d*")
_FORMAT = "--format=%x01%H%x00%cI%x00%s%x00"
_PLAIN = ("--no-ext-diff", "--no-textconv", "--raw", "--no-abbrev", "-z", "--ignore-submodules=all")
_RENAMES = ("-M", "--diff-filter=R")
_FILES = ("100644", "100755", "100664")


@dataclass(frozen=True, slots=True)
class Revision:
    """The file as one commit left it."""

    commit: str
    time: str
    note: str
    path: str
    data: bytes | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FileHistory:
    """The revisions of a file.

    Attributes:
        revisions: oldest first.
        notices: sentences about what is not among them.
        former: where the file was before it was renamed, the latest place first.
    """

    revisions: tuple[Revision, ...] = ()
    notices: tuple[str, ...] = ()
    former: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class _Touch:
    """A commit that touched the file: the blob that it left there, unless it deleted it."""

    commit: str
    time: str
    note: str
    path: str
    blob: str
    mode: str
    status: str


def file_history(file: Path) -> FileHistory:
    """The revisions of this file, links followed. Without git, or outside of it, there are none but a notice."""
    file = file.resolve()
    folder = file.parent
    if program() is None:
        nothing = stored("git is not installed, so the prompt's only version is the file itself")
        return FileHistory(notices=(nothing,))
    prefix = git(folder, "rev-parse", "--show-prefix")
    if prefix.code != 0:
        return FileHistory(notices=(_outside(prefix),))
    if git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").code != 0:
        return FileHistory(notices=(stored("the repository has no commit yet"),))
    inside = prefix.output.decode("utf-8", "surrogateescape").rstrip("\n")
    notices = []
    touches = list(_touches(folder, inside, file.name))
    if not touches:
        notices.append(stored("git has no commit of {file}: it is not committed yet, or ignored", file=file.name))
    if len(touches) > MOST_REVISIONS:
        notices.append(stored("the history has more than {count} commits; the newest are used", count=MOST_REVISIONS))
    if git(folder, "rev-parse", "--is-shallow-repository").line == "true":
        notices.append(
            stored(
                "the clone is shallow: earlier versions of the prompt are missing (`git fetch --unshallow` fetches "
                "them)"
            )
        )
    touches_kept = [touch for touch in touches[:MOST_REVISIONS] if touch.status != "D"]
    top = Path(os.path.normpath(folder / ("../" * inside.count("/"))))
    places = dict.fromkeys(top / touch.path for touch in touches)
    former = tuple(place for place in places if place != file)
    revisions = tuple(reversed(_with_data(folder, touches_kept, notices)))
    return FileHistory(revisions, tuple(notices), former)


def _outside(answer: Answer) -> str:
    if "dubious ownership" in answer.complaint:
        return stored(
            "git does not trust this repository, which belongs to another user (see git's setting safe.directory)"
        )
    if "not a git repository" in answer.complaint:
        return stored("the prompt is not in a git repository, so its only version is the file itself")
    if not answer.complaint:
        return stored("git cannot read this repository, without saying why")
    return stored("git cannot read this repository ({why})", why=answer.complaint)


def _touches(folder: Path, inside: str, name: str) -> Iterator[_Touch]:
    start, path, up = "HEAD", _path_in_head(folder, inside + name), "../" * inside.count("/")
    for _ in range(MOST_RENAMES + 1):
        before = None
        for touch in _log(folder, start, up + path, path):
            yield touch
            before = _renamed_from(folder, touch) if touch.status == "A" else None
            if before is not None:
                break
        if before is None:
            return
        start, path = before


def _log(folder: Path, start: str, pathspec: str, path: str) -> list[_Touch]:
    most = f"--max-count={MOST_REVISIONS + 1}"
    how = ("--first-parent", "-m", "--no-renames", "--encoding=UTF-8", most, _FORMAT, *_PLAIN)
    answer = git(folder, "log", *how, start, "--", pathspec)
    if answer.code != 0:
        raise SynthesisError(f"git cannot read the history: {answer.complaint}", path=folder)
    parts = answer.output.decode("utf-8", "surrogateescape").split("\0")
    return [_touch(parts[at : at + 6], path, folder) for at in range(0, len(parts) - 1, 6)]


def _touch(parts: Sequence[str], path: str, folder: Path) -> _Touch:
    head = _HEAD.fullmatch(parts[0].lstrip("\n"))
    meta = _META.fullmatch(parts[4]) if len(parts) == 6 else None
    if head is None or meta is None:
        raise SynthesisError("git's output about the history cannot be read", path=folder)
    note = " ".join(parts[2].encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())[:200]
    return _Touch(head[1], parts[1], note, path, blob=meta[4], mode=meta[2], status=meta[5])


def _renamed_from(folder: Path, touch: _Touch) -> tuple[str, str] | None:
    """The commit before this one and what the file was called there; None where it is new."""
    parent = f"{touch.commit}^1"
    if git(folder, "rev-parse", "--verify", "--quiet", f"{parent}^{{commit}}").code != 0:
        return None
    names = _renames(git(folder, "diff-tree", "-r", *_RENAMES, *_PLAIN, parent, touch.commit))
    return (parent, names[touch.path]) if touch.path in names else None


def _path_in_head(folder: Path, path: str) -> str:
    if git(folder, "cat-file", "-e", f"HEAD:{path}").code == 0:
        return path
    return _renames(git(folder, "diff-index", "--cached", *_RENAMES, *_PLAIN, "HEAD")).get(path, path)


def _renames(answer: Answer) -> dict[str, str]:
    parts = answer.output.decode("utf-8", "surrogateescape").split("\0") if answer.code == 0 else []
    return {new: old for old, new in zip(parts[1::3], parts[2::3], strict=False)}


def _with_data(folder: Path, touches: Sequence[_Touch], notices: list[str]) -> list[Revision]:
    """The newest revisions with their bytes; what is too long, a link or not in the clone has its problem instead."""
    sizes = _sizes(folder, list(dict.fromkeys(touch.blob for touch in touches if touch.mode in _FILES)))
    wanted_objects, kept, room = dict[str, None](), list[_Touch](), MOST_TEXT
    for touch in touches:
        size = sizes.get(touch.blob, MEGABYTE + 1)
        if size <= MEGABYTE and touch.blob not in wanted_objects:
            room -= size
            if room < 0:
                most = MOST_TEXT // MEGABYTE
                notices.append(stored("the history has more than {limit} MB; the newest versions are used", limit=most))
                break
            wanted_objects[touch.blob] = None
        kept.append(touch)
    data = _contents(folder, list(wanted_objects))
    return [_revision(touch, sizes.get(touch.blob), data.get(touch.blob)) for touch in kept]


def _revision(touch: _Touch, size: int | None, data: bytes | None) -> Revision:
    problem = ""
    if touch.mode not in _FILES:
        problem = "it is a link or a submodule there"
    elif size is None:
        problem = "its text is not in this clone"
    elif data is None:
        problem = f"it has {size / MEGABYTE:.1f} MB; the limit is 1 MB"
    return Revision(touch.commit[:ID_DIGITS], touch.time, touch.note, touch.path, data, problem)


def _asked(blobs: Sequence[str]) -> bytes:
    return "".join(f"{blob}\n" for blob in blobs).encode()


def _sizes(folder: Path, blobs: Sequence[str]) -> dict[str, int]:
    answer = git(folder, "cat-file", "--batch-check", stdin=_asked(blobs)) if blobs else Answer(b"", "", 0)
    words = [line.split() for line in answer.output.decode("ascii", "replace").splitlines()]
    return {line[0]: int(line[2]) for line in words if len(line) == 3 and line[1] == "blob" and line[2].isdigit()}


def _contents(folder: Path, blobs: Sequence[str]) -> dict[str, bytes]:
    output = git(folder, "cat-file", "--batch", stdin=_asked(blobs)).output if blobs else b""
    contents: dict[str, bytes] = {}
    at = 0
    while (end := output.find(b"\n", at)) >= 0:
        words = output[at:end].decode("ascii", "replace").split()
        if len(words) != 3 or not words[2].isdigit():
            break  # the object vanished while it was read; what follows has no known size
        size = int(words[2])
        contents[words[0]] = output[end + 1 : end + 1 + size]
        at = end + 2 + size
    return contents
