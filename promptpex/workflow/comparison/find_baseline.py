"""Where blessed figures are: beside the prompt of a run, in a file, or in another run."""

from __future__ import annotations

from pathlib import Path

from promptpex.core.errors import RunError
from promptpex.core.records import Blessed
from promptpex.promptfile import sibling
from promptpex.report import Summary, blessed_figures_file, runs
from promptpex.report.regression import Regressions, regressions
from promptpex.tables import AnyRun
from promptpex.workflow.comparison.noise import noise_around
from promptpex.workflow.peoples_grades import prompt_file_of

BLESSED = "blessed"
"""The word for the file beside the prompt."""


def blessed_file(run: AnyRun) -> Path:
    """The file of blessed figures beside the prompt that a run names.

    Raises:
        RunError: the prompt is not in the project that one works in.
    """
    prompt = prompt_file_of(run)
    if prompt is None:
        where = f" ({run.prompt.path})" if run.prompt.path else ""
        raise RunError(f"the prompt of this run{where} is not in this project, so name the file of its blessed figures")
    return sibling(prompt, "blessed")


def baseline(named: str, run: AnyRun, results: Path, tell: runs.Tell) -> Blessed:
    """The figures that a run is held against.

    Args:
        named: ``blessed``, a file of blessed figures, or a run.
        run: the run that is held against them.
        results: the folder of the runs.
        tell: as for ``runs.resolve``.

    Raises:
        RunError: there is no such file and no such run, or they are of another prompt.
    """
    if named == BLESSED:
        figures = blessed_figures_file.read(_existing(blessed_file(run)))
    elif Path(named).is_file():
        figures = blessed_figures_file.read(Path(named))
    else:
        folder = runs.resolve(Path(named), results, tell)
        figures = blessed_figures_file.bless(runs.read_for_report(folder), folder)
    if figures.prompt != run.manifest.prompt:
        raise RunError(f"the baseline is of the prompt {figures.prompt}, the run of {run.manifest.prompt}")
    return figures


def against_baseline(before: Blessed, summary: Summary, folder: Path, results: Path, *, margin: float) -> Regressions:
    """A run held against blessed figures, as it was reported, with the run-to-run noise of its models.

    Args:
        folder: of the run.
        margin: the rise of non-compliance that is accepted, as a share.

    Raises:
        RunError: the two have no model in common.
    """
    how = summary.rankings.options
    noise = noise_around([summary.made], [folder], results, confidence=how.confidence, weights=how.weights)
    return regressions(before, summary.made, margin=margin, confidence=how.confidence, weights=how.weights, noise=noise)


def _existing(path: Path) -> Path:
    if not path.exists():
        raise RunError("there are no blessed figures yet; write them with `promptpex bless RUN`", path=path)
    return path
