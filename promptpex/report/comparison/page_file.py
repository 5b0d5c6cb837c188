"""Where the page of a comparison is, and how it leads to the reports of the two runs."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import refuse_led_out
from promptpex.core.errors import RunError
from promptpex.report.comparison.page import RunLink, comparison_html
from promptpex.report.run_comparison import RunComparison
from promptpex.tables import AnyRun

REPORT = "report.html"


def page_in(before: Path, after: Path) -> Path:
    """The file in the folder of the second run that says what has changed since the first."""
    beside = before.resolve().parent == after.resolve().parent
    name = before.name if beside else f"{before.resolve().parent.name}-{before.name}"
    return after / f"compared-with-{name}.html"


def write_page(comparison: RunComparison, path: Path, folders: tuple[Path | None, Path | None]) -> None:
    """Writes the page, with links to the reports that are in the folders of the runs.

    Raises:
        RunError: the file cannot be written, or a link leads the folder of the run elsewhere.
    """
    runs = comparison.before.run, comparison.after.run
    old, new = (_link(run, folder, path) for run, folder in zip(runs, folders, strict=True))
    if folders[1] is not None and path.parent == folders[1]:
        refuse_led_out(path.parent, path.parent.parent.parent, RunError)
    try:
        write_text(path, comparison_html(comparison, (old, new)), links=False)
    except OSError as error:
        message = f"the page cannot be written ({error.strerror}); name another file with --out"
        raise RunError(message, path=path) from error


def name_of(run: AnyRun, folder: Path | None) -> str:
    """How the page calls a run: as people did, else by its folder."""
    return run.manifest.name or (run.manifest.run if folder is None else folder.name)


def _link(run: AnyRun, folder: Path | None, page: Path) -> RunLink:
    if folder is None or not (folder / REPORT).is_file():
        return RunLink(name_of(run, folder))
    report = (folder / REPORT).resolve()
    try:
        address = quote(Path(os.path.relpath(report, page.resolve().parent)).as_posix())
    except ValueError:  # on another drive
        address = report.as_uri()
    return RunLink(name_of(run, folder), address)
