"""``promptpex grade`` in a browser."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptpex.cli.output import say
from promptpex.core.errors import ConfigError
from promptpex.core.translation import tr

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.grading.labels import LabelRules
    from promptpex.web.interfaces import GradingPort
    from promptpex.workflow.grading.open_desk import GradingProject


def serve_page(
    project: GradingProject,
    resolved: Resolved,
    rules: LabelRules,
    port: GradingPort,
    *,
    sources: Sequence[Path],
    number: int | None,
    no_open: bool,
) -> int:
    """Serves grading, criteria and the report card until Ctrl-C, says how far grading is, and gives the exit code.

    Args:
        rules: how grades become labels.
        sources: the runs whose report card is shown, or the prompt's file for its latest one.
        number: of the port on 127.0.0.1; None for the usual one.
        no_open: whether the link is only printed.
    """
    from promptpex.cli.command_session import listeners
    from promptpex.cli.grading.screen import graded_so_far
    from promptpex.cli.local_page import serve
    from promptpex.promptfile import renderer
    from promptpex.web.interfaces import Ports
    from promptpex.web.server import require_extra
    from promptpex.workflow.alignment.card_page import CardOfRuns
    from promptpex.workflow.alignment.report_card import CardWishes
    from promptpex.workflow.comparison.compare_runs import ComparisonsOfRuns
    from promptpex.workflow.criteria.shared_state import criteria_beside
    from promptpex.workflow.grading.peoples_grades import GradesOfRuns

    require_extra()
    say(tr("Grades go to {file}", file=project.grades))
    results, grades = Path(resolved.settings.results), GradesOfRuns()
    card = CardOfRuns(sources, results, CardWishes(project.file, rules))
    with (
        listeners(quiet=True, verbose=False, log=None) as emit,
        contextlib.closing(criteria_beside(project, resolved, rules, emit=emit)) as criteria,
    ):
        ports = Ports(results, start="/grade", grades=grades, renderer=renderer)
        pages = replace(
            ports, comparing=ComparisonsOfRuns(resolved, grades), grading=port, criteria=criteria, card=card
        )
        code = serve(pages, port=number, no_open=no_open)
    project.desk.refresh()
    progress = project.desk.progress(port.grader)
    say(tr("{what}; the grades are in {file}", what=graded_so_far(progress), file=project.grades))
    return code


def port_of(project: GradingProject, grader: str | None, first: int) -> GradingPort:
    """What the page shows.

    Args:
        grader: who grades; None: the page asks, and proposes git's user or the account's name.
        first: how many outputs are graded before criteria are written down; 0: as many as people like.
    """
    from promptpex.cli.grading.grader_name import grader_name
    from promptpex.web.interfaces import GradingPort

    folder, prompt = project.file.parent, project.prompt
    name = suggested = ""
    if grader is not None:
        name = grader_name(grader, folder)
    else:
        with contextlib.suppress(ConfigError):
            suggested = grader_name(None, folder)
    return GradingPort(project.desk, prompt.name, name, suggested, first, prompt.variables)
