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
    read: Sequence[AnyRun],
    folders: Sequence[Path | None],
    results: Path,
    *,
    confidence: float,
    weights: Weights | None = None,
) -> Sequence[TableRow]:
    """The noise of the models of some runs, from the other complete runs beside each that were made from the same, and
    from repeats: rows with columns ``tables.NOISE_COLUMNS``, none where there are neither.

    Args:
        read: the runs.
        folders: where each is kept; None of one that is in memory alone.
        results: the folder of the runs, where others like those in memory are.
        confidence: of the intervals.
        weights: how many times each case counts.
    """
    groups = [_with_others(place, group) for (place, _), group in _made_alike(read, folders, results).items()]
    repeats = max(int(run.manifest.settings.get("repeats", 1)) for run in read)
    if repeats == 1 and all(len(group) == 1 for group in groups):
        return []
    frames = [[tables.outputs(run) for run in group] for group in groups]
    return tables.records(tables.noise(frames, repeats=repeats, confidence=confidence, weights=weights))


def runs_alike(folder: Path) -> list[Path]:
    """The folders of the runs that were made from the same as this one, and its own."""
    try:
        manifest = runs.read_manifest(folder)
    except RunError:
        return [folder]
    return executions(folder.resolve().parent.parent, manifest)


_Group = dict[Path | int, AnyRun]
"""Runs by their folders; one in memory by its number."""


def _made_alike(
    read: Sequence[AnyRun], folders: Sequence[Path | None], results: Path
) -> dict[tuple[Path, str], _Group]:
    """The runs that were made from the same, by the results folder that they are in and their id."""
    alike: dict[tuple[Path, str], _Group] = {}
    for number, (folder, run) in enumerate(zip(folders, read, strict=True)):
        place = results.resolve() if folder is None else folder.resolve().parent.parent
        group = alike.setdefault((place, run.manifest.run), {})
        group[number if folder is None else folder.resolve()] = run
    return alike


def _with_others(results: Path, group: _Group) -> list[AnyRun]:
    """The runs of a group, with the others beside them that were made from the same."""
    first = next(iter(group.values()))
    others = [folder for folder in executions(results, first.manifest) if folder.resolve() not in group]
    made = list(group.values())
    for folder in others[: MOST - len(made)]:
        try:
            other = runs.read_columns(folder)
        except RunError:
            continue  # `report` says what is wrong with it
        if other.manifest.run == first.manifest.run and not other.manifest.partial:
            made.append(other)
    return made
