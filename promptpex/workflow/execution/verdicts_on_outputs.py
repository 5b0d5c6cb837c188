"""The verdicts on a run's outputs: code first, judges for the rest. Those on an output are weighed and put away as soon
as the last judge has spoken of it, so that memory holds those alone that are asked about now.

Judging goes along with collecting: an output is checked, and judged, when it and all that were asked before it of the
same model are in. So whatever ends a run, what was judged of a model is the first of the seeded order, and not what was
answered first: slow answers fail more often than fast ones.
"""

from __future__ import annotations

import asyncio
import sys
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager

from promptpex.assertions import RuleCheckJob
from promptpex.core.events import StepDone, stage_events
from promptpex.core.outcomes import not_asked
from promptpex.core.records import NOT_ASKED, ModelName, Output, OutputKey, Run, Verdict
from promptpex.engines import LocalEngine, for_each
from promptpex.judging.judge import STAGE, Judge
from promptpex.judging.verdict_precedence import Weights, after_broken, unjudged, unscored_verdicts
from promptpex.llm.pacing.cancellation import Changes
from promptpex.report.runs import RunRecords
from promptpex.workflow.execution.check_questions import RunChecks, checking, question_judges, results_of
from promptpex.workflow.execution.judges import judges_for
from promptpex.workflow.execution.lead_of_answers import LeadOfAnswers
from promptpex.workflow.execution.order import AskedJudge, judging_order, questions_before, serial_server
from promptpex.workflow.execution.outcomes_so_far import OutcomesSoFar
from promptpex.workflow.execution.verdicts_of_code import VerdictsOfCode, inputs_of, rules_of_outputs, verdicts_of_code
from promptpex.workflow.session import Session

PART, PART_OF_WORKERS = 4096, 32_768
"""Outputs that code looks at at a time, some megabytes; where workers do so, which are started each time, more."""

PART_ALONG = 32
"""Outputs that code looks at at a time while answers come, which wait meanwhile."""

JUDGED_AT_ONCE = 2048
"""Questions to judges alive at a time, which bounds memory. How many are in flight is up to the limiter."""


class OutputVerdicts:
    """Makes the verdicts on some outputs of a run, and puts them among its records.

    Args:
        run: what it was made from; its outputs are among the records.
        part: outputs that code looks at before the next are read, where all are there; None: as many as its engine is
            worth. Where checks put questions to a judge, it is all of them.

    Attributes:
        judges: those that are asked about what code does not decide.
        answering: the judge that answers the questions of checks; without it they stay open.
        mode_rules: by their ids, the rules that the judge mode adds.
        reasons: the reason codes of what is unscored, of outputs and of verdicts.
    """

    def __init__(self, session: Session, run: Run, records: RunRecords, *, part: int | None = None) -> None:
        self._session, self._run, self._records, self._part = session, run, records, part
        self._rules = [rule for rule in run.spec.rules if not rule.stale]
        self.judges = judges_for(session, run.prompt, run.spec)
        self.answering = question_judges(session, run.prompt, self._rules)
        self.mode_rules = {rule.id: rule.rule for judge in self.judges for rule in judge.options.judge_mode.own_rules}
        self.reasons: set[str | None] = set()
        self._known, settings = OutcomesSoFar(session.emit), session.settings
        self._weights = Weights(run.spec, quorum=settings.quorum, min_agreement=settings.min_agreement)
        self._names = [*(rule.id for rule in self._rules), *self.mode_rules]
        self._rank = {rule: number for number, rule in enumerate(self._names)}
        self._asked = {rule.id for judge in self.judges for rule in judge.rules}
        self._to_judge = _ToJudge(records, self.judges, session.settings.judge_repeat)
        self._order: list[AskedJudge] = []
        self._cut: dict[AskedJudge, Verdict] = {}
        self._turns: _Turns | None = None
        self._following: asyncio.Task[None] | None = None
        self._lead = LeadOfAnswers(session, ())

    async def make(self, places: Sequence[int]) -> None:
        """The verdicts on the outputs at these places, which are all there."""
        engine = self._session.engine_for(results_of(self._rules, len(places)))
        check = checking(engine, self._rules)
        part = self._part or (PART if isinstance(engine, LocalEngine) else PART_OF_WORKERS)
        for part_places in _parts(places, max(1, len(places)) if self.answering else part):
            await self._look_at(part_places, check)
        await self._judge_all()

    @asynccontextmanager
    async def along(self, places: Sequence[int], models: Sequence[str]) -> AsyncIterator[None]:
        """Makes the verdicts on the outputs at these places, which come while the context is open (``add``).

        They are made when all are in where workers check them, and where checks put questions to a judge.

        Args:
            places: in the order in which they are asked.
            models: their models, by their labels.
        """
        if self.answering or not isinstance(
            self._session.engine_for(results_of(self._rules, len(places))), LocalEngine
        ):
            yield
            await self.make(places)
            return
        self._turns = _Turns(places, models)
        part = len(places) // len(set(models)) if _take_turns_on_a_server(self._session, self.judges) else None
        self._lead = LeadOfAnswers(self._session, self.judges, outputs_of_model=part)
        async with RuleCheckJob(tuple(self._rules)).open() as check:
            with stage_events(self._session.emit, STAGE, self._totals(len(places))):
                self._following = asyncio.create_task(self._follow(check))
                self._following.add_done_callback(lambda _: self._lead.end())
                try:
                    yield
                    self._turns.end()
                    await self._following
                finally:
                    self._following.cancel()
                    await asyncio.gather(self._following, return_exceptions=True)
                await self._ask([asked for asked in self._judging_order() if asked[2]])
                self._take_without_questions()

    async def room(self, model: ModelName) -> None:
        """Waits, before another output of a model is asked for, while answers are far enough ahead of verdicts.

        Raises:
            PromptpexError: what has ended the judging.
        """
        if self._following is None:
            return
        await self._lead.room(model)
        if self._following.done():
            await self._following

    def add(self, place: int, output: Output) -> None:
        """An output is among the records."""
        if self._turns is not None:
            due = self._turns.add(place, output.model)
            self._lead.answered(output.model, due=due)

    async def _follow(self, check: RunChecks) -> None:
        """Looks at the outputs in their order, and asks judges about them."""
        assert self._turns is not None
        alive, first = asyncio.Semaphore(JUDGED_AT_ONCE), 0
        try:
            async with asyncio.TaskGroup() as tasks:
                async for places in self._turns.due(PART_ALONG):
                    await self._look_at(places, check, steps=True)
                    self._lead.looked_at(len(places))
                    for at in range(first, len(self._to_judge.keys)):
                        for asked in ((judge, at, 0) for judge in range(len(self.judges))):
                            self._order.append(asked)
                            if self._to_judge.has_question(asked):
                                await alive.acquire()
                                self._lead.asks(1)
                                tasks.create_task(self._judge_along(asked, alive))
                    first = len(self._to_judge.keys)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _judge_along(self, asked: AskedJudge, alive: asyncio.Semaphore) -> None:
        try:
            await self._judge_one(asked)
        finally:
            alive.release()
            self._lead.asks(-1)

    async def _look_at(self, places: Sequence[int], check: RunChecks, *, steps: bool = False) -> None:
        """Has code look at the outputs at these places; ``steps``: those that no judge is asked about for want of an
        answer count as steps of judging."""
        outputs = [(place, output) for place in places for output in self._records.outputs.at(place)]
        usable = [output for _, output in outputs if output.error is None]
        run = self._run
        code = await verdicts_of_code(self._session, check, run.prompt, self._rules, run.suite, usable, self.answering)
        self._take_code(outputs, code)
        for _, output in outputs if steps else ():
            if output.error is not None:
                reason = output.error if output.error in NOT_ASKED else None
                for judge in self.judges:
                    for _ in range(self._session.settings.judge_repeat):
                        self._session.emit(StepDone(STAGE, judge.role_model.label, reason))

    def _take_code(self, outputs: Sequence[tuple[int, Output]], code: VerdictsOfCode) -> None:
        """Takes in what code says of outputs; those that no judge is asked about have all of their verdicts."""
        by_code: defaultdict[OutputKey, list[Verdict]] = defaultdict(list)
        for verdict in code.weighable(self._asked):
            by_code[verdict.key].append(verdict)
        settled, unmet = code.settled, rules_of_outputs(code.unmet)
        for place, output in outputs:
            if output.error is not None:
                self._end(place, output, unscored_verdicts(output, self._names))
                continue
            verdicts = by_code.pop(output.key, [])
            self._known.code(place, verdicts)
            if self.judges:
                self._to_judge.add(place, output.key, verdicts, settled.get(output.key, ()))
            else:
                open_ = unjudged(output, self._rules, unmet.get(output.key, ()))
                self._end(place, output, [*self._weighed(verdicts, []), *open_])
        self.reasons.update(output.error for _, output in outputs)

    def _totals(self, outputs: int) -> dict[str, int]:
        return {judge.role_model.label: outputs * self._session.settings.judge_repeat for judge in self.judges}

    def _judging_order(self) -> list[AskedJudge]:
        models, settings = [judge.role_model.model for judge in self.judges], self._session.settings
        keys, cases = self._to_judge.keys, self._run.suite.usable()
        return judging_order(keys, cases, models, turns=settings.judge_repeat, seed=settings.seed)

    async def _judge_all(self) -> None:
        with stage_events(self._session.emit, STAGE, self._totals(len(self._to_judge.keys))):
            await self._ask(self._judging_order())
            self._take_without_questions()

    async def _ask(self, order: Sequence[AskedJudge]) -> None:
        """Asks each judge about each output, turn by turn."""
        self._order += order
        await for_each(self._judge_one, filter(self._to_judge.has_question, order), alive=JUDGED_AT_ONCE)

    async def _judge_one(self, asked: AskedJudge) -> None:
        (output,) = self._records.outputs.at(self._to_judge.places[asked[1]])
        settled, inputs = self._to_judge.settled.get(asked[1], ()), inputs_of(self._run.suite, output.case)
        verdicts = await self.judges[asked[0]].judge(output, inputs, turn=asked[2], left_out=settled)
        if why := not_asked(verdicts):
            self._cut[asked] = why[0]
        self._take(asked, output, verdicts)

    def _take_without_questions(self) -> None:
        """Ends the outputs that code left a judge nothing to ask about.

        Where judges stop being asked before the end, such an output counts only if the question before it was asked:
        it is a failure by code above all, and all of them would be left among few of the others.
        """
        for asked, question in questions_before(self._order, self._to_judge.has_question).items():
            (output,) = self._records.outputs.at(self._to_judge.places[asked[1]])
            why = self._cut.get(question) if question is not None else None
            of = {"case": output.case, "model": output.model, "repeat": output.repeat}
            rules = self.judges[asked[0]].rules if why is not None else ()
            self._take(asked, output, [why.replace(**of, rule=rule.id) for rule in rules] if why is not None else [])

    def _take(self, asked: AskedJudge, output: Output, verdicts: Sequence[Verdict]) -> None:
        judge, at = self.judges[asked[0]], asked[1]
        missing = next((verdict.unscored for verdict in verdicts if verdict.unscored), None)
        self._session.emit(StepDone(STAGE, judge.role_model.label, missing))
        heard = self._to_judge.heard(asked, verdicts)
        if heard is not None:
            self._end(self._to_judge.places[at], output, self._weighed(self._to_judge.by_code.at(at), heard))

    def _weighed(self, by_code: Sequence[Verdict], judged: Sequence[Sequence[Verdict]]) -> list[Verdict]:
        return after_broken(self._rules, self._weights.weigh(by_code, judged))

    def _end(self, place: int, output: Output, verdicts: Sequence[Verdict]) -> None:
        """Puts away all verdicts on an output, in the order of the rules."""
        ranked = sorted(verdicts, key=lambda verdict: self._rank.get(verdict.rule, -1))
        self._records.verdicts.put(place, ranked)
        self._known.end(place, output, ranked)
        self.reasons.update(verdict.unscored for verdict in ranked)


class _Turns:
    """Which outputs are in with all that were asked before them of the same model.

    Args:
        places, models: as of ``OutputVerdicts.along``.
    """

    def __init__(self, places: Iterable[int], models: Iterable[str]) -> None:
        self._expected: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, model in zip(places, models, strict=True):
            self._expected[model].append(place)
        self._early, self._due = set[int](), deque[int]()
        self._all_in, self._changes = False, Changes()

    def add(self, place: int, model: str) -> int:
        """An output is in; gives how many have their turn by that."""
        self._early.add(place)
        expected, before = self._expected[model], len(self._due)
        while expected and expected[0] in self._early:
            self._early.remove(expected[0])
            self._due.append(expected.popleft())
        if self._due:
            self._changes.announce()
        return len(self._due) - before

    def end(self) -> None:
        """All are in."""
        self._all_in = True
        self._changes.announce()

    async def due(self, most: int) -> AsyncIterator[list[int]]:
        """The places of outputs, some at a time, until all had their turn."""
        while self._due or not self._all_in:
            if not self._due:
                await self._changes.wait()
            else:
                yield [self._due.popleft() for _ in range(min(most, len(self._due)))]


class _ToJudge:
    """The outputs that judges are asked about, and what was said of them so far.

    Args:
        judges, turns: how many are asked, and how often each.

    Attributes:
        places, keys: of the outputs, by their numbers.
        settled: ids of rules that no judge is asked about, by the numbers of the outputs; none where nothing is.
        by_code: the verdicts of code.
    """

    def __init__(self, records: RunRecords, judges: Sequence[Judge], turns: int) -> None:
        self.places, self.keys = array("q"), list[OutputKey]()
        self.settled: dict[int, frozenset[str]] = {}
        self.by_code, self._by_judges = records.further_verdicts(), records.further_verdicts()
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._missing = array("q")
        self._rules = [{rule.id for rule in judge.rules} for judge in judges]
        self._turns = turns

    def add(self, place: int, key: OutputKey, verdicts: Sequence[Verdict], settled: Collection[str]) -> None:
        """Takes in an output and what code says of it."""
        if settled:
            rules = frozenset(settled)
            self.settled[len(self.keys)] = self._sets.setdefault(rules, rules)
        self.by_code.put(len(self.keys), verdicts)
        self.places.append(place)
        self.keys.append((sys.intern(key[0]), sys.intern(key[1]), key[2]))
        self._missing.append(len(self._rules) * self._turns)

    def has_question(self, asked: AskedJudge) -> bool:
        """Whether not all that the judge gives verdicts on is settled."""
        settled = self.settled.get(asked[1])
        return settled is None or not self._rules[asked[0]] <= settled

    def heard(self, asked: AskedJudge, verdicts: Sequence[Verdict]) -> list[list[Verdict]] | None:
        """Takes in what a judge says; where all have spoken of the output, what each of them has said."""
        at = asked[1]
        self._missing[at] -= 1
        if self._missing[at]:
            self._by_judges.put(self._slot(asked), verdicts)
            return None
        return [
            [
                verdict
                for turn in range(self._turns)
                for verdict in self._verdicts_by((judge, at, turn), asked, verdicts)
            ]
            for judge in range(len(self._rules))
        ]

    def _verdicts_by(self, by: AskedJudge, last: AskedJudge, verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        return verdicts if by == last else self._by_judges.at(self._slot(by))

    def _slot(self, asked: AskedJudge) -> int:
        judge, at, turn = asked
        return (at * len(self._rules) + judge) * self._turns + turn


def _take_turns_on_a_server(session: Session, judges: Sequence[Judge]) -> bool:
    """Whether a server that loads one model at a time has a judge and another model."""
    judging = {judge.role_model.label: judge.role_model.model for judge in judges}
    models = judging | {model.label: model for model in session.roles.models()}
    servers = {label: serial_server(model) for label, model in models.items()}
    shared = Counter(servers.values())
    return any(servers[label] is not None and shared[servers[label]] > 1 for label in judging)


def _parts(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (places[start : start + size] for start in range(0, len(places), size))
