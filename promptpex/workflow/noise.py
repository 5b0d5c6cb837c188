"""The noise of a model, measured from the runs of the same that are there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptpex import tables
from promptpex.core.errors import RunError
from promptpex.core.records import AnyRun
from promptpex.report import runs
from promptpex.report.percentages import TableRow
from promptpex.report.runs.keeping import executions
from promptpex.tables import Weights

MOST = 4
"""Runs of the same that are read, the latest of them."""


def noise_around(
    folders: Sequence[Path], read: Sequence[AnyRun], *, confidence: float, weights: Weights | None = None
) -> Sequence[TableRow]:
    """The noise of the models of some runs, from the other complete runs beside each that were made from the same, and
    from repeats: rows with columns ``tables.NOISE_COLUMNS``, none where there are neither.

    Args:
        folders: of the runs.
        read: the same runs.
        confidence: of the intervals.
        weights: how many times each case counts.
    """
    same: dict[tuple[Path, str], dict[Path, AnyRun]] = {}
    for folder, run in zip(folders, read, strict=True):
        same.setdefault((folder.resolve().parent, run.manifest.run), {})[folder.resolve()] = run
    groups = [_with_others(parent, group) for (parent, _), group in same.items()]
    repeats = max(int(run.manifest.settings.get("repeats", 1)) for run in read)
    if repeats == 1 and all(len(group) == 1 for group in groups):
        return []
    frames = [[tables.outputs(run) for run in group] for group in groups]
    return tables.records(tables.noise(frames, repeats=repeats, confidence=confidence, weights=weights))


def _with_others(parent: Path, group: dict[Path, AnyRun]) -> list[AnyRun]:
    """The runs of a group, with the others beside them that were made from the same."""
    first = next(iter(group.values()))
    others = [folder for folder in executions(parent.parent, first.manifest) if folder.resolve() not in group]
    made = list(group.values())
    for folder in others[: MOST - len(made)]:
        try:
            other = runs.read_columns(folder)
        except RunError:
            continue  # `report` says what is wrong with it
        if other.manifest.run == first.manifest.run and not other.manifest.partial:
            made.append(other)
    return made
