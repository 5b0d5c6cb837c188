"""What is done with runs that there are: reading one, comparing two, holding one against people's grades."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Unpack

from promptpex.api.keyword_settings import CompareSettings, RunPlaceSettings, Share, resolved_settings
from promptpex.api.run_result import RunResult, warn
from promptpex.config import Resolved
from promptpex.core.events import Notice, ignore_events
from promptpex.core.records import AnyRun, ReportCard, Run
from promptpex.core.shares import share
from promptpex.report import runs
from promptpex.report.comparison.page_file import write_page
from promptpex.report.notebook import comparison_html
from promptpex.report.run_comparison import RunComparison
from promptpex.workflow.alignment import report_card as aligning
from promptpex.workflow.comparison import compare_runs


class ComparisonResult(RunComparison):
    """A comparison as ``promptpex.compare`` gives it: with its page, and a short view for a notebook."""

    __slots__ = ()

    def report(self, path: str | Path) -> Path:
        """Writes the page of the comparison, as ``promptpex compare --out`` does, and gives its path; it has no links
        to the reports of the runs.

        Raises:
            RunError: the file cannot be written.
        """
        write_page(self, Path(path), (None, None))
        return Path(path)

    def _repr_html_(self) -> str:
        """What a notebook shows of it."""
        return comparison_html(self)


def read_run(run: str | Path, *, verdicts: bool = True, **settings: Unpack[RunPlaceSettings]) -> RunResult:
    """The run kept in a folder, as ``promptpex run`` leaves it.

    Args:
        run: its folder; or, under the results folder, ``latest``, ``latest~1``, an id, a name or a prompt's name.
        verdicts: without them and the scores where they are not wanted.

    Raises:
        errors.PromptpexError: there is no such run, or a file of it is damaged.
    """
    return RunResult.of(runs.read(_folder(run, resolved_settings(settings)), verdicts=verdicts))


def compare(
    before: Run | str | Path,
    after: Run | str | Path,
    *,
    graders: str = "majority",
    regression_margin: Share | None = None,
    **settings: Unpack[CompareSettings],
) -> ComparisonResult:
    """What has changed from one run to another, on the cases of both, as ``promptpex compare`` has it.

    Args:
        before, after: runs, or what ``read_run`` takes.
        graders: whose grades count where graders differ, as ``promptpex compare --graders``.
        regression_margin: a loss that is accepted where it is shown to be smaller.

    Raises:
        errors.PromptpexError: there is no such run, or the two have no model or no case in common.
    """
    resolved = resolved_settings(settings)
    (old, one), (new, two) = (
        (run, None) if isinstance(run, Run) else _read_deciding(run, resolved) for run in (before, after)
    )
    margin = None if regression_margin is None else float(share(str(regression_margin)))
    rules = aligning.counting(graders)
    made = compare_runs.compare(old, new, resolved, warn, folders=(one, two), rules=rules, margin=margin)
    return ComparisonResult(**{field.name: getattr(made, field.name) for field in fields(made)})


def align(
    run: str | Path | None = None,
    *,
    graders: str = "majority",
    ffr: float | str | None = None,
    against: str | Path | None = None,
    **settings: Unpack[RunPlaceSettings],
) -> ReportCard:
    """The report card of a run: how far checks, judges and the chosen set agree with people's grades; nobody is asked.

    Args:
        run: a folder or id of a run, or a prompt's file for its latest run; None: the latest run.
        graders: whose grades count where graders differ, as ``promptpex align --graders``.
        ffr: the FFR limit of a choice by alignment to look at; None: the kept choice.
        against: a run of other words of the prompt, for what an edit did.

    Raises:
        errors.PromptpexError: a run, a prompt or grades that cannot be used.
    """
    results = Path(resolved_settings(settings).settings.results)
    limit = None if ffr is None else share(str(ffr))
    wishes = aligning.CardWishes(
        rules=aligning.counting(graders), ffr=limit, against=None if against is None else Path(against)
    )
    return aligning.align([] if run is None else [Path(run)], results, wishes, ignore_events).card


def _folder(run: str | Path, resolved: Resolved) -> Path:
    return runs.resolve(Path(run), Path(resolved.settings.results))


def _read_deciding(run: str | Path, resolved: Resolved) -> tuple[AnyRun, Path]:
    """A run that decides something, and its folder; what is passed over for it is a warning."""
    folder = runs.resolve(Path(run), Path(resolved.settings.results), lambda text: warn(Notice(text, "warning")))
    return runs.read_for_report(folder), folder
