"""What is wrong with a file that people write, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from promptpex.core.records._base import Record

Severity = Literal["error", "warning", "info"]


class Problem(Record):
    """One finding in one file.

    Attributes:
        path: the file, as given.
        line: from 1; None where no line can be named.
        message: what is wrong.
        suggestion: what to do; may be empty.
        severity: ``error``: the file cannot be used; ``warning``: it can, but look; ``info``: worth knowing.
    """

    path: str
    line: int | None = None
    message: str
    suggestion: str = ""
    severity: Severity = "error"

    @classmethod
    def warning(cls, path: Path | str, line: int | None, message: str, suggestion: str = "") -> Self:
        """A finding that leaves the file usable."""
        return cls(path=str(path), line=line, message=message, suggestion=suggestion, severity="warning")

    @classmethod
    def info(cls, path: Path | str, line: int | None, message: str, suggestion: str = "") -> Self:
        """A finding that is worth knowing."""
        return cls(path=str(path), line=line, message=message, suggestion=suggestion, severity="info")

    def text(self) -> str:
        """The finding on one line, place first, as compilers print it; a line end in it, such as one in the name of a
        file, is shown as U+FFFD."""
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return "\ufffd".join(f"{place}: {self.severity}: {self.sentence()}".splitlines())

    __str__ = text

    def sentence(self) -> str:
        """Message and suggestion as one sentence, without the place."""
        return f"{self.message}; {self.suggestion}" if self.suggestion else self.message
