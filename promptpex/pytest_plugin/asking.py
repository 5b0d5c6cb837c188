"""The runs of a test session: asking what the selected tests need, once, and writing the runs' folders at the end.

A run is made by all processes of a session together: two files in a folder that only this session knows, the run before
its first request, and a line for each portion, which whoever needs it first asks.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import AsyncExitStack, chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from promptpex.codecs import jsonl
from promptpex.codecs.files.file_lock import lock
from promptpex.codecs.text.control_characters import visible
from promptpex.core.errors import PromptpexError, RunError
from promptpex.core.events import Event, Notice, ignore_events
from promptpex.core.ids import text_digest
from promptpex.core.outcomes import OutputOutcome, outcome_of, together
from promptpex.core.records import Output, OutputKey, Run, Verdict
from promptpex.core.translation import ENGLISH, from_data, reading_in, tr, tr_n
from promptpex.workflow.execution import case_model_pairs
from promptpex.workflow.execution.case_model_pairs import AskedPortion, Pair, Planned, joined
from promptpex.workflow.session import Session, open_session

LONGEST_WAIT_S = 86_400.0
"""Seconds to wait for another process that asks; its own limits end it long before."""


_BEGUN = ".run.json"


def shared_runs(folder: Path) -> list[SharedRun]:
    return [SharedRun(folder, path.name.removesuffix(_BEGUN)) for path in sorted(folder.glob(f"*{_BEGUN}"))]


class SharedRun:
    """One prompt's run.

    Args:
        folder: what the processes share.
        name: of the prompt, the same in all of them, safe in a file name.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._begun = folder / f"{name}{_BEGUN}"
        self._portions = folder / f"{name}.portions.jsonl"
        self._failure = folder / f"{name}.failure.txt"
        self._lock = folder / f"{name}.lock"
        self._read_to = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._lock.open("ab") as file:
            lock(file.fileno(), max_wait_s=LONGEST_WAIT_S)
            yield

    def begin(self, run: Run) -> None:
        if not self._begun.exists():
            self._begun.write_text(jsonl.dump_record(run), encoding="utf-8")

    def add(self, portion: AskedPortion) -> None:
        with self._portions.open("a", encoding="utf-8", newline="\n") as file:
            file.write(jsonl.dump_record(portion))

    def new_portions(self) -> list[AskedPortion]:
        """The portions that this process has not been given yet."""
        if not self._portions.exists():
            return []
        with self._portions.open("rb") as file:
            file.seek(self._read_to)
            lines = [line for line in file if line.endswith(b"\n")]
        self._read_to += sum(map(len, lines))
        return [jsonl.parse_record(line, AskedPortion) for line in lines]

    def whole(self) -> tuple[Run, list[str]] | None:
        """The run of all that was asked in this session, by any process, and the warnings; None where nothing was."""
        self._read_to = 0
        portions = self.new_portions()
        if not portions:
            return None
        begun = jsonl.parse_record(self._begun.read_bytes(), Run)
        warnings = dict.fromkeys(warning for portion in portions for warning in portion.warnings)
        return joined(begun, portions), list(warnings)

    def fail(self, sentence: str) -> None:
        """Keeps why the run cannot be made, so that no process tries again."""
        self._failure.write_text(sentence, encoding="utf-8")

    def require_no_failure(self) -> None:
        if self._failure.exists():
            raise RunError(self._failure.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of a prompt's run.

    Attributes:
        is_kept: whether its folder could be written.
        lines: what to tell about it.
    """

    is_kept: bool
    lines: tuple[str, ...]


def keep_run(shared: SharedRun) -> Ending:
    """Writes the folder of a run of this test session, with its reports."""
    shared_run = shared.whole()
    if shared_run is None:  # it could not be asked, which its tests say
        return Ending(True, ())
    run, warnings = shared_run
    with reading_in(str(run.manifest.settings.get("report_language") or ENGLISH)):
        return _kept(run, warnings)


def _kept(run: Run, warnings: Sequence[str]) -> Ending:
    warned = [tr("warning: {message}", message=from_data(warning)) for warning in warnings]
    try:
        folder = _written(run)
    except PromptpexError as error:
        return Ending(False, _lines([f"{run.prompt.name}: {from_data(str(error))}", *warned]))
    answers_text = tr_n(
        "{count} answer from models, {known} from the store",
        "{count} answers from models, {known} from the store",
        run.manifest.asked,
        known=run.manifest.stored,
    )
    where = tr("no model gave an answer, so no report") if folder is None else _shown(folder / "report.html")
    return Ending(True, _lines([f"{run.prompt.name}: {where} ({answers_text})", *warned]))


def _written(run: Run) -> Path | None:
    from promptpex.report import summarise
    from promptpex.report.files import write
    from promptpex.workflow.execution.run_into_folder import keep
    from promptpex.workflow.peoples_grades import peoples_grades

    folder = keep(Path(run.manifest.settings["results"]), run)
    if folder is not None:
        write(summarise(run, folder=folder, people=peoples_grades(run, ignore_events)), folder)
    return folder


def _shown(path: Path) -> str:
    try:
        near = os.path.relpath(path)
    except ValueError:  # on another drive
        return str(path)
    return min(near, str(path), key=len)


def _lines(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(visible(text) for text in texts)


@dataclass(slots=True)
class Answers:
    """The outputs of one pair, one for each repeat, with the verdicts on them."""

    outputs: list[Output] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def outcome(self) -> OutputOutcome:
        of_output: dict[OutputKey, list[Verdict]] = {output.key: [] for output in self.outputs}
        for verdict in self.verdicts:
            of_output[verdict.key].append(verdict)
        return together(outcome_of(of_output[output.key], output.error) for output in self.outputs)


@dataclass(slots=True)
class OneBudget:
    """What ties the budgets of all prompts of a process into one: the session that asked last."""

    last: Session | None = None


class PromptRun:
    """The run of one prompt in this process."""

    def __init__(self, planned: Planned, budget: OneBudget, shared: Path, folder: Path) -> None:
        self.planned = planned
        self._budget = budget
        self._folder = folder
        self._shared = SharedRun(shared, text_digest(str(planned.files.prompt.resolve())))
        self._answers: dict[Pair, Answers] = {}
        self._open = AsyncExitStack()
        self._loop: asyncio.Runner | None = None
        self._session: Session | None = None
        self._begun: Run | None = None
        self._warnings: dict[str, None] = {}

    def answers(self, pair: Pair, wanted: Collection[Pair]) -> Answers:
        """What a pair was answered; what is not known of ``wanted`` is asked along with it.

        Raises:
            PromptpexError: it cannot be asked.
        """
        if pair not in self._answers:
            with self._shared.turn():
                self._read()
                if pair not in self._answers:
                    self._shared.require_no_failure()
                    self._ask({pair, *wanted} - self._answers.keys())
        return self._answers[pair]

    def close(self) -> None:
        if self._loop is not None:
            with self._loop:
                self._loop.run(self._open.aclose())
            self._loop = None

    def _read(self) -> None:
        for portion in self._shared.new_portions():
            for output in portion.outputs:
                self._answers.setdefault((output.case, output.model), Answers()).outputs.append(output)
            for verdict in portion.verdicts:
                self._answers[verdict.case, verdict.model].verdicts.append(verdict)

    def _ask(self, pairs: Collection[Pair]) -> None:
        if self._loop is None:
            self._loop = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        try:
            with chdir(self._folder):
                portion = self._loop.run(self._asked(pairs))
        except PromptpexError as error:
            self._shared.fail(str(error))
            raise
        self._shared.add(portion.replace(warnings=tuple(self._warnings)))
        self._read()

    async def _asked(self, pairs: Collection[Pair]) -> AskedPortion:
        if self._session is None:
            session = open_session(self.planned.resolved, emit=self._hear)
            self._session = await self._open.enter_async_context(session)
            self._begun = await case_model_pairs.begin(self._session, self.planned)
        assert self._begun is not None
        self._shared.begin(self._begun)
        if self._budget.last is not None:
            self._session.count_spending_of(self._budget.last)
        self._budget.last = self._session
        return await case_model_pairs.ask(self._session, self._begun, pairs)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level != "info":
            self._warnings[event.message] = None


class PromptRuns:
    """The runs of all prompts in this process.

    Args:
        shared: the folder that the processes of the test session share.
        unscored: what becomes of a test whose output could not be scored: error, fail or skip.
        is_main: whether this process starts and ends the session: no worker of pytest-xdist.
        one_by_one: whether the session may end at a failure, so that nothing is asked before it is needed.
        folder: the working folder when pytest was called.

    Attributes:
        endings: what to tell at the end, line by line.
    """

    def __init__(self, shared: Path, unscored: str, *, is_main: bool, one_by_one: bool, folder: Path) -> None:
        self.shared, self.unscored, self.is_main, self.one_by_one = shared, unscored, is_main, one_by_one
        self._folder = folder
        self.endings: list[str] = []
        self._of_prompt: dict[Path, PromptRun] = {}
        self._budget = OneBudget()

    @classmethod
    def of(cls, config: pytest.Config, unscored: str) -> PromptRuns:
        worker_input = getattr(config, "workerinput", None)
        folder = worker_input["promptpex_shared"] if worker_input is not None else tempfile.mkdtemp(prefix="promptpex-")
        stops = bool(config.getoption("maxfail", 0) or config.getoption("stepwise", False))
        where = config.invocation_params.dir
        return cls(Path(folder), unscored, is_main=worker_input is None, one_by_one=stops, folder=where)

    def run_of(self, planned: Planned) -> PromptRun:
        path = planned.files.prompt
        if path not in self._of_prompt:
            self._of_prompt[path] = PromptRun(planned, self._budget, self.shared, self._folder)
        return self._of_prompt[path]

    def end(self) -> bool:
        """Closes the sessions; in the main process, writes the folders. False where one could not be written."""
        for run in self._of_prompt.values():
            run.close()
        with chdir(self._folder):
            endings = [keep_run(shared) for shared in shared_runs(self.shared)] if self.is_main else []
        self.endings = [line for ending in endings for line in ending.lines]
        return all(ending.is_kept for ending in endings)

    def remove_shared(self) -> None:
        if self.is_main:
            shutil.rmtree(self.shared, ignore_errors=True)


RUNS = pytest.StashKey[PromptRuns]()
"""Where a process that was given ``--promptpex`` keeps the runs that it makes."""
