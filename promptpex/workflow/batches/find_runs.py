"""The runs that a command is to take where it takes several: of a batch, of prompts, or one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.core.errors import PromptFileError, RunError
from promptpex.promptfile import find_prompts, is_pattern, is_prompt, read
from promptpex.report import runs
from promptpex.report.runs.batch_folder import batch_called, batch_named, latest_batch, read_batch, run_folder


@dataclass(frozen=True, slots=True)
class MeantRun:
    """A run that is meant.

    Attributes:
        prompt: how its prompt was named, for sentences about it; empty where the run itself was named.
        folder: where it is; None where there is none.
        problem: why there is none, in one sentence.
    """

    prompt: str = ""
    folder: Path | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class MeantRuns:
    """The runs that are meant.

    Attributes:
        batch: the folder of the batch that they are, if they are one.
        is_one: whether one run was named, rather than what may stand for several.
    """

    runs: tuple[MeantRun, ...]
    batch: Path | None = None
    is_one: bool = False

    @property
    def only(self) -> Path:
        """The folder of the one run that was named."""
        (one,) = self.runs
        assert one.folder is not None
        return one.folder


def runs_meant(named: Sequence[Path], results: Path, tell: runs.Tell | None = None) -> MeantRuns:
    """The runs that are meant: ``latest``, or nothing, is what was run last, a batch or a run; else each is a run, a
    batch, or prompts, by file, folder or pattern, whose latest runs are meant.

    Args:
        tell: where the runs decide something, as for ``runs.resolve``.

    Raises:
        RunError: there is no such run.
        PromptFileError: a prompt that cannot be read.
    """
    if not named or [str(one) for one in named] == [runs.LATEST]:
        if batch := latest_batch(results, runs.may_decide if tell else None):
            return _of_batch(batch)
        return MeantRuns((MeantRun(folder=runs.latest(results, tell)),), is_one=True)
    each = [_meant_by(one, results, tell) for one in named]
    if len(each) == 1:
        return each[0]
    return MeantRuns(tuple({one.folder or one.prompt: one for meant in each for one in meant.runs}.values()))


def _meant_by(named: Path, results: Path, tell: runs.Tell | None) -> MeantRuns:
    batch = batch_named(named, results)
    if batch is not None:
        return _of_batch(batch)
    try:
        return MeantRuns((MeantRun(folder=runs.resolve(named, results, tell)),), is_one=True)
    except RunError as no_run:
        called = batch_called(str(named), results)
        if called is not None:
            return _of_batch(called)
        if not (named.is_dir() or is_pattern(named) or (named.is_file() and is_prompt(named, named=True))):
            raise
        try:
            prompts = find_prompts([named])
        except PromptFileError:
            raise no_run from None
    return MeantRuns(tuple(_of_prompts(prompts, results, tell)))


def _of_batch(folder: Path) -> MeantRuns:
    batch_runs = []
    for part in read_batch(folder).parts:
        run = run_folder(folder, part)
        problem = "" if run is not None else part.problem or f"its run {part.run} is gone"
        batch_runs.append(MeantRun(part.file, run, problem))
    return MeantRuns(tuple(batch_runs), folder)


def _of_prompts(prompts: Sequence[Path], results: Path, tell: runs.Tell | None) -> list[MeantRun]:
    """The latest run of each prompt.

    Raises:
        RunError: several of them have the same name, by which runs are known.
    """
    names = {prompt: read(prompt).name for prompt in prompts}
    shared = [name for name, count in Counter(names.values()).items() if count > 1]
    if shared:
        files = " and ".join(str(prompt) for prompt, name in names.items() if name == shared[0])
        raise RunError(f"{files} are both called {shared[0]!r}, so name their batch or their runs instead")
    return [_of_prompt(str(prompt), name, results, tell) for prompt, name in names.items()]


def _of_prompt(prompt: str, name: str, results: Path, tell: runs.Tell | None) -> MeantRun:
    try:
        folder = runs.latest_of(results, name, tell)
    except RunError as error:
        return MeantRun(prompt, problem=error.message)
    return MeantRun(prompt, folder, "" if folder else "there is no run of it yet")
