"""Deleting old runs: which of them go, and which stay since people named, blessed or graded them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from promptpex.codecs.files.ordinary_files import state_of
from promptpex.core.errors import InputError, RunError
from promptpex.core.records import Run
from promptpex.core.translation import stored
from promptpex.documents.human_grades import read_grades
from promptpex.promptfile import sibling
from promptpex.report import blessed_figures_file, runs
from promptpex.report.runs.batch_folder import by_date, read_batch, run_folder
from promptpex.report.runs.execution_folder import remove, remove_unwritten
from promptpex.report.runs.references import newest_first, runs_in
from promptpex.report.runs.run_folder import MANIFEST, folder_for
from promptpex.workflow.peoples_grades import prompt_file_of

NAMED, BLESSED, GRADED = stored("named {name}"), stored("blessed in {file}"), stored("graded in {file}")
DAMAGED = stored("damaged, so it is not known whether people graded it")
FOREIGN = stored("not a folder that `promptpex run` makes")


@dataclass(frozen=True, slots=True)
class PruneWishes:
    """Which runs may go: those for which all of these hold.

    Attributes:
        prompt: those of this prompt; None: of any.
        keep: not among so many latest of their prompt; None: however late.
        older_than: not written since so long; None: however new.
        protected: also those that people named, blessed or graded, and damaged ones.
    """

    prompt: str | None = None
    keep: int | None = None
    older_than: timedelta | None = None
    protected: bool = False


@dataclass(frozen=True, slots=True)
class Prunable:
    """A run that is old enough.

    Attributes:
        folder: where it is.
        reasons: why it should stay, as far as anything says so.
        goes: whether it is to be deleted.
    """

    folder: Path
    reasons: tuple[str, ...]
    goes: bool


def prunable(results: Path, wishes: PruneWishes, now: datetime) -> list[Prunable]:
    """The runs under a results folder that are old enough, the oldest first, each with what protects it."""
    people = _People()
    old = []
    for folder in _old_enough(results, wishes, now):
        reasons = people.reasons(folder)
        foreign = _is_foreign(results, folder)
        reasons_shown = (FOREIGN,) if foreign else reasons
        old.append(Prunable(folder, reasons_shown, not foreign and (wishes.protected or not reasons)))
    return old[::-1]


def prune(results: Path, old: Sequence[Prunable]) -> tuple[list[Path], list[Path]]:
    """Deletes the runs that are to go, and batches none of whose runs is left; the runs that are gone, and those that
    another process was writing.
    """
    going = [one.folder for one in old if one.goes]
    deleted = [folder for folder in going if remove_unwritten(folder)]
    if deleted:
        _prune_batches(results)
    return deleted, [folder for folder in going if folder not in deleted]


def _prune_batches(results: Path) -> None:
    for folder in by_date(results):
        try:
            parts = read_batch(folder).parts
        except RunError:
            continue
        if not any(run_folder(folder, part) for part in parts):
            remove(folder)


def _old_enough(results: Path, wishes: PruneWishes, now: datetime) -> list[Path]:
    """The run folders that the wishes name, the latest first."""
    by_prompt: defaultdict[Path, list[Path]] = defaultdict(list)
    for folder in newest_first(runs_in(results)):
        if wishes.prompt in (None, folder.parent.name):
            by_prompt[folder.parent].append(folder)
    older = [folder for folders in by_prompt.values() for folder in folders[wishes.keep or 0 :]]
    if wishes.older_than is not None:
        limit = (now - wishes.older_than).timestamp()
        older = [folder for folder in older if _written(folder) < limit]
    return newest_first(older)


def _written(folder: Path) -> float:
    """When a run was last written, in seconds since 1970; never for one that is gone."""
    state = state_of(folder / MANIFEST)
    return float("inf") if state is None else state.time / 1e9


def _is_foreign(results: Path, folder: Path) -> bool:
    """Whether the folder has another place than a run of this manifest has; never of a damaged one."""
    try:
        manifest = runs.read_manifest(folder)
    except RunError:
        return False
    first = folder_for(results, manifest.prompt, manifest.run)
    number = folder.name.removeprefix(f"{first.name}-")
    return folder.parent.name != first.parent.name or (folder.name != first.name and not number.isdecimal())


@dataclass(slots=True)
class _People:
    """What people say of runs, each file of theirs read once."""

    _graded: dict[Path, frozenset[str]] = field(default_factory=dict)
    _blessed: dict[Path, str | None] = field(default_factory=dict)

    def reasons(self, folder: Path) -> tuple[str, ...]:
        """Why a run should stay."""
        try:
            run = runs.read(folder, verdicts=False)
        except RunError:
            return (DAMAGED,)
        prompt = prompt_file_of(run)
        named = [NAMED.format(name=run.manifest.name)] if run.manifest.name else []
        beside = [] if prompt is None else [*self._blessing(folder, prompt), *self._grading(run, prompt)]
        return (*named, *beside)

    def _blessing(self, folder: Path, prompt: Path) -> list[str]:
        file = sibling(prompt, "blessed")
        if file not in self._blessed:
            self._blessed[file] = _blessed_run(file)
        return [BLESSED.format(file=file)] if self._blessed[file] in (folder.name, "") else []

    def _grading(self, run: Run, prompt: Path) -> list[str]:
        file = sibling(prompt, "grades")
        if file not in self._graded:
            self._graded[file] = _graded_keys(file)
        graded = self._graded[file]
        return [GRADED.format(file=file)] if not graded.isdisjoint((*run.item_ids.values(), _UNREADABLE)) else []


_UNREADABLE = "unreadable"
"""Stands for every output where the grades cannot be read: then each run may be graded."""


def _graded_keys(file: Path) -> frozenset[str]:
    try:
        return frozenset(grade.key for grade in read_grades(file))
    except InputError:
        return frozenset((_UNREADABLE,))


def _blessed_run(file: Path) -> str | None:
    """The folder's name of the run whose figures a file keeps; empty, which is any, where it cannot be read."""
    try:
        return blessed_figures_file.read(file).run if file.exists() else None
    except InputError:
        return ""
