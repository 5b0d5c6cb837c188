"""The verdicts on a run's outputs: code first, judges for the rest. Those on an output are weighed and put away as soon
as the last judge has spoken of it, so that memory holds those alone that are asked about now."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from promptpex.core.events import StepDone, stage_events
from promptpex.core.outcomes import not_asked
from promptpex.core.records import Output, OutputKey, Run, Verdict
from promptpex.engines import LocalEngine, for_each
from promptpex.judging.judge import STAGE, Judge
from promptpex.judging.questions import QuestionJudge
from promptpex.judging.verdict_precedence import after_broken, unjudged, unscored_verdicts
from promptpex.report.runs import RunRecords
from promptpex.workflow.execution.check_questions import checking, results_of
from promptpex.workflow.execution.order import judging_order, serial_server
from promptpex.workflow.execution.outcomes_so_far import OutcomesSoFar, weights_of
from promptpex.workflow.execution.verdicts_of_code import VerdictsOfCode, inputs_of, rules_of_outputs, verdicts_of_code
from promptpex.workflow.session import Session

PART, PART_OF_WORKERS = 4096, 32_768
"""Outputs that code looks at at a time, some megabytes; where workers do so, which are started each time, more."""

AskedJudge = tuple[int, int, int]
"""A judge, an output and a turn by their numbers."""


class OutputVerdicts:
    """Makes the verdicts on some outputs of a run, and puts them among its records.

    Args:
        run: what it was made from; its outputs are among the records.
        judges: those that are asked about what code does not decide.
        known: is told what is known of each output as soon as it is.
        part: outputs that code looks at before the next are read; None: as many as its engine is worth. Where checks
            put questions to a judge, it is all of them.

    Attributes:
        reasons: the reason codes of what is unscored, of outputs and of verdicts.
    """

    def __init__(
        self,
        session: Session,
        run: Run,
        records: RunRecords,
        judges: Sequence[Judge],
        known: OutcomesSoFar,
        *,
        part: int | None = None,
    ) -> None:
        self._session, self._run, self._records, self._judges, self._known = session, run, records, judges, known
        self._rules = [rule for rule in run.spec.rules if not rule.stale]
        self._weights = weights_of(session, run.spec)
        self._asked = {rule.id for judge in judges for rule in judge.rules}
        self.mode_rules = {rule.id: rule.rule for judge in judges for rule in judge.options.judge_mode.own_rules}
        self._names = [*(rule.id for rule in self._rules), *self.mode_rules]
        self._rank = {rule: number for number, rule in enumerate(self._names)}
        self.reasons: set[str | None] = set()
        self._to_judge = _ToJudge(records)
        self._part = part

    async def make(self, places: Sequence[int], answering: Sequence[QuestionJudge]) -> None:
        """The verdicts on the outputs at these places.

        Args:
            answering: the judge that answers the questions of checks; without it they stay open.
        """
        engine, run = self._session.engine_for(results_of(self._rules, len(places))), self._run
        check = checking(engine, self._rules)
        part = self._part or (PART if isinstance(engine, LocalEngine) else PART_OF_WORKERS)
        for part_places in _parts(places, max(1, len(places)) if answering else part):
            outputs = [(place, output) for place in part_places for output in self._records.outputs.at(place)]
            usable = [output for _, output in outputs if output.error is None]
            code = await verdicts_of_code(self._session, check, run.prompt, self._rules, run.suite, usable, answering)
            self._take_code(outputs, code)
        await self._ask_judges()

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
            if self._judges:
                self._to_judge.add(place, output.key, verdicts, settled.get(output.key, ()))
            else:
                open_ = unjudged(output, self._rules, unmet.get(output.key, ()))
                self._end(place, output, [*self._weighed(verdicts, []), *open_])
        self.reasons.update(output.error for _, output in outputs)

    async def _ask_judges(self) -> None:
        """Asks each judge about each output, turn by turn; at last those that code left it nothing to ask about.

        Where judges stop being asked before the end, an output without a question counts only if the one before it
        was asked: such outputs are failures by code above all, and all of them would be left among few of the others.
        """
        session, judges, to_judge, suite = self._session, self._judges, self._to_judge, self._run.suite
        turns, seed = session.settings.judge_repeat, session.settings.seed
        models = [judge.role_model.model for judge in judges]
        order = judging_order(to_judge.keys, suite.usable(), models, turns=turns, seed=seed, serial=serial_server)
        totals = {judge.role_model.label: len(to_judge.keys) * turns for judge in judges}
        to_judge.begin(len(judges), turns)
        before = questions_before(order, to_judge.without_questions(judges))
        cut: dict[AskedJudge | None, Verdict | None] = dict.fromkeys(before.values())

        async def judge_one(asked: AskedJudge) -> None:
            (output,) = self._records.outputs.at(to_judge.places[asked[1]])
            settled, inputs = to_judge.settled.get(asked[1], ()), inputs_of(suite, output.case)
            verdicts = await judges[asked[0]].judge(output, inputs, turn=asked[2], left_out=settled)
            if asked in cut:
                cut[asked] = next(iter(not_asked(verdicts)), None)
            take(asked, output, verdicts)

        def take_without_question(asked: AskedJudge) -> None:
            (output,) = self._records.outputs.at(to_judge.places[asked[1]])
            why = cut.get(before[asked])
            of = {"case": output.case, "model": output.model, "repeat": output.repeat}
            take(asked, output, [why.replace(**of, rule=rule.id) for rule in judges[asked[0]].rules] if why else [])

        def take(asked: AskedJudge, output: Output, verdicts: Sequence[Verdict]) -> None:
            judge, at = judges[asked[0]], asked[1]
            missing = next((verdict.unscored for verdict in verdicts if verdict.unscored), None)
            session.emit(StepDone(STAGE, judge.role_model.label, missing))
            heard = to_judge.heard(asked, verdicts)
            if heard is not None:
                self._end(to_judge.places[at], output, self._weighed(to_judge.by_code.at(at), heard))

        with stage_events(session.emit, STAGE, totals):
            await for_each(judge_one, (asked for asked in order if asked not in before))
            for asked in before:
                take_without_question(asked)

    def _weighed(self, by_code: Sequence[Verdict], judged: Sequence[Sequence[Verdict]]) -> list[Verdict]:
        return after_broken(self._rules, self._weights.weigh(by_code, judged))

    def _end(self, place: int, output: Output, verdicts: Sequence[Verdict]) -> None:
        """Puts away all verdicts on an output, in the order of the rules."""
        ranked = sorted(verdicts, key=lambda verdict: self._rank.get(verdict.rule, -1))
        self._records.verdicts.put(place, ranked)
        self._known.end(place, output, ranked)
        self.reasons.update(verdict.unscored for verdict in ranked)


class _ToJudge:
    """The outputs that judges are asked about, and what was said of them so far.

    Attributes:
        places, keys: of the outputs, by their numbers.
        settled: ids of rules that no judge is asked about, by the numbers of the outputs; none where nothing is.
        by_code: the verdicts of code.
    """

    def __init__(self, records: RunRecords) -> None:
        self.places, self.keys = array("q"), list[OutputKey]()
        self.settled: dict[int, frozenset[str]] = {}
        self.by_code, self._by_judges = records.further_verdicts(), records.further_verdicts()
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._missing = array("q")
        self._judges = self._turns = 0

    def add(self, place: int, key: OutputKey, verdicts: Sequence[Verdict], settled: Collection[str]) -> None:
        """Takes in an output and what code says of it."""
        if settled:
            rules = frozenset(settled)
            self.settled[len(self.keys)] = self._sets.setdefault(rules, rules)
        self.by_code.put(len(self.keys), verdicts)
        self.places.append(place)
        self.keys.append((sys.intern(key[0]), sys.intern(key[1]), key[2]))

    def begin(self, judges: int, turns: int) -> None:
        """All outputs are in; so many judges are asked so often."""
        self._judges, self._turns = judges, turns
        self._missing = array("q", [judges * turns]) * len(self.keys)

    def without_questions(self, judges: Sequence[Judge]) -> set[tuple[int, int]]:
        """The judges and outputs, by their numbers, where all that the judge gives verdicts on is settled."""
        rules = [{rule.id for rule in judge.rules} for judge in judges]
        return {
            (judge, at) for at, settled in self.settled.items() for judge, own in enumerate(rules) if own <= settled
        }

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
            for judge in range(self._judges)
        ]

    def _verdicts_by(self, by: AskedJudge, last: AskedJudge, verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        return verdicts if by == last else self._by_judges.at(self._slot(by))

    def _slot(self, asked: AskedJudge) -> int:
        judge, at, turn = asked
        return (judge * self._turns + turn) * len(self.keys) + at


def questions_before(
    order: Sequence[AskedJudge], without: Collection[tuple[int, int]]
) -> dict[AskedJudge, AskedJudge | None]:
    """By what is ``without`` a question, in its order, the question to the same judge that comes last before it, else
    first after it; None where there is none."""
    before: dict[AskedJudge, AskedJudge | None] = {}
    last: dict[int, AskedJudge] = {}
    waiting: dict[int, list[AskedJudge]] = defaultdict(list)
    for asked in order if without else ():
        if asked[:2] in without:
            before[asked] = last.get(asked[0])
            if asked[0] not in last:
                waiting[asked[0]].append(asked)
            continue
        last[asked[0]] = asked
        before |= dict.fromkeys(waiting.pop(asked[0], ()), asked)
    return before


def _parts(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (places[start : start + size] for start in range(0, len(places), size))
