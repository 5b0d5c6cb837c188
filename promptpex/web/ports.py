"""What the pages are handed: folders, and objects for all that spends money or knows the project.

The page cannot reach models or the project's files by itself (``tests/test_architecture.py``). What it needs of them
is declared here as a Protocol, implemented in ``workflow`` and handed in by the command that starts the server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from promptpex.report.choices.records import ChoicePage


@dataclass(frozen=True, slots=True)
class Ports:
    """What a server shows; a page that needs a part that is None has no tab and no routes.

    Attributes:
        results: the folder of the runs.
        run: the folder of the run that the command names, which may lie elsewhere; None where it names none.
        start: the path of the page that a browser is led to once it is let in.
        choice: gives what there is to say of a choice of assertions, as its files are at that moment.
    """

    results: Path
    run: Path | None = None
    start: str = "/"
    choice: Callable[[], ChoicePage] | None = None
