"""Every problem of the files at once, where a command stops at the first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from promptpex.core.errors import InputError


@contextlib.contextmanager
def all_told(*files: Path | None) -> Iterator[None]:
    """Tells all errors of these files, and of those beside them, where one ended the command.

    Raises:
        InputError: what was raised inside; with all that ``validate`` finds, if that is among them and more.
    """
    try:
        yield
    except InputError as failure:
        from promptpex.workflow.validation import validate

        with contextlib.suppress(OSError):
            found = [one for one in validate(file for file in files if file is not None) if one.severity == "error"]
            if len(found) > 1 and any(failure.message.startswith(one.message) for one in found):
                lines = "\n".join(f"  {one.text()}" for one in found)
                raise InputError(f"{len(found)} problems are to be mended first:\n{lines}") from failure
        raise
