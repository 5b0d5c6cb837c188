"""A run in the hands of a program or a notebook: with its figures, its report, and a short view of it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from promptpex.codecs.text.wording import plural
from promptpex.core.errors import InputError, RunError
from promptpex.core.events import Event, Notice
from promptpex.core.records import Run

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
        """All that a report of the run shows: its answer in words, and DataFrames of its models, rules and metrics.

        Raises:
            InputError: options that do not fit the run.
        """
        from promptpex.report import summarise
        from promptpex.workflow.grading.peoples_grades import peoples_grades

        return summarise(self, people=peoples_grades(self, warn), **options)

    @property
    def models(self) -> pd.DataFrame:
        """A row per model with its figures and the decision about it, columns ``tables.MODEL_COLUMNS``."""
        return self.summary().models

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
