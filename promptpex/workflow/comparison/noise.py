"""The noise of a model, measured from the runs of the same that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from promptpex import tables
from promptpex.core.errors import RunError
from promptpex.report import runs
from promptpex.report.percentages import TableRow
from promptpex.report.run_tables import RunTables
from promptpex.report.runs.execution_folder import executions
from promptpex.tables import AnyRun, OwnedRows, Rows, Weights
from promptpex.tables.run_rows import OUTPUT_QUERY

MOST = 4
"""Runs of the same that are read, the latest of them."""


def noise_around(
    read: Sequence[RunTables],
    folders: Sequence[Path | None],
    results: Path,
    *,
    confidence: float,
    weights: Weights | None = None,
) -> Sequence[TableRow]:
    """The noise of the models of some runs, from the other complete runs beside each that were made from the same, and
    from repeats: rows with columns ``tables.NOISE_COLUMNS``, none where there are neither.

    Args:
        read: the tables of the runs.
        folders: where each is kept; None of one that is in memory alone.
        results: the folder of the runs, where others like those in memory are.
        confidence: of the intervals.
        weights: how many times each case counts.
    """
    groups = [_with_others(place, group) for (place, _), group in _made_alike(read, folders, results).items()]
    repeats = max(int(run_tables.run.manifest.settings.get("repeats", 1)) for run_tables in read)
    if repeats == 1 and all(len(group) == 1 for group in groups):
        return []
    owned = [_whose(group) for group in groups]
    return tables.records(tables.noise(owned, repeats=repeats, confidence=confidence, weights=weights))


def runs_alike(folder: Path) -> list[Path]:
    """The folders of the runs that were made from the same as this one, and its own."""
    try:
        manifest = runs.read_manifest(folder)
    except RunError:
        return [folder]
    return executions(folder.resolve().parent.parent, manifest)


_Group = dict[Path | int, RunTables]
"""Runs by their folders; one in memory by its number."""


def _made_alike(
    read: Sequence[RunTables], folders: Sequence[Path | None], results: Path
) -> dict[tuple[Path, str], _Group]:
    """The runs that were made from the same, by the results folder that they are in and their id."""
    alike: dict[tuple[Path, str], _Group] = {}
    for number, (folder, run_tables) in enumerate(zip(folders, read, strict=True)):
        place = results.resolve() if folder is None else folder.resolve().parent.parent
        group = alike.setdefault((place, run_tables.run.manifest.run), {})
        group[number if folder is None else folder.resolve()] = run_tables
    return alike


@dataclass(frozen=True, slots=True)
class _Execution:
    """A run of a group; its folder where it is known."""

    run: AnyRun
    rows: Rows
    folder: Path | None = None

    @property
    def since(self) -> tuple[str, int, str]:
        """What the first execution of a group has the lowest of."""
        name = "" if self.folder is None else self.folder.name
        return self.run.manifest.created, len(name), name

    def same_as(self, other: _Execution) -> bool:
        """Whether the other holds the same answers, as a run in memory and its folder do."""
        if self.run.manifest.created != other.run.manifest.created:
            return False
        both = (one.rows.query(OUTPUT_QUERY) for one in (self, other))
        return all(one == two for one, two in zip_longest(*both))


def _with_others(results: Path, group: _Group) -> list[_Execution]:
    """The runs of a group, with the others beside them that were made from the same; each once, also where it is given
    in memory and kept in a folder."""
    first = next(iter(group.values())).run
    others = [folder for folder in executions(results, first.manifest) if folder.resolve() not in group]
    own_executions = [_Execution(one.run, one.rows, place) for place, one in group.items() if isinstance(place, Path)]
    for folder in others[: MOST - len(own_executions)]:
        try:
            other = runs.read_for_report(folder)
            if other.manifest.run == first.manifest.run and not other.manifest.partial:
                own_executions.append(_Execution(other, tables.rows_of(other), folder))
        except RunError:
            continue  # `report` says what is wrong with it
    in_memory = (_Execution(one.run, one.rows) for place, one in group.items() if isinstance(place, int))
    for one in in_memory:
        if not any(map(one.same_as, own_executions)):
            own_executions.append(one)
    return own_executions


def _whose(group: Sequence[_Execution]) -> list[OwnedRows]:
    """The outputs of a group, and whose answers they are: a run that asked everything again has its own, and so has the
    first, since nothing was stored before it. A recording gives everyone the same."""
    first = min(group, key=lambda one: one.since)
    return [
        OwnedRows(one.rows, one is first or bool(one.run.manifest.settings.get("fresh")), _replayed(one))
        for one in group
    ]


def _replayed(one: _Execution) -> list[str]:
    """The models whose answers are from a recording."""
    manifest = one.run.manifest
    return [model for model in manifest.models if manifest.named.get(model, model).startswith("replay/")]
