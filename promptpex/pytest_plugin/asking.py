"""The runs of a test session: asking what the selected tests need, once, and writing the runs' folders at the end."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Collection
from contextlib import AsyncExitStack, chdir
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from promptpex.core.errors import PromptpexError
from promptpex.core.events import Event, Notice
from promptpex.core.ids import text_digest
from promptpex.core.outcomes import OutputOutcome, outcome_of, together
from promptpex.core.records import Output, OutputKey, Run, Verdict
from promptpex.pytest_plugin.ending import keep_run
from promptpex.pytest_plugin.shared_run import SharedRun, shared_runs
from promptpex.workflow.execution import case_model_pairs
from promptpex.workflow.execution.case_model_pairs import AskedPortion, Pair, Planned
from promptpex.workflow.session import Session, open_session


@dataclass(slots=True)
class Answers:
    """The outputs of one pair, one for each repeat, with the verdicts on them."""

    outputs: list[Output] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def outcome(self) -> OutputOutcome:
        """What they come to, all together."""
        of_output: dict[OutputKey, list[Verdict]] = {output.key: [] for output in self.outputs}
        for verdict in self.verdicts:
            of_output[verdict.key].append(verdict)
        return together(outcome_of(of_output[output.key], output.error) for output in self.outputs)


@dataclass(slots=True)
class OneBudget:
    """What ties the budgets of all prompts of a process into one: the session that asked last."""

    last: Session | None = None


class PromptRun:
    """The run of one prompt in this process.

    Args:
        planned: what can be asked.
        budget: that of all prompts.
        shared: where the processes of the test session share it.
        folder: the working folder when pytest was called; tests may have left it.
    """

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
        """Closes the session with the models."""
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
        """Those of this process."""
        worker_input = getattr(config, "workerinput", None)
        folder = worker_input["promptpex_shared"] if worker_input is not None else tempfile.mkdtemp(prefix="promptpex-")
        stops = bool(config.getoption("maxfail", 0) or config.getoption("stepwise", False))
        where = config.invocation_params.dir
        return cls(Path(folder), unscored, is_main=worker_input is None, one_by_one=stops, folder=where)

    def run_of(self, planned: Planned) -> PromptRun:
        """The run of a prompt."""
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
        """Deletes what the processes shared."""
        if self.is_main:
            shutil.rmtree(self.shared, ignore_errors=True)


RUNS = pytest.StashKey[PromptRuns]()
"""Where a process that was given ``--promptpex`` keeps the runs that it makes."""
