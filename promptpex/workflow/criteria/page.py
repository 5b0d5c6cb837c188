"""The criteria of a prompt while people grade its outputs: what the page of criteria shows and what it can do."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress

from promptpex.config import Resolved
from promptpex.core.errors import InputError, PromptpexError
from promptpex.core.events import Event, Listener, Notice, ignore_events
from promptpex.core.records import Example, Rule, Run, Synthesis
from promptpex.core.records.criteria_board import CriteriaBoard
from promptpex.core.translation import stored, tr, tr_n
from promptpex.grading.book import subjects_of
from promptpex.grading.labels import LabelRules
from promptpex.llm.client import Client
from promptpex.report.terminal import money
from promptpex.specs.file import read_spec
from promptpex.synthesis import edit_criteria
from promptpex.synthesis.proposing.graded_examples import agrees, is_due, is_open, may_be_shown
from promptpex.synthesis.results.matrix import Matrix, MatrixFile, in_force
from promptpex.workflow.criteria.background import Background, BackgroundJob, JobList
from promptpex.workflow.criteria.candidates import ArrivingCandidates, CandidateAuthor, CandidateRuns
from promptpex.workflow.criteria.files import CriteriaEdits, CriteriaFiles
from promptpex.workflow.criteria.state import BoardSources, shown_criteria
from promptpex.workflow.grading_desk import GradingProject, opinions_of
from promptpex.workflow.project_files import Files, files_of
from promptpex.workflow.roles import require_author
from promptpex.workflow.trying_candidates import ExampleSources, update_examples

MOST_NOTICES = 4


class CriteriaProject(CriteriaEdits):
    """What the page of criteria is handed (``web.ports.CriteriaPort``). Safe in several threads."""

    def __init__(
        self,
        resolved: Resolved,
        files: Files,
        pool: Sequence[Example],
        how: LabelRules,
        changed: Callable[[Synthesis], None],
        *,
        provider: Client | None = None,
        emit: Listener = ignore_events,
    ) -> None:
        self.pool, self._changed, self._emit = tuple(pool), changed, emit
        self._settings = resolved.settings
        self._notices: deque[str] = deque(maxlen=MOST_NOTICES)
        self._background = Background(resolved, provider=provider, emit=self._hear)
        super().__init__(CriteriaFiles(files, how), self._follow)
        self._arriving = ArrivingCandidates(lambda: self._background.start(self._run_all()))
        self._author = CandidateAuthor(self._background, self.files, pool, self._arriving)
        self._runs = CandidateRuns(self._background, self.files, self._arriving, pool, self._tell)
        self._jobs = JobList(self._background, self._halt)
        self._next_run: Future[None] | None = None
        self._renewing, self._made = False, 0
        self._looked_at: object = None
        self._price: tuple[int, str] = (-1, "")
        self._kept: tuple[object, BoardSources] | None = None

    def close(self) -> None:
        self._halt()
        self._runs.end()
        self._background.close()

    # What there is

    def board(self) -> CriteriaBoard:
        """All that the page shows; a file that cannot be used is its ``trouble``.

        Code that was never run on these outputs is run from the first look on.
        """
        name = self.files.prompt.name
        if self._next_run is None:
            self._run_soon()
        if self._renewing:
            self._ask_what_is_due()
        is_working = self._is_working  # what ends after this look is not on the page yet
        try:
            sources = self._sources()
            noted = len(self._author.noted(sources.synthesis, sources.book, most=len(self.pool)).bad)
        except InputError as failure:
            return CriteriaBoard(prompt=name, trouble=str(failure), work=self._jobs.shown())
        criteria = shown_criteria(sources, self._jobs.working())
        self._ask_price(len(self._open(sources)))
        book, rows = sources.book, [row for one in criteria for row in one.candidates]
        waiting = {row.id: row.waiting for row in rows if row.state == "waiting"}
        asking = {row.id: row.waiting for row in rows if row.asks and row.state == "waiting"}
        return CriteriaBoard(
            prompt=name,
            criteria=criteria,
            outputs=len(self.pool),
            graded=sum(any(book.joint(one, subject).graded for subject in book.subjects) for one in sources.graded),
            noted=noted,
            work=self._jobs.shown(),
            is_working=is_working,
            made=self._made + self._arriving.count,
            tried=sum(row.passes + row.fails + row.errors for row in {row.id: row for row in rows}.values()),
            to_try=sum(waiting.values()),
            culled=len({row.id for row in rows if row.state == "culled"}),
            spent=self._spent(),
            price=self._price[1],
            renewing=self._renewing,
            to_ask=0 if self._runs.asks else sum(asking.values()),
            notices=(*_gone(sources), *self._notices),
        )

    @property
    def _is_working(self) -> bool:
        if self._jobs.is_working:  # asked first: a job has its candidates run before it ends
            return True
        return (self._next_run is not None and not self._next_run.done()) or self._runs.is_running

    def _sources(self) -> BoardSources:
        """What the page is made of, read again only where a file has changed."""
        stamp = (*self.files.stamp(), self._arriving.stamp(), *self._runs.unanswered.items())
        if self._kept is not None and self._kept[0] == stamp:
            return self._kept[1]
        synthesis, arriving = self._arriving.with_file(self.files.read())
        matrix = Matrix(in_force(synthesis), self.pool)
        matrix.take(MatrixFile(self.files.folder.matrix).read())
        rules, book = self.files.rules(), self.files.book(synthesis)
        unanswered = dict(self._runs.unanswered)
        sources = BoardSources(synthesis, rules, self.pool, book, matrix, self.files.asked(), unanswered, arriving)
        self._kept = stamp, sources
        return sources

    def _spent(self) -> str:
        session = self._background.opened
        if session is None:
            return ""
        total = session.meter.total
        if not (total.requests or total.cached or total.failed):
            return ""
        parts = [tr_n("{count} request", "{count} requests", total.requests)]
        parts += [tr("{count} from the store", count=total.cached)] if total.cached else []
        parts += [money(total.cost_usd)]
        parts += [tr("{count} of unknown price", count=total.unpriced)] if total.unpriced else []
        return ", ".join(parts)

    def _ask_price(self, criteria: int) -> None:
        """Has the price of so many criteria estimated, which may mean to look for an author."""
        if self._price[0] == criteria:
            return
        self._price = criteria, ""

        async def estimated() -> None:
            try:
                price = await self._author.price(criteria) if criteria else ""
            except PromptpexError as failure:
                price = str(failure)
            self._price = criteria, price

        if criteria:
            self._background.start(estimated())

    def _follow(self, synthesis: Synthesis) -> None:
        """What follows a change: people can grade by it, and what is new is run."""
        self._changed(synthesis)
        self._run_soon()

    # What is asked of models

    def infer(self) -> str:
        require_author(self._settings)
        self._start(stored("criteria from the prompt"), "", self._author.infer)
        return tr("The author is asked for criteria.")

    def from_notes(self) -> str:
        require_author(self._settings)
        self._start(stored("criteria from notes"), "", self._author.from_notes)
        return tr("The author is asked for criteria.")

    def make(self, name: str = "", wish: str = "") -> str:
        """Has candidates made: for one criterion, or for all that nothing was asked for in their present words."""
        require_author(self._settings)
        self._runs.asks = True
        if name:
            edit_criteria.find(self.files.read(), name)
            self._make(name, wish)
            return tr("The author is asked for candidates for {name}.", name=name)
        due = self._open(self._sources())
        for one in due:
            self._make(one)
        self._run_soon()
        if not due:
            return tr("Candidates have been requested for every criterion; ask for more at the criterion.")
        return tr_n(
            "The author is asked for candidates for {count} criterion.",
            "The author is asked for candidates for {count} criteria.",
            len(due),
        )

    def ask_judge(self) -> str:
        self._runs.asks = True
        self._run_soon()
        return tr("The judge is asked.")

    def renew(self, on: bool) -> str:
        """Whether candidates are made again as grades come."""
        if on and not self._renewing:
            require_author(self._settings)
            self._renewing, self._runs.asks = True, True
            self._looked_at = None
        self._renewing = on
        again, asked_sentence = (
            tr("Candidates are made again as grades come."),
            tr("Candidates are made when you ask for them."),
        )
        return again if on else asked_sentence

    def stop(self) -> str:
        """Starts nothing more; what is on its way still comes in and is kept."""
        dropped = self._halt()
        return tr_n(
            "Stopped; {count} request not sent. What is on its way still comes in.",
            "Stopped; {count} requests not sent. What is on its way still comes in.",
            dropped,
        )

    def _halt(self) -> int:
        self._renewing = False
        self._runs.stop()
        return self._jobs.drop()

    def _open(self, sources: BoardSources) -> list[str]:
        """The ids of the criteria that an author shall be asked about when a person says so for all."""
        covered = {name for one in sources.synthesis.candidates for name in one.criteria}
        criteria = sources.synthesis.criteria
        return [one.id for one in criteria if is_open(one, sources.asked.of(one.id), has_candidates=one.id in covered)]

    def _due(self, sources: BoardSources) -> list[str]:
        """The ids of the criteria that an author shall be asked about as grades come."""
        running = in_force(sources.synthesis)
        due = []
        for one in sources.synthesis.criteria:
            subject = sources.subject(one)
            graded = may_be_shown(sources.book, sources.graded, subject)
            agreeing = any(
                agrees(each, sources.matrix, sources.book, graded, subject)
                for each in running
                if one.id in each.criteria and not each.is_outdated([one])
            )
            if is_due(one, sources.asked.of(one.id), len(graded), agreeing):
                due.append(one.id)
        return due

    def _make(self, name: str, wish: str = "", *, unasked: bool = False) -> None:
        async def work() -> str:
            new_count, sentence = await self._author.candidates(name, wish, unasked=unasked)
            self._made += new_count
            return sentence

        self._start(stored("candidates"), name, work)

    def _start(self, what: str, name: str, work: Callable[[], Awaitable[str]]) -> None:
        async def and_then() -> str:
            sentence = await work()
            self._tell()
            self._run_soon()
            return sentence

        self._jobs.start(BackgroundJob(what, name), and_then)

    def _run_soon(self) -> None:
        """Has what is new run; the page says from now on that there is work."""
        self._next_run = self._background.start(self._run_all())

    async def _run_all(self) -> None:
        try:
            await self._runs.run()
        except (PromptpexError, OSError) as failure:
            self._notices.append(tr("candidates were not run: {reason}", reason=failure))

    def _ask_what_is_due(self) -> None:
        """Asks again where grades or criteria have changed since the last look."""
        stamp = self.files.stamp()
        if stamp == self._looked_at or self._jobs.is_working:
            return
        self._looked_at = stamp
        try:
            for name in self._due(self._sources()):
                self._make(name, unasked=True)
        except InputError as failure:
            self._notices.append(str(failure))

    def _tell(self) -> None:
        try:
            self._changed(self.files.read())
        except InputError as failure:
            self._notices.append(str(failure))

    def _hear(self, event: Event) -> None:
        if isinstance(event, Notice) and event.level == "warning" and event.message not in self._notices:
            self._notices.append(event.message)
        self._emit(event)


def _gone(sources: BoardSources) -> list[str]:
    missing_subjects = sorted({one.subject for one in sources.book.grades} - set(sources.book.subjects))
    count = sum(one.subject in set(missing_subjects) for one in sources.book.grades)
    names = ", ".join(missing_subjects[:5])
    missing_sentence = tr_n(
        "{count} grade on removed rules or criteria ({names}) not counted",
        "{count} grades on removed rules or criteria ({names}) not counted",
        count,
        names=names,
    )
    return [missing_sentence] if missing_subjects else []


def criteria_beside(
    project: GradingProject,
    resolved: Resolved,
    how: LabelRules,
    *,
    provider: Client | None = None,
    emit: Listener = ignore_events,
) -> CriteriaProject:
    """The criteria of a project that is graded, to be closed at the end.

    A criterion that comes, goes or is reworded does so at the desk too, what candidates say of outputs is an opinion
    there at once, and the examples that a choice is made on keep up with people's grades.
    """
    files = files_of(project.file)

    def changed(synthesis: Synthesis) -> None:
        spec = read_spec(files.spec) if files.spec.exists() else project.spec
        subjects = subjects_of(spec.rules, (one for one in synthesis.criteria if one.selected))
        opinions = opinions_of(project.desk.pool, project.runs, spec, synthesis, project.folder)
        project.desk.regard(subjects, opinions)
        if synthesis.candidates:
            with suppress(InputError):  # a choice says by itself what is wrong with its examples
                _update_examples(project, spec.rules, how)

    return CriteriaProject(resolved, files, project.desk.pool, how, changed, provider=provider, emit=emit)


def _update_examples(project: GradingProject, rules: Sequence[Rule], how: LabelRules) -> None:
    """Brings the examples of the synthesis folder up to date with the runs of this version, and their labels."""
    current = [run for run in project.runs if run.prompt.fingerprint == project.prompt.fingerprint]
    sources_of_runs: tuple[Run | None, ...] = tuple(current) or (None,)
    for run in sources_of_runs:
        sources = ExampleSources(run=run, rules=how)
        update_examples(project.folder, project.file, project.prompt, rules, sources, ignore_events)
