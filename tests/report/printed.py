"""Reports as a terminal shows them."""

from __future__ import annotations

import io

from rich.console import Console

from promptpex.report import Summary
from promptpex.report.terminal import show


def printed(summary: Summary, *, width: int = 160, colour: bool = False) -> str:
    """What a terminal of this width shows of a summary."""
    file = io.StringIO()
    show(summary, Console(file=file, width=width, force_terminal=colour, color_system="standard" if colour else None))
    return file.getvalue()
