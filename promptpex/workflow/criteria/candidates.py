"""What the page of criteria asks an author for, what arrives of it, and running it on the outputs that people grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from promptpex.codecs.text.inputs_as_text import named_text
from promptpex.core.events import ignore_events
from promptpex.core.records import Candidate, Example, Prompt, Synthesis
from promptpex.core.records.criteria_board import AskedCriterion
from promptpex.core.translation import tr, tr_n
from promptpex.engines import LocalEngine
from promptpex.grading.book import GradeBook, subject_of_criterion
from promptpex.judging.questions import QuestionJudge
from promptpex.synthesis import edit_criteria
from promptpex.synthesis.edit_criteria import with_added_candidates
from promptpex.synthesis.proposing.criteria import INFER, MOST_BAD, NOTES
from promptpex.synthesis.proposing.graded_examples import GradedExamples, examples_for, may_be_shown
from promptpex.synthesis.proposing.propose_candidates import Demand, NewCandidates, Shown, propose_candidates
from promptpex.synthesis.results.fill_matrix import fill
from promptpex.synthesis.results.matrix import Matrix, MatrixFile, in_force, may_ask
from promptpex.workflow.criteria.background import Background
from promptpex.workflow.criteria.files import CriteriaFiles, taken_ids
from promptpex.workflow.estimate import part_lines, tokens_of, total_in_words
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.preconditions import require_author
from promptpex.workflow.project_files import read_prompt
from promptpex.workflow.session import Session
from promptpex.workflow.stages.stage import Workload
from promptpex.workflow.suggesting import Suggesting, suggest, with_new_notes
from promptpex.workflow.trying_candidates import judge_of_questions


class ArrivingCandidates:
    """What has come of replies that are not whole yet. Safe in several threads.

    What is in the file by then is not given twice, so that a candidate is there all the time while its reply ends.
    """

    def __init__(self, changed: Callable[[], object]) -> None:
        self._changed = changed
        self._coming: Mapping[str, tuple[Candidate, ...]] = {}

    def tell(self, criterion: str, candidates: tuple[Candidate, ...]) -> None:
        """Takes what has come for a criterion, in place of what had come before."""
        if candidates != self._coming.get(criterion, ()):
            self._coming = {**self._coming, criterion: candidates}
            self._changed()

    def over(self, criterion: str) -> None:
        """Forgets what came for a criterion: the reply is whole, and what came of it stands in the file."""
        self._coming = {name: candidates for name, candidates in self._coming.items() if name != criterion}

    @property
    def count(self) -> int:
        return sum(map(len, self._coming.values()))

    def stamp(self) -> object:
        return self._coming

    def with_file(self, synthesis: Synthesis) -> tuple[Synthesis, frozenset[str]]:
        """What stands in the file together with what is on its way, and the ids that this has."""
        on_file = {(one.fingerprint, name) for one in synthesis.candidates for name in one.criteria}
        coming = [one for candidates in self._coming.values() for one in candidates]
        new = [one for one in coming if not all((one.fingerprint, name) in on_file for name in one.criteria)]
        synthesis, names = with_added_candidates(synthesis, new)
        return synthesis, frozenset(names)


class CandidateAuthor:
    """Asks the author; everything is to be called in the loop of the background, and gives a sentence."""

    def __init__(
        self, background: Background, files: CriteriaFiles, pool: Sequence[Example], arriving: ArrivingCandidates
    ) -> None:
        self._background, self._files, self._pool, self._arriving = background, files, tuple(pool), arriving
        self._in_vain: Counter[str] = Counter()

    async def price(self, criteria: int) -> str:
        session = await self._background.session()
        prompt = read_prompt(session, self._files.prompt)
        work = Workload(session.settings, prompt_tokens=tokens_of(prompt.messages), criteria_alone=criteria)
        total, label = total_in_words(part_lines(session, "synthesize", work)), session.roles.author().label
        return total if label in total else f"{total} ({label})"

    async def infer(self) -> str:
        return await self._suggested(Suggesting(infer=True, taken=taken_ids(self._files.rules())), INFER)

    async def from_notes(self) -> str:
        """Adds criteria made of the notes on bad outputs that none was made from."""
        synthesis = self._files.read()
        graded = self.noted(synthesis, self._files.book(synthesis))
        if not graded.bad:
            return tr("Every note on a bad output already has a criterion.")
        return await self._suggested(Suggesting(graded=graded, taken=taken_ids(self._files.rules())), NOTES)

    def noted(self, synthesis: Synthesis, book: GradeBook, most: int = MOST_BAD) -> GradedExamples:
        return with_new_notes(book, synthesis.criteria, self._pool, most)

    async def _suggested(self, asking: Suggesting, stage: str) -> str:
        session, prompt = await self._ready()
        known_criteria = self._files.read().criteria
        new, in_vain = await suggest(session, prompt, replace(asking, turn=self._in_vain[stage]), known_criteria)
        if in_vain:
            self._in_vain[stage] += 1
            return _nothing_usable(session, stage)
        self._files.add(lambda synthesis: synthesis.replace(criteria=(*synthesis.criteria, *new)))
        names = ", ".join(one.id for one in new)
        if not names:
            return tr("0 new criteria.")
        return tr_n("{count} new criterion: {names}.", "{count} new criteria: {names}.", len(new), names=names)

    async def candidates(self, name: str, wish: str = "", *, unasked: bool = False) -> tuple[int, str]:
        """Adds candidates for a criterion: how many there are, and a sentence."""
        try:
            return await self._candidates(name, wish, unasked=unasked)
        finally:
            self._arriving.over(name)

    async def _candidates(self, name: str, wish: str, *, unasked: bool) -> tuple[int, str]:
        session, prompt = await self._ready()
        synthesis = self._files.read()
        criterion = edit_criteria.find(synthesis, name)
        book = self._files.book(synthesis)
        subject = subject_of_criterion(criterion, {rule.id: rule.rule for rule in self._files.rules()})
        before = self._files.asked().of(name)
        asked_criterion = before if before is not None else AskedCriterion(criterion=name, wording=criterion.wording)
        graded = examples_for(book, self._pool, subject)
        proposed = await propose_candidates(
            session.roles.author(),
            prompt,
            [criterion],
            shown=self._example(),
            known=synthesis.candidates,
            demand=Demand(True, criterion.by, wish, graded, asked_criterion.turns),
            instructions=instructions_of(session.settings, prompt).get("candidates", ""),
            emit=session.emit,
            arriving=lambda candidates: self._arriving.tell(name, candidates),
        )
        names = self._add(proposed) if proposed.candidates else ()
        self._files.remember(
            asked_criterion.replace(
                wording=criterion.wording,
                shown=len(may_be_shown(book, self._pool, subject)),
                turns=asked_criterion.turns + 1,
                rounds=asked_criterion.rounds + unasked,
                refused=dict(proposed.dropped),
                made=asked_criterion.made + len(names),
            )
        )
        if not (proposed.candidates or proposed.asked or proposed.dropped):
            return 0, _nothing_usable(session, "candidates")
        return len(names), _what_came(names, proposed, graded)

    def _add(self, made: NewCandidates) -> tuple[str, ...]:
        names: list[str] = []

        def step(synthesis: Synthesis) -> Synthesis:
            after, new = edit_criteria.with_added_candidates(synthesis, made.candidates)
            names.extend(new)
            return after

        self._files.add(step)
        return tuple(names)

    def _example(self) -> Shown:
        """An output that may be shown, if there is one: what the author sees of the prompt at work."""
        one = next((item for item in self._pool if item.is_shown), self._pool[0] if self._pool else None)
        return Shown(one.prompt, named_text(one.inputs), one.output) if one is not None else Shown()

    async def _ready(self) -> tuple[Session, Prompt]:
        session = await self._background.session()
        require_author(session)
        return session, read_prompt(session, self._files.prompt)


def _nothing_usable(session: Session, stage: str) -> str:
    label = session.roles.author().label
    return tr(
        "{author} gave nothing usable for {stage}; try another author (--author NAME).", author=label, stage=stage
    )


def _what_came(names: Sequence[str], made: NewCandidates, graded: GradedExamples) -> str:
    parts = [tr_n("{count} new candidate", "{count} new candidates", len(names))]
    if made.dropped:
        parts.append(tr("{count} refused", count=len(made.dropped)))
    return tr_n(
        "{what}; the author saw {count} graded output.",
        "{what}; the author saw {count} graded outputs.",
        len(graded.good) + len(graded.bad),
        what=", ".join(parts),
    )


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
        return self._is_running

    def stop(self) -> None:
        """Asks no judge from now on; the block that is under way is finished."""
        self.asks, self._is_due = False, True

    def end(self) -> None:
        self._has_ended = True

    async def run(self) -> None:
        """Runs what is missing; returns at once where a turn is under way, which then begins anew."""
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
