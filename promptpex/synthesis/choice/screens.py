"""Screens: candidates that tell nothing, each with the reason, before anything is chosen; and examples that cannot be
told apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from promptpex.codecs.text.wording import NAMED, cut, named, plural
from promptpex.core.errors import SynthesisError
from promptpex.core.records import Candidate, Criterion
from promptpex.core.translation import stored, tr, tr_n
from promptpex.synthesis.results.matrix import ERROR, PASS, Matrix, admits, distance_from_code
from promptpex.synthesis.selection.problem import SelectionProblem, membership_patterns

ScreenState = Literal["always-errs", "never-passes", "always-passes", "same-results", "not-run", "outdated"]


@dataclass(frozen=True, slots=True)
class Screened:
    """A candidate that is not chosen from.

    Attributes:
        candidate: its number in the matrix.
        state: it errs on every example; passes none; passes all; gives the same results as ``kept``; results are
            missing; or it was written for other words than its criterion has now.
        kept: of candidates with the same results, the one that stands for all.
        sentence: the same in words.
    """

    candidate: int
    state: ScreenState
    sentence: str
    kept: int | None = None


def screened(matrix: Matrix, without: Collection[int] = (), among: int | None = None) -> tuple[Screened, ...]:
    """The candidates that tell nothing, in order; none without examples.

    What a person has decided on is not screened, and stands for others with the same results. Nothing is said of those
    that were not run on all examples that count.

    Args:
        without: the numbers of candidates that have no part in it, and stand for no other.
        among: the examples that count, as bits; None: all.
    """
    among = (1 << len(matrix.examples)) - 1 if among is None else among
    if not among:
        return ()
    unknown = {number for number in range(len(matrix.candidates)) if matrix.unknown(number) & among} | set(without)
    telling_nothing = {
        number: state
        for number, candidate in enumerate(matrix.candidates)
        if candidate.choice is None
        and number not in unknown
        and (state := _constant(matrix, number, among)) is not None
    }
    alike = _same_results(matrix, unknown | set(telling_nothing), among)
    return tuple(sorted((*telling_nothing.values(), *alike), key=lambda one: one.candidate))


def chosen_all_the_same(matrix: Matrix) -> list[str]:
    """What to know of candidates that tell nothing and that a person wants to be chosen, a sentence each."""
    if not matrix.examples:
        return []
    required = [number for number, candidate in enumerate(matrix.candidates) if candidate.choice == "must"]
    constant = [
        state for number in required if (state := _constant(matrix, number, matrix.settled([number]))) is not None
    ]
    return [
        stored("chosen since you said {must}, though {reason}", must="`choice: must`", reason=state.sentence)
        for state in constant
    ]


def _constant(matrix: Matrix, number: int, every: int) -> Screened | None:
    """That a candidate says the same of every one of these examples, where it does."""
    about = {"candidate": matrix.candidates[number].id, "examples": _examples(every.bit_count())}
    errors, passes = matrix.where(number, ERROR) & every, matrix.where(number, PASS) & every
    if errors == every:
        reason = cut(matrix.errors[number].most_common(1)[0][0], 120).rstrip(".")
        errs = (
            stored("{candidate} errs on all {examples}: {reason}")
            if reason
            else stored("{candidate} errs on all {examples}")
        )
        return Screened(number, "always-errs", errs.format(**about, reason=reason))
    if not passes:
        erring = stored("{candidate} fails all {examples}, {count} of them by an error")
        words = erring if errors else stored("{candidate} fails all {examples}")
        return Screened(number, "never-passes", words.format(**about, count=errors.bit_count()))
    if passes == every:
        return Screened(number, "always-passes", stored("{candidate} passes all {examples}", **about))
    return None


def _examples(count: int) -> str:
    return stored("{count} example", count=count) if count == 1 else stored("{count} examples", count=count)


def _same_results(matrix: Matrix, without: set[int], among: int) -> list[Screened]:
    """Of the candidates with equal columns all but one each."""
    groups: dict[int, list[int]] = {}
    for number, candidate in enumerate(matrix.candidates):
        if number not in without and candidate.choice != "never":
            groups.setdefault(matrix.fails(number) & among, []).append(number)
    alike = []
    for group in groups.values():
        preferred = min(group, key=lambda number: preference(matrix, number))
        for number in group:
            if number != preferred and matrix.candidates[number].choice is None:
                names = {"candidate": matrix.candidates[number].id, "other": matrix.candidates[preferred].id}
                same = stored("{candidate} passes and fails the same examples as {other}", **names)
                alike.append(Screened(number, "same-results", same, preferred))
    return alike


def preference(matrix: Matrix, number: int) -> tuple[float, ...]:
    """A sort key: what a person chose first, code before Python before what asks a judge, then what asks less, then the
    shorter, then the earlier one."""
    candidate = matrix.candidates[number]
    distance, length = distance_from_code(candidate.check), len(str(candidate.check.value))
    return (candidate.choice != "must", distance, matrix.asked[number], length, number)


def indistinct(problem: SelectionProblem) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Groups of good and bad examples that the same candidates fail, though some does: no choice tells them apart.

    Either a label is wrong, or a candidate is missing.
    """
    groups: dict[str, tuple[list[int], list[int]]] = {}
    all_examples = range(problem.examples)
    for example, pattern in zip(
        all_examples, membership_patterns(problem.fails, all_examples, problem.examples), strict=True
    ):
        is_bad = problem.bad >> example & 1
        groups.setdefault(pattern, ([], []))[is_bad].append(example)
    return [(tuple(good), tuple(bad)) for pattern, (good, bad) in groups.items() if good and bad and "1" in pattern]


def indistinct_sentences(problem: SelectionProblem) -> list[str]:
    """Which labels to look at, a sentence for each of the first groups that no choice tells apart.

    The smaller side of a group comes first: it holds the labels that are more likely wrong.
    """
    sentences = []
    for good, bad in indistinct(problem)[:NAMED]:
        odd, others = (good, bad) if len(good) < len(bad) else (bad, good)
        names = [named([problem.example_name(one) for one in group]) for group in (odd, others)]
        sentences.append(_indistinct_sentence(names[0], len(odd), names[1], len(others), odd_is_good=odd is good))
    return sentences


def _indistinct_sentence(odd: str, count_odd: int, others: str, count: int, *, odd_is_good: bool) -> str:
    """The sentence about one group: the names of its smaller side, and those of the other."""
    if odd_is_good:
        like = tr_n("this bad one: {names}", "these {count} bad ones: {names}", count, names=others)
        look = tr_n(
            "No candidate can tell good {names} from {like}.",
            "No candidate can tell any of good {names} from {like}.",
            count_odd,
            names=odd,
            like=like,
        )
    else:
        like = tr_n("this good one: {names}", "these {count} good ones: {names}", count, names=others)
        look = tr_n(
            "No candidate can tell bad {names} from {like}.",
            "No candidate can tell any of bad {names} from {like}.",
            count_odd,
            names=odd,
            like=like,
        )
    return f"{look} {tr('Check the labels, or add a candidate that can.')}"


NOT_COMPARABLE: tuple[ScreenState, ...] = ("not-run", "outdated")
"""States of candidates that no method chooses from; the other states are of candidates that tell nothing."""


def not_comparable(matrix: Matrix, criteria: Iterable[Criterion], graded: int = 0) -> tuple[Screened, ...]:
    """The candidates that no method chooses from, in order.

    Those that were not run on all examples that a choice is made by: those with a label, all where none has one. And
    those that were written for other words than a criterion of theirs has now, but for those of which a person said
    ``must``.

    Args:
        graded: further examples that a choice is made by than those with a label, as bits.
    """
    needed = _needed(matrix, graded)
    reworded = reworded_since(matrix.candidates, criteria)
    screens = (
        _not_run(matrix, number, needed) or _outdated(matrix, number, reworded)
        for number in range(len(matrix.candidates))
    )
    return tuple(one for one in screens if one is not None)


def reworded_since(candidates: Sequence[Candidate], criteria: Iterable[Criterion]) -> dict[int, list[str]]:
    """By the numbers of the candidates that were written for other words, the criteria that have new ones.

    Criteria that are set aside do not count, nor does a candidate that a person wants.
    """
    criteria_by_id = {one.id: one for one in criteria}
    reworded = {
        number: [
            name
            for name in candidate.criteria
            if name in criteria_by_id
            and admits(criteria_by_id[name], candidate)
            and candidate.is_outdated([criteria_by_id[name]])
        ]
        for number, candidate in enumerate(candidates)
        if candidate.choice != "must"
    }
    return {number: names for number, names in reworded.items() if names}


def require_run(matrix: Matrix, left_out: Iterable[Screened], path: Path, graded: int = 0) -> None:
    """Refuses to choose without results of a candidate that a person wants, and where no candidate is left for want of
    results."""
    candidates, needed = matrix.candidates, _needed(matrix, graded)
    not_run = [number for number in range(len(candidates)) if _missing(matrix, number, needed)]
    required_ids = [candidates[number].id for number in not_run if candidates[number].choice == "must"]
    names = required_ids
    if not_run and len({one.candidate for one in left_out if one.state in NOT_COMPARABLE}) == len(candidates):
        names = [candidates[number].id for number in not_run]
    if not names:
        return
    were = "was" if len(names) == 1 else "were"
    missing = sum(_missing(matrix, number, needed) for number in not_run if candidates[number].id in names)
    judge = any(matrix.asking(number) for number in not_run if candidates[number].id in names)
    but = f", and you said `choice: must` of {named(required_ids)}" if required_ids else ""
    message = (
        f"{plural(len(names), 'candidate')} ({named(names)}) {were} not run on all examples"
        f" ({plural(missing, 'result')} missing){but}; {_run_them(judge)}"
    )
    raise SynthesisError(message, path=path)


def _run_them(judge: bool) -> str:
    alone = stored("`promptpex synthesize PROMPT` runs what is missing")
    return stored("`promptpex synthesize PROMPT --judge MODEL` runs what is missing") if judge else alone


def _needed(matrix: Matrix, graded: int) -> int:
    """The examples that a choice is made by, as bits; all where none has a label."""
    labelled = sum(1 << row for row, example in enumerate(matrix.examples) if example.label is not None)
    return labelled | graded or (1 << len(matrix.examples)) - 1


def _missing(matrix: Matrix, number: int, needed: int) -> int:
    return (matrix.unknown(number) & needed).bit_count()


def _not_run(matrix: Matrix, number: int, needed: int) -> Screened | None:
    missing, name = _missing(matrix, number, needed), matrix.candidates[number].id
    if not missing:
        return None
    asking = matrix.asking(number)
    words = (
        stored(
            "{candidate} was not run on {number} of {part}: no judge was named, or none gave an answer that can be "
            "used; {remedy}"
        )
        if asking
        else stored("{candidate} was not run on {number} of {part}; {remedy}")
    )
    examples = _counted_examples(needed.bit_count(), of_all=needed.bit_count() == len(matrix.examples))
    sentence = words.format(candidate=name, number=missing, part=examples, remedy=_run_them(asking))
    return Screened(number, "not-run", sentence)


def _counted_examples(count: int, *, of_all: bool) -> str:
    if of_all:
        return stored("{count} example", count=count) if count == 1 else stored("{count} examples", count=count)
    if count == 1:
        return stored("{count} labelled example", count=count)
    return stored("{count} labelled examples", count=count)


def _outdated(matrix: Matrix, number: int, reworded: dict[int, list[str]]) -> Screened | None:
    if number not in reworded:
        return None
    return Screened(
        number,
        "outdated",
        stored(
            "{candidate} was written for another wording of {names}; replace it, or keep it as it is: press “It "
            "still fits” on the criteria page, or remove its `wordings` from candidates.yaml",
            candidate=matrix.candidates[number].id,
            names=named(reworded[number]),
        ),
    )
