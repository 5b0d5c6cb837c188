"""Reports as a terminal shows them."""

from __future__ import annotations

import io

from rich.console import Console

from promptpex.report import Summary
from promptpex.report.terminal import NO_OCCASION, Occasion, show


def printed(
    summary: Summary, *, width: int = 160, colour: bool = False, full: bool = True, occasion: Occasion = NO_OCCASION
) -> str:
    """What a terminal of this width shows of a summary, with all tables unless it is not to be ``full``."""
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=colour, color_system="standard" if colour else None)
    show(summary, console, full, occasion=occasion)
    return file.getvalue()
