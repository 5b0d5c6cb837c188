"""The end of a test session: each prompt's run in its folder, with its reports, as ``promptpex run`` leaves it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.codecs.text.control_characters import visible
from promptpex.core.errors import PromptpexError
from promptpex.core.events import ignore_events
from promptpex.core.records import Run
from promptpex.core.translation import ENGLISH, from_data, reading_in, tr, tr_n
from promptpex.pytest_plugin.shared_run import SharedRun


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of a prompt's run.

    Attributes:
        is_kept: whether its folder could be written.
        lines: what to tell about it.
    """

    is_kept: bool
    lines: tuple[str, ...]


def keep_run(shared: SharedRun) -> Ending:
    """Writes the folder of a run of this test session, with its reports."""
    shared_run = shared.whole()
    if shared_run is None:  # it could not be asked, which its tests say
        return Ending(True, ())
    run, warnings = shared_run
    with reading_in(str(run.manifest.settings.get("report_language") or ENGLISH)):
        return _kept(run, warnings)


def _kept(run: Run, warnings: Sequence[str]) -> Ending:
    warned = [tr("warning: {message}", message=from_data(warning)) for warning in warnings]
    try:
        folder = _written(run)
    except PromptpexError as error:
        return Ending(False, _lines([f"{run.prompt.name}: {from_data(str(error))}", *warned]))
    answers_text = tr_n(
        "{count} answer from models, {known} from the store",
        "{count} answers from models, {known} from the store",
        run.manifest.asked,
        known=run.manifest.stored,
    )
    where = tr("no model gave an answer, so no report") if folder is None else _shown(folder / "report.html")
    return Ending(True, _lines([f"{run.prompt.name}: {where} ({answers_text})", *warned]))


def _written(run: Run) -> Path | None:
    from promptpex.report import summarise
    from promptpex.report.files import write
    from promptpex.workflow.execution.run_into_folder import keep
    from promptpex.workflow.peoples_grades import peoples_grades

    folder = keep(Path(run.manifest.settings["results"]), run)
    if folder is not None:
        write(summarise(run, folder=folder, people=peoples_grades(run, ignore_events)), folder)
    return folder


def _shown(path: Path) -> str:
    """A path from where the user is, where that is shorter."""
    try:
        near = os.path.relpath(path)
    except ValueError:  # on another drive
        return str(path)
    return min(near, str(path), key=len)


def _lines(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(visible(text) for text in texts)
