"""The runs of a results folder as a list: what each was made from and what came of it, without reading its outputs.

The figures are those of ``report.csv``, which ``run``, ``judge`` and ``report`` write. A manifest or a table that is
damaged is named in the run's own line, so that one damaged run hides no other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.codecs import safe_csv
from promptpex.codecs.files.ordinary_files import FileState, is_inside, read_bytes, state_of
from promptpex.core.errors import RunError
from promptpex.core.ids import text_digest
from promptpex.core.records import Manifest
from promptpex.core.translation import tr
from promptpex.report.quantities import Estimate
from promptpex.report.runs.references import newest_first, refer, runs_in
from promptpex.report.runs.run_folder import INPUTS, MANIFEST, OUTPUTS, SCORES, VERDICTS, is_written, read_manifest

REPORT = "report.csv"
FILES = (MANIFEST, INPUTS, OUTPUTS, VERDICTS, SCORES)
"""What a report is made from."""

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")

Stamp = tuple[FileState | bool | None, ...]
"""When files were written, in nanoseconds, and their bytes, and whether a process writes the run: another stamp is
another content."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """What the report says of a model: its outputs and cases, the decision, and two shares of its outputs."""

    model: str
    outputs: int
    cases: int
    decision: str
    broken: Estimate
    right: Estimate | None


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in one line.

    Attributes:
        key: its place in addresses: ``PROMPT/RUN``, or a digest where a name has signs that addresses do not take.
        folder: where it is.
        manifest: what it was made from; None where that cannot be read.
        models: from its report; empty where there is none.
        problem: what is damaged, in one sentence; empty where nothing is.
    """

    key: str
    folder: Path
    manifest: Manifest | None = None
    models: tuple[ListedModel, ...] = ()
    problem: str = ""

    @property
    def prompt(self) -> str:
        """The prompt's name, or that of its folder."""
        return self.manifest.prompt if self.manifest else self.folder.parent.name

    @property
    def name(self) -> str:
        """What people called it; empty where they did not."""
        return (self.manifest.name if self.manifest else None) or ""

    @property
    def created(self) -> str:
        """ISO 8601, UTC; empty where it is not known."""
        return self.manifest.created if self.manifest else ""

    @property
    def outputs(self) -> int:
        """How many outputs the report counts; 0 without a report."""
        return sum(one.outputs for one in self.models)

    @property
    def cases(self) -> int:
        """How many cases the report counts; 0 without a report."""
        return max((one.cases for one in self.models), default=0)


@dataclass(slots=True)
class RunList:
    """The runs under a results folder, and one from elsewhere; what has not changed is not read again.

    Attributes:
        results: the folder of the runs; it may be missing.
        further: the folder of a run that may lie anywhere.
    """

    results: Path
    further: Path | None = None
    _kept: dict[Path, tuple[Stamp, ListedRun]] = field(default_factory=dict)

    def all(self) -> list[ListedRun]:
        """Every run in the order of references: the one that was run or judged last is the first."""
        keys = {folder: key for key, folder in self.folders().items()}
        return [self._line(keys[folder], folder) for folder in newest_first(keys)]

    def latest(self) -> str:
        """The key of the run that ``latest`` means; empty where there is none."""
        return next(map(self.key, newest_first(runs_in(self.results))), "")

    def folders(self) -> dict[str, Path]:
        """The folder of every run, by its key."""
        folders = {self.key(folder): folder for folder in runs_in(self.results)}
        if self.further is not None:
            folders[self.key(self.further)] = self.further
        return folders

    def key(self, folder: Path) -> str:
        """The place in addresses of a run in this list."""
        names = (folder.parent.name, folder.name)
        if is_inside(folder, self.results) and all(map(_PLAIN.fullmatch, names)):
            return "/".join(names)
        return text_digest(str(folder.resolve()))

    def one(self, key: str) -> ListedRun | None:
        """The run with this key, or that ``latest``, ``PROMPT~1`` or a name means; None where there is none."""
        folders = self.folders()
        if key not in folders:
            try:
                key = self.key(refer(Path(key), self.results))
            except RunError:
                return None
        return self._line(key, folders[key]) if key in folders else None

    def _line(self, key: str, folder: Path) -> ListedRun:
        stamp = stamp_of(folder, (MANIFEST, REPORT))
        cached_line = self._kept.get(folder)
        if cached_line is None or cached_line[0] != stamp:
            cached_line = self._kept[folder] = (stamp, listed(folder, key))
        return cached_line[1]


def bytes_of(folder: Path) -> int:
    """What the files of a run's folder take; links count for themselves."""
    with suppress(OSError):
        return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder))
    return 0


def stamp_of(folder: Path, names: tuple[str, ...]) -> Stamp:
    """The stamp of a folder's files."""
    return (*(state_of(folder / name) for name in names), is_written(folder))


def listed(folder: Path, key: str = "") -> ListedRun:
    """The run in a folder in one line, under this key."""
    try:
        manifest = read_manifest(folder)
    except RunError as error:
        return ListedRun(key, folder, problem=str(error))
    try:
        return ListedRun(key, folder, manifest, _models(folder / REPORT, claimed=not manifest.failed_in))
    except (RunError, ValueError, KeyError) as error:
        problem = f"{folder / REPORT} cannot be read; `promptpex report` writes it again"
        return ListedRun(key, folder, manifest, problem=str(error) if isinstance(error, RunError) else problem)


def _models(path: Path, *, claimed: bool) -> tuple[ListedModel, ...]:
    if not path.exists():
        return ()
    text = read_bytes(path, error=RunError, what="table of models", links=False).decode("utf-8")
    header, *rows = safe_csv.loads(text, path=path, error=RunError)
    return tuple(_model(dict(zip(header.cells, row.cells, strict=True)), claimed) for row in rows)


def _model(row: Mapping[str, str], claimed: bool) -> ListedModel:
    """A row of the table; of cases that were chosen by their outcome the counts alone, whoever wrote it."""
    if not claimed:
        count = tr("{some} of {all}", some=int(row["non_compliant"]), all=int(row["scored"]))
        return ListedModel(
            row["model"], int(row["outputs"]), int(row["cases"]), "", Estimate(count, int(row["scored"])), None
        )
    return ListedModel(
        model=row["model"],
        outputs=int(row["outputs"]),
        cases=int(row["cases"]),
        decision=row.get("decision", ""),
        broken=_estimate(row, "non_compliance", "", "at_least"),
        right=_estimate(row, "accuracy", "accuracy_", "accuracy_at_least") if row.get("accuracy") else None,
    )


def _estimate(row: Mapping[str, str], share: str, prefix: str, at_least: str) -> Estimate:
    point, low, high = (_number(row[name]) for name in (share, f"{prefix}ci_low", f"{prefix}ci_high"))
    scored = int(row[f"{prefix}scored"])
    return Estimate(str(scored), scored, point, low, high, row.get(at_least) == "True")


def _number(cell: str) -> float | None:
    """A share from 0 to 1, or a missing one."""
    if not cell:
        return None
    if not 0 <= float(cell) <= 1:
        raise ValueError(f"{cell} is not a share")
    return float(cell)
