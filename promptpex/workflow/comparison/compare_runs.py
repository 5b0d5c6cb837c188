"""Comparing two runs, by the settings, with what people's grades say of either and how noisy their models are."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from promptpex.codecs.files.ordinary_files import state_of
from promptpex.config import Resolved
from promptpex.core.events import Listener
from promptpex.grading.labels import LabelRules
from promptpex.report import runs
from promptpex.report.run_comparison import RunComparison, compare_runs
from promptpex.report.run_tables import tables_of
from promptpex.report.runs.listing import FILES
from promptpex.tables import AnyRun, PeoplesGrades
from promptpex.workflow.comparison.noise import noise_around, runs_alike
from promptpex.workflow.peoples_grades import GradesOfRuns, peoples_grades

Folders = tuple[Path | None, Path | None]
"""Where two runs are kept; None of one that is in memory alone."""


def compare(
    before: AnyRun,
    after: AnyRun,
    resolved: Resolved,
    emit: Listener,
    *,
    folders: Folders = (None, None),
    rules: LabelRules | None = None,
    margin: float | None = None,
) -> RunComparison:
    """What has changed from one run to the other.

    Args:
        folders: where the runs are kept, beside others that were made from the same.
        rules: how people's grades become labels.
        margin: a loss that does not count as a regression where it is shown to be no greater; None: none.

    Raises:
        InputError: as ``compare_runs``.
        SynthesisError: the rules name a grader who gave no grade.
    """
    people = (peoples_grades(before, emit, rules=rules), peoples_grades(after, emit, rules=rules))
    return _compared((before, after), folders, people, resolved, margin)


class ComparisonsOfRuns:
    """Comparisons for the local page, of runs in their folders.

    Args:
        resolved: the settings.
        grades: what people say of runs.
    """

    def __init__(self, resolved: Resolved, grades: GradesOfRuns) -> None:
        self._resolved, self._grades = resolved, grades

    def stamp(self, before: Path, after: Path) -> Hashable:
        """What changes whenever a file does that the comparison of two runs is made from, those of other runs that
        were made from the same among them."""
        alike = dict.fromkeys(other for folder in (before, after) for other in (folder, *runs_alike(folder)))
        files = tuple((folder, *(state_of(folder / name) for name in FILES)) for folder in alike)
        return files, self._grades.stamp(before), self._grades.stamp(after)

    def compare(self, before: Path, after: Path) -> RunComparison:
        """What has changed from the run in one folder to that in the other.

        Raises:
            InputError: as ``compare_runs``.
        """
        read = runs.read_for_report(before), runs.read_for_report(after)
        people = self._grades.grades(before, read[0]), self._grades.grades(after, read[1])
        return _compared(read, (before, after), people, self._resolved)


def _compared(
    read: tuple[AnyRun, AnyRun],
    folders: Folders,
    people: tuple[PeoplesGrades | None, PeoplesGrades | None],
    resolved: Resolved,
    margin: float | None = None,
) -> RunComparison:
    chosen, tables_of_both = resolved.settings, (tables_of(read[0]), tables_of(read[1]))
    return compare_runs(
        *tables_of_both,
        confidence=chosen.confidence,
        tolerance=margin,
        weights=chosen.weights,
        rank_by=chosen.rank_by,
        people=people,
        noise=noise_around(
            tables_of_both, folders, Path(chosen.results), confidence=chosen.confidence, weights=chosen.weights
        ),
    )
