"""Runs in the hands of a program: one with its figures and its report, two compared, one held against grades."""

from __future__ import annotations

import warnings
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from promptpex.api.keyword_settings import CompareSettings, RunPlaceSettings, Share, resolved_settings
from promptpex.codecs.text.wording import plural
from promptpex.config import Resolved
from promptpex.core.errors import InputError, RunError
from promptpex.core.events import Event, Notice, ignore_events
from promptpex.core.records import ReportCard, Run
from promptpex.core.shares import share
from promptpex.report import runs
from promptpex.report.comparison.page_file import write_page
from promptpex.report.notebook import comparison_html
from promptpex.report.run_comparison import RunComparison
from promptpex.workflow import report_card as aligning
from promptpex.workflow.comparison import compare_runs

if TYPE_CHECKING:
    import pandas as pd

    from promptpex.report import Summary


PAGE = ".html"


class ReportOptions(TypedDict, total=False):
    """Where a report is to differ from how the run was made; as ``promptpex report`` has them.

    ``confidence`` and ``tolerance`` are shares from 0 to 1, ``against`` is a model of the run, ``weights`` are whole
    numbers by kind or rule.
    """

    confidence: float
    tolerance: float
    against: str
    weights: dict[str, int]
    rank_by: str


class RunResult(Run):
    """A run as ``promptpex.run``, ``judge`` and ``read_run`` give it; ``promptpex.tables`` takes it as well.

    A notebook shows its answer and its models. Figures are computed anew each time, since people's grades beside the
    prompt are part of them.
    """

    @classmethod
    def of(cls, run: Run) -> RunResult:
        """The same run with what this class can do."""
        return run if isinstance(run, cls) else cls(**run._fields())

    def summary(self, **options: Unpack[ReportOptions]) -> Summary:
        """All that a report of the run shows: its answer in words, and tables of its models, rules and metrics.

        Raises:
            InputError: options that do not fit the run.
        """
        from promptpex.report import summarise
        from promptpex.workflow.peoples_grades import peoples_grades

        return summarise(self, people=peoples_grades(self, warn), **options)

    @property
    def models(self) -> pd.DataFrame:
        """A row per model with its figures and the decision about it, columns ``tables.MODEL_COLUMNS``."""
        return self.summary().models.frame()

    @property
    def answer(self) -> str | None:
        """What the run says of its models, in plain words; None where it has none."""
        return self.summary().answer

    def report(self, path: str | Path, *, language: str | None = None, **options: Unpack[ReportOptions]) -> Path:
        """Writes the report of the run, and gives the path of its page.

        Args:
            path: a file that ends in ``.html``, which becomes the page; else a folder, which is made if need be, for
                the page ``report.html`` and the CSV files.
            language: of the page, such as ``vi``; by default the setting ``report_language``.

        Raises:
            InputError: options that do not fit the run, a language that there is not, or a place that cannot be
                written.
        """
        from promptpex.core.translation import languages, reading_in, spoken

        if language is not None and language not in languages():
            raise InputError(f"there is no report language {language!r}; there are {', '.join(languages())}")
        with reading_in(language or spoken()):
            return self._report(Path(path), self.summary(**options))

    def _report(self, place: Path, summary: Summary) -> Path:
        from promptpex.codecs.files.atomic import write_text
        from promptpex.report import files, html_page

        try:
            if place.suffix.lower() == PAGE:
                write_text(place, html_page.html(summary), links=False)
                return place
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot write the report ({error.strerror}); choose another place", path=place) from error
        return next(file for file in files.write(summary, place) if file.suffix == PAGE)

    def _repr_html_(self) -> str:
        """What a notebook shows of the run: its answer, its models, and what fails most often."""
        from promptpex.report.notebook import run_html

        return run_html(self.summary())

    def __repr__(self) -> str:
        models, cases = plural(len(self.manifest.models), "model"), plural(len(self.suite.cases), "case")
        outputs, verdicts = plural(len(self.outputs), "output"), plural(len(self.verdicts), "verdict")
        name = f"{self.manifest.run} of {self.prompt.name}"
        return f"<{type(self).__name__} {name!r}: {models}, {cases}, {outputs}, {verdicts}>"

    __str__ = __repr__


def warn(event: Event) -> None:
    """A listener that makes Python's warnings of ours."""
    if isinstance(event, Notice) and event.level == "warning":
        warnings.warn(event.message, UserWarning, stacklevel=2)


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
    return RunResult.of(
        runs.read(runs.resolve(Path(run), Path(resolved_settings(settings).settings.results)), verdicts=verdicts)
    )


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


def _read_deciding(run: str | Path, resolved: Resolved) -> tuple[runs.AnyRun, Path]:
    """A run that decides something, and its folder; what is passed over for it is a warning."""
    folder = runs.resolve(Path(run), Path(resolved.settings.results), lambda text: warn(Notice(text, "warning")))
    return runs.read_for_report(folder), folder
