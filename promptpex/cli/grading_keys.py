"""Keys that a person presses: one by one from a terminal, a line each from a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol

LONGEST_LINE = 100_000
"""Bytes of a line that are read."""
BACK, FORWARD, END = "back", "forward", "end"
"""The arrows to the left and right, and the end of the input."""
_ARROWS = {b"\x1b[D": BACK, b"\x1b[C": FORWARD, b"\x1bOD": BACK, b"\x1bOC": FORWARD}
_ENDING = {"\x04", "\x03"}


class Keys(Protocol):
    """Where keys come from."""

    def key(self) -> str:
        """The next key: a character, ``back``, ``forward``, or ``end``; a line end is an empty text."""

    def line(self) -> str:
        """A line of text, without its end."""


class PipedKeys:
    """Keys from a pipe or a file: each line is a key, with the text that goes with it behind it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = ""

    def key(self) -> str:
        """The first character of the next line."""
        line = self._stream.readline(LONGEST_LINE)
        if not line:
            return END
        text = line.decode("utf-8", "replace").strip()
        self._rest = text[1:].strip()
        return text[:1]

    def line(self) -> str:
        return self._rest


class TerminalKeys:
    """Keys from a terminal that is ``unbuffered``, each as soon as it is pressed, and not shown."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._typed = b""

    def key(self) -> str:
        if not self._typed:
            self._typed = os.read(self._handle, 1024)
        return self._taken() if self._typed else END

    def line(self) -> str:
        """A line, edited and shown as the terminal does."""
        with buffered(self._handle):
            while b"\n" not in self._typed:
                typed = os.read(self._handle, LONGEST_LINE)
                if not typed:
                    break
                self._typed += typed
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").strip()

    def _taken(self) -> str:
        """The first key of what was typed; the rest is for later."""
        for sequence, name in _ARROWS.items():
            if self._typed.startswith(sequence):
                self._typed = self._typed[len(sequence) :]
                return name
        text = self._typed.decode("utf-8", "replace")
        first = text[0]
        self._typed = text[1:].encode()
        return END if first in _ENDING else first.strip()


@contextmanager
def keys_of(stream: BinaryIO) -> Iterator[Keys]:
    """The keys of stdin, whichever it is; a terminal is as it was at the end of the block."""
    if not stream.isatty():
        yield PipedKeys(stream)
        return
    with unbuffered(stream.fileno()):
        yield _console(stream.fileno())


if sys.platform == "win32":
    import msvcrt

    class WindowsKeys:
        """Keys from a Windows console."""

        def key(self) -> str:
            """The next key."""
            first = msvcrt.getwch()
            if first in ("\x00", "\xe0"):
                return {"K": BACK, "M": FORWARD}.get(msvcrt.getwch(), "")
            return END if first in (*_ENDING, "\x1a") else first.strip()

        def line(self) -> str:
            """A line, edited and shown as the console does."""
            return sys.stdin.readline(LONGEST_LINE).strip()

    def _console(handle: int) -> Keys:
        return WindowsKeys()

    @contextmanager
    def unbuffered(handle: int) -> Iterator[None]:
        """Nothing needs to be set here."""
        yield

    buffered = unbuffered

else:
    import termios
    import tty

    def _console(handle: int) -> Keys:
        return TerminalKeys(handle)

    @contextmanager
    def unbuffered(handle: int) -> Iterator[None]:
        """The terminal hands over each key at once and does not show it, until the end of the block."""
        before = termios.tcgetattr(handle)
        try:
            tty.setcbreak(handle, termios.TCSANOW)
            yield
        finally:
            termios.tcsetattr(handle, termios.TCSANOW, before)

    @contextmanager
    def buffered(handle: int) -> Iterator[None]:
        """The terminal shows what is typed and hands over a line, until the end of the block."""
        before = termios.tcgetattr(handle)
        lines = termios.tcgetattr(handle)
        lines[3] |= termios.ICANON | termios.ECHO
        try:
            termios.tcsetattr(handle, termios.TCSANOW, lines)
            yield
        finally:
            termios.tcsetattr(handle, termios.TCSANOW, before)
