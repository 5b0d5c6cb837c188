"""Running candidates on the outputs that people grade, in the background, again whenever something has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from promptpex.core.events import ignore_events
from promptpex.core.records import Candidate, Example
from promptpex.engines import LocalEngine
from promptpex.judging.questions import QuestionJudge
from promptpex.synthesis.active_candidates import in_force
from promptpex.synthesis.results.fill_matrix import fill
from promptpex.synthesis.results.matrix import Matrix, MatrixFile, may_ask
from promptpex.workflow.criteria.background import Background
from promptpex.workflow.criteria.criteria_files import CriteriaFiles
from promptpex.workflow.criteria.streamed_candidates import ArrivingCandidates
from promptpex.workflow.project_files import read_prompt
from promptpex.workflow.synthesis.trying_candidates import judge_of_questions


class CandidateRuns:
    """Runs what has not been run, one turn at a time; a turn that is under way starts anew when something changes.

    Code runs whenever there is some. Questions cost money, so a judge is asked only once ``asks`` is set.

    Args:
        background: where it runs.
        files: what there is to run.
        arriving: what is to be run that stands in no file yet.
        pool: the outputs.
        done: called when all is run; until it returns, this is running.

    Attributes:
        asks: whether a judge may be asked.
        unanswered: why the judge gave no answer that can be used to questions of a candidate, by its id.
    """

    def __init__(
        self,
        background: Background,
        files: CriteriaFiles,
        arriving: ArrivingCandidates,
        pool: Sequence[Example],
        done: Callable[[], None],
    ) -> None:
        self._background, self._files, self._arriving, self._pool = background, files, arriving, pool
        self._done = done
        self._is_due = self._is_running = self._has_ended = False
        self.asks = False
        self.unanswered: dict[str, str] = {}

    @property
    def is_running(self) -> bool:
        """Whether candidates are being run."""
        return self._is_running

    def stop(self) -> None:
        """Asks no judge from now on; the block that is under way is finished."""
        self.asks, self._is_due = False, True

    def end(self) -> None:
        """Finishes the block that is under way, and begins nothing more."""
        self._has_ended = True

    async def run(self) -> None:
        """Runs what is missing; returns at once where a turn is under way, which then begins anew.

        Raises:
            InputError: a file cannot be read or written.
            ModelError: the judge cannot be asked.
        """
        self._is_due = True
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._is_due and not self._has_ended:
                self._is_due = False
                await self._turn()
            self._done()
        finally:
            self._is_running = False

    async def _turn(self) -> None:
        candidates = in_force(self._arriving.with_file(self._files.read())[0])
        by_code = tuple(one for one in candidates if not may_ask(one.check))
        await self._fill(by_code, None)
        asking = tuple(one for one in candidates if may_ask(one.check))
        if self.asks and asking and not (self._is_due or self._has_ended):
            session = await self._background.session()
            prompt = read_prompt(session, self._files.prompt)
            judge = judge_of_questions(session, prompt, asking, len(self._pool))
            if judge is not None:
                await self._fill(asking, judge)

    async def _fill(self, candidates: Sequence[Candidate], judge: QuestionJudge | None) -> None:
        if not candidates or not self._pool:
            return
        matrix = Matrix(candidates, self._pool, judge=judge.fingerprint() if judge is not None else None)
        session = self._background.opened
        emit = session.emit if session is not None else ignore_events
        await fill(
            matrix,
            MatrixFile(self._files.folder.matrix),
            LocalEngine(),
            emit,
            judge=judge,
            cancelled=lambda: self._is_due or self._has_ended,
        )
        if judge is not None:
            candidates_with_errors = zip(matrix.candidates, matrix.errors, strict=True)
            self.unanswered = {one.id: errors.most_common(1)[0][0] for one, errors in candidates_with_errors if errors}
