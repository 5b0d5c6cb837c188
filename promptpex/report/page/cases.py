"""The outputs of the report's page, case by case: those that fail first, each with what filters look for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from promptpex.core.outcomes import HEAVIEST_FIRST
from promptpex.core.records import EXPECTED, NOT_CONCERNED, Case
from promptpex.core.translation import Key, from_data, tr
from promptpex.report.metrics_in_words import points, scales
from promptpex.report.page.addresses import FirstTargets, Ids
from promptpex.report.page.asked import Asked, SentMessages, all_asked
from promptpex.report.run_tables import ChosenOutputs
from promptpex.report.summary import Summary
from promptpex.tables import AnyRun, Table, records

VERDICTS = ("fail", "unscored", "pass")

DIFFER, DISAGREE, FLAKY = "differ", "disagree", "flaky"
"""What else is said of an output: that the verdicts on the models differ in its case, that code and a judge or two
judges contradict each other about it, that the repeats of its model differ in its case."""

ONLY = {DIFFER: Key("models differ"), DISAGREE: Key("judges or code disagree"), FLAKY: Key("repeats differ")}
"""The same as the page's filters call it."""

LETTERS = {status: status[0] for status in HEAVIEST_FIRST}
"""How an output's verdict on a rule is written for the filters, the heaviest first; ``-`` stands for none."""

OutputKey = tuple[str, str, int]


class ShownVerdict(NamedTuple):
    """A verdict, as far as the page shows it."""

    rule: str
    status: str
    reason: str
    unscored: str | None
    source: str
    counts: bool


@dataclass(frozen=True, slots=True)
class ShownScore:
    """A score of an output: its value in words, and ``mark``, their colour: ``pass``, ``fail`` or ``unscored``."""

    name: str
    text: str
    mark: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """One output with its scores and the verdicts worth reading.

    Attributes:
        row: of the table of outputs.
        model_index: its model's position.
        closed: by a rule that it breaks, those that can only be looked at where that one is kept.
        letters: its verdict on each rule of the page that counts, one of ``LETTERS`` or ``-``.
        marks: those of ``DISAGREE`` and ``FLAKY`` that hold.
        ids: by which links find it.
        verdict_ids: the same of each of its verdicts.
    """

    row: Mapping[str, Any]
    model_index: int
    verdicts: tuple[ShownVerdict, ...]
    passed: tuple[str, ...]
    not_concerned: tuple[str, ...]
    closed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scores: tuple[ShownScore, ...] = ()
    letters: str = ""
    marks: tuple[str, ...] = ()
    ids: Ids = ("", "")
    verdict_ids: tuple[Ids, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """A case and its outputs; ``marks`` names what a filter may look for, such as ``m0-fail``, ``place`` is where the
    suite has it, ``differ`` whether the models' verdicts do."""

    id: str
    aim: str | None
    inverse: bool
    asked: Asked
    expected: str | None
    answers: tuple[ShownOutput, ...]
    counts: Mapping[str, int]
    marks: tuple[str, ...]
    place: int
    differ: bool


def case_groups(
    summary: Summary,
    shown: ChosenOutputs,
    names: Sequence[str],
    rules: Sequence[str],
    sent: SentMessages | None = None,
) -> tuple[CaseGroup, ...]:
    """The cases of some outputs, those with most failures first, then those with most unscored outputs, else
    as the suite has them.

    Args:
        shown: the outputs, and what is said of them.
        names, rules: the models and rules of the page in its order.
        sent: says what models were sent.
    """
    groups = _grouped(summary, _answers(summary, shown, names, rules))
    ordered = sorted(groups, key=lambda group: [-group.counts.get(name, 0) for name in ("fail", "unscored")])
    sent_messages = all_asked(summary.run.suite.cases, [group.id for group in ordered], sent)
    return tuple(replace(group, asked=sent_messages.get(group.id, group.asked)) for group in ordered)


def with_targets(groups: Iterable[CaseGroup]) -> tuple[tuple[CaseGroup, ...], frozenset[str]]:
    """The cases with the ids by which links lead into them, and all addresses that lead somewhere."""
    targets = FirstTargets()
    linked_groups = tuple(
        replace(group, answers=tuple(_targeted(answer, targets) for answer in group.answers)) for group in groups
    )
    return linked_groups, frozenset(targets.addresses)


def only(groups: Iterable[CaseGroup]) -> Iterator[tuple[str, str]]:
    """What of ``ONLY`` is said of any output, with its words."""
    marks_present = {mark for group in groups for answer in group.answers for mark in answer.marks}
    marks_present |= {DIFFER for group in groups if group.differ}
    yield from ((mark, words) for mark, words in ONLY.items() if mark in marks_present)


def _targeted(answer: ShownOutput, targets: FirstTargets) -> ShownOutput:
    model = answer.row["model"]
    return replace(
        answer,
        ids=targets.of_output(model, answer.row["verdict"]),
        verdict_ids=tuple(
            targets.of_verdict(verdict.rule, model, verdict.status) if verdict.counts else ("", "")
            for verdict in answer.verdicts
        ),
    )


def _grouped(summary: Summary, answers: Mapping[str, list[ShownOutput]]) -> Iterator[CaseGroup]:
    expected = {case.id: right_text(case) for case in summary.run.suite.cases}
    for place, (case, own) in enumerate(answers.items()):
        first = own[0].row
        counts = Counter(answer.row["verdict"] for answer in own)
        yield CaseGroup(
            id=case,
            aim=first["rule"],
            inverse=bool(first["inverse"]),
            asked=Asked(((tr("inputs"), first["inputs"]),) if first["inputs"] is not None else ()),
            expected=expected.get(case),
            answers=tuple(own),
            counts={name: counts[name] for name in VERDICTS if counts[name]},
            marks=tuple(_marks(own)),
            place=place,
            differ=_differ(own),
        )


def _answers(
    summary: Summary, shown: ChosenOutputs, names: Sequence[str], rules: Sequence[str]
) -> Mapping[str, list[ShownOutput]]:
    """The outputs by case."""
    place = {name: index for index, name in enumerate(names)}
    rows, verdicts = shown.outputs.records(), shown_verdicts(shown.verdicts)
    scores = shown_scores(shown.scores, scales(summary.run))
    contradicted, flaky, after = _contradicted(summary), _flaky(summary), after_of(summary.run)
    by_case: dict[str, list[ShownOutput]] = defaultdict(list)
    for row in rows:
        key = _key(row)
        own = verdicts.get(key, [])
        marks = ((DISAGREE, key in contradicted or _judges_differ(own)), (FLAKY, key[:2] in flaky))
        answer = replace(
            shown_output(row, place[row["model"]], own, after),
            scores=tuple(scores.get(key, ())),
            letters=_letters(own, rules),
            marks=tuple(mark for mark, holds in marks if holds),
        )
        by_case[row["case"]].append(answer)
    return by_case


def _letters(verdicts: Iterable[ShownVerdict], rules: Sequence[str]) -> str:
    """The verdict on each rule: the heaviest of those that count."""
    by_rule: dict[str, set[str]] = defaultdict(set)
    for verdict in verdicts:
        if verdict.counts:
            by_rule[verdict.rule].add(verdict.status)
    return "".join(
        next((letter for status, letter in LETTERS.items() if status in by_rule[rule]), "-") for rule in rules
    )


def _contradicted(summary: Summary) -> set[OutputKey]:
    """The outputs on which code and a judge differ."""
    return {_key(row) for row in records(summary.details.disagreements)}


def _flaky(summary: Summary) -> set[tuple[str, str]]:
    """The cases whose repeats differ, each with its model."""
    return {(row["case"], row["model"]) for row in records(summary.details.flaky)}


def _judges_differ(verdicts: Iterable[ShownVerdict]) -> bool:
    """Whether judges passed and failed the output by the same rule."""
    judged = {(one.rule, one.status) for one in verdicts if one.source.startswith("judge:")}
    return any((rule, "pass") in judged for rule, status in judged if status == "fail")


def _differ(answers: Iterable[ShownOutput]) -> bool:
    """Whether one model keeps all rules where another breaks one."""
    by_verdict: dict[str, set[int]] = defaultdict(set)
    for answer in answers:
        by_verdict[answer.row["verdict"]].add(answer.model_index)
    passing, failing = by_verdict["pass"], by_verdict["fail"]
    return bool(passing and failing) and len(passing | failing) > 1


def shown_output(
    row: Mapping[str, Any], index: int, verdicts: Sequence[ShownVerdict], after: Mapping[str, str]
) -> ShownOutput:
    """A row of outputs with what is worth reading of its verdicts.

    Args:
        after: by rules that come after another, that other one.
    """
    verdicts, closed = _one_cause(verdicts, after)
    own = [verdict for verdict in verdicts if verdict.source != "none" or verdict.unscored != row["error"]]
    listed_verdicts = [verdict for verdict in own if verdict.status not in _LISTED or not verdict.counts]
    passed, left_out = (
        tuple(dict.fromkeys(verdict.rule for verdict in own if verdict.status == status and verdict.counts))
        for status in _LISTED
    )
    return ShownOutput(
        row=row,
        model_index=index,
        verdicts=tuple(listed_verdicts),
        passed=passed,
        not_concerned=left_out,
        closed=closed,
    )


def _one_cause(
    verdicts: Sequence[ShownVerdict], after: Mapping[str, str]
) -> tuple[Sequence[ShownVerdict], Mapping[str, tuple[str, ...]]]:
    """The verdicts without those on rules that a broken one closed, and these rules by that one: one cause is one
    failure."""
    waiting = [one for one in verdicts if one.unscored == AFTER and one.rule in after]
    if not waiting:
        return verdicts, {}
    broken = {one.rule for one in verdicts if one.counts and one.status == "fail"}
    by_cause: defaultdict[str, list[str]] = defaultdict(list)
    for one in waiting:
        cause = _first_broken(one.rule, after, broken)
        if cause is not None and one.rule not in by_cause[cause]:
            by_cause[cause].append(one.rule)
    folded = {rule for rules in by_cause.values() for rule in rules}
    verdicts_kept = [one for one in verdicts if one.unscored != AFTER or one.rule not in folded]
    return verdicts_kept, {cause: tuple(rules) for cause, rules in by_cause.items()}


def _first_broken(rule: str, after: Mapping[str, str], broken: Collection[str]) -> str | None:
    """The broken rule that a rule comes after, directly or not: of several that from which all begins."""
    cause, rules_seen = None, {rule}
    while (earlier := after.get(rule)) is not None and earlier not in rules_seen:
        rules_seen.add(earlier)
        cause, rule = earlier if earlier in broken else cause, earlier
    return cause


def after_of(run: AnyRun) -> dict[str, str]:
    """By rules of a run that come after another, that other one."""
    return {rule.id: rule.after for rule in run.spec.rules if rule.after}


AFTER = "after"
"""Why a rule is unscored that can only be looked at where another one is kept."""

_LISTED = ("pass", NOT_CONCERNED)
"""What is said of an output in one line for all its rules."""


def _marks(answers: Iterable[ShownOutput]) -> Iterable[str]:
    pairs = [(answer.model_index, answer.row["verdict"]) for answer in answers]
    return sorted({mark for index, verdict in pairs for mark in (f"m{index}", verdict, f"m{index}-{verdict}")})


def shown_verdicts(verdicts: Table) -> Mapping[OutputKey, list[ShownVerdict]]:
    """Per output its verdicts, without those of rules that had no judge: that is said at the rule."""
    by_output: dict[OutputKey, list[ShownVerdict]] = defaultdict(list)
    for row in verdicts.records():
        if row["unscored"] != "no-judge" or row["counts"]:
            by_output[_key(row)].append(ShownVerdict(*(row[name] for name in ShownVerdict._fields)))
    return by_output


def right_text(case: Case) -> str | None:
    """The right outputs of a case as the page shows them; None where it says none."""
    if case.expected is None:
        return None
    return "\n".join((case.expected, *(tr("or: {text}", text=text) for text in case.also_right)))


def shown_scores(scores: Table, scale_of: Mapping[str, str]) -> Mapping[OutputKey, list[ShownScore]]:
    """The scores that count, per output.

    Args:
        scale_of: the scale of each metric.
    """
    by_output: dict[OutputKey, list[ShownScore]] = defaultdict(list)
    for row in scores.records():
        if row["counts"]:
            by_output[_key(row)].append(_score(row, scale_of.get(row["name"])))
    return by_output


def _score(row: Mapping[str, Any], scale: str | None) -> ShownScore:
    value, name = row["value"], row["name"]
    if value is None:
        text, mark = from_data(row["unscored"] or ""), "unscored"
    elif name == EXPECTED:
        text, mark = (tr("right"), "pass") if value == 1.0 else (tr("wrong"), "fail")
    else:
        text, mark = points(value, scale), ""
    return ShownScore(name, text, mark, row["reason"] or "", row["source"])


def _key(row: Mapping[str, Any]) -> OutputKey:
    return (row["case"], row["model"], row["repeat"])
