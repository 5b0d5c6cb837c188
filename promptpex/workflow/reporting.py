"""The report of a run in its folder, with what people's grades beside the prompt say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex.core.events import Listener
from promptpex.promptfile import renderer
from promptpex.report import Summary, summarise
from promptpex.report.files import write
from promptpex.tables import AnyRun
from promptpex.workflow.peoples_grades import peoples_grades

if TYPE_CHECKING:
    from promptpex.grading.labels import LabelRules


def report_run(
    run: AnyRun,
    folder: Path | None,
    emit: Listener,
    *,
    view: Mapping[str, Any] | None = None,
    prompt: Path | None = None,
    label_rules: LabelRules | None = None,
) -> Summary:
    """Writes the report of a run into its folder, if it has one, and gives its figures.

    Args:
        view: ``confidence``, ``tolerance``, ``against``, ``weights`` and ``rank_by`` where the report shall differ from
            how the run was made.
        prompt: the prompt's file, beside which people's grades are; by default as the run names it.
        label_rules: how people's grades become labels.
    """
    people = peoples_grades(run, emit, prompt=prompt, rules=label_rules)
    summary = summarise(run, folder=folder, people=people, **(view or {}))
    if folder is not None:
        write(summary, folder, renderer(run.prompt))
    return summary
