"""Screens: candidates that tell nothing, each with the reason, before anything is chosen; and examples that cannot be
told apart."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from promptpex.codecs.text.wording import NAMED, cut, named
from promptpex.core.translation import stored, tr, tr_n
from promptpex.synthesis.results.matrix import ERROR, PASS, Matrix, distance_from_code
from promptpex.synthesis.selection.bitsets import membership_patterns
from promptpex.synthesis.selection.problem import SelectionProblem

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
