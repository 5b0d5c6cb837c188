"""A run in a terminal of 80x24: what it shows while it waits, and the screen that it ends with."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from tests.e2e.command import environment
from tests.e2e.faults import MODEL, Script, place
from tests.fork_server.start import forking
from tests.servers import ScriptedServer, Step, completion_body

ROWS, COLUMNS = 24, 80
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|38|9[0-7])[;m]")
ESCAPES = re.compile(r"\x1b\][^\x1b\x07]*(?:\x1b\\|\x07)|\x1b\[[0-9;?]*[A-Za-z]")


def in_terminal(arguments: list[str], folder: Path, **more: str) -> tuple[int, str]:
    """A command on a terminal of this size: its exit code, and all that it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    env = {**environment(**more), "TERM": "xterm-256color"}
    del env["COLUMNS"]
    with forking():
        process = subprocess.Popen(
            [sys.executable, "-m", "promptpex", *arguments],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
        )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:
        pass  # the other end is closed
    finally:
        os.close(ours)
    return process.wait(timeout=300), written.decode("utf-8").replace("\r\n", "\n")


def at_the_end(written: str) -> list[str]:
    """The lines of the report: what comes after the last line of progress."""
    plain = ESCAPES.sub("", written).rstrip("\n")
    return plain.rpartition("\ntotal  ")[2].split("\n")[1:]


async def test_a_run_ends_with_one_screen_and_links_to_its_report(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=6)
    scripted.otherwise = Script(good=Step(body=completion_body("A noun.")))
    arguments = here.arguments("--models", MODEL, "--judge", "none", "--api-base", f"{scripted.url}/v1")
    code, written = await asyncio.to_thread(in_terminal, arguments, tmp_path)
    assert code == 0, written
    lines = at_the_end(written)
    assert len(lines) <= ROWS - 1
    assert max(len(line.rstrip()) for line in lines if not line.startswith(("Next: ", "Report: "))) <= COLUMNS
    assert "6 requests sent, 0 answers from the store" in lines
    (report,) = here.folder.glob("results/*/*/report.html")
    assert f"Report: {report}" in lines
    assert f";{report.as_uri()}\x1b\\" in written
    assert any(line.startswith("Next: promptpex ") for line in lines)
    assert " ".join(lines[lines.index(f"Report: {report}") + 2 :]).startswith(
        f"{MODEL} broke at least one rule in 6 of 6 scored"
    )
    assert COLOUR.search(written)
    shown = ESCAPES.sub("", written)
    assert re.search(r"total  6/6, \d+ s, (\d fail|\d pass)", shown)


async def test_no_color_leaves_no_colour_on_a_terminal(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=2)
    scripted.otherwise = Script(good=Step(body=completion_body("A noun.")))
    arguments = here.arguments("--models", MODEL, "--judge", "none", "--api-base", f"{scripted.url}/v1")
    _, written = await asyncio.to_thread(in_terminal, arguments, tmp_path, NO_COLOR="1")
    assert "\x1b" in written
    assert not COLOUR.search(written)
