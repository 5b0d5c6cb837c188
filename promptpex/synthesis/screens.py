"""Screens: candidates that tell nothing, each with the reason, before anything is chosen; and examples that cannot be
told apart."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from promptpex.codecs.wording import NAMED, cut, named, plural, sentence
from promptpex.synthesis.matrix import ERROR, PASS, Matrix, distance_from_code
from promptpex.synthesis.selection.bitsets import patterns
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
    wanted = [number for number, candidate in enumerate(matrix.candidates) if candidate.choice == "must"]
    constant = [
        state for number in wanted if (state := _constant(matrix, number, matrix.settled([number]))) is not None
    ]
    return [f"chosen since you said `choice: must`, though {state.sentence}" for state in constant]


def _constant(matrix: Matrix, number: int, every: int) -> Screened | None:
    """That a candidate says the same of every one of these examples, where it does."""
    name, count = matrix.candidates[number].id, plural(every.bit_count(), "example")
    errors, passes = matrix.where(number, ERROR) & every, matrix.where(number, PASS) & every
    if errors == every:
        reason = cut(matrix.errors[number].most_common(1)[0][0], 120).rstrip(".")
        return Screened(number, "always-errs", f"{name} errs on all {count}" + (f": {reason}" if reason else ""))
    if not passes:
        erring = f", {errors.bit_count()} of them by an error" if errors else ""
        return Screened(number, "never-passes", f"{name} fails all {count}{erring}")
    if passes == every:
        return Screened(number, "always-passes", f"{name} passes all {count}")
    return None


def _same_results(matrix: Matrix, without: set[int], among: int) -> list[Screened]:
    """Of the candidates with equal columns all but one each."""
    groups: dict[int, list[int]] = {}
    for number, candidate in enumerate(matrix.candidates):
        if number not in without and candidate.choice != "never":
            groups.setdefault(matrix.fails(number) & among, []).append(number)
    alike = []
    for group in groups.values():
        kept = min(group, key=lambda number: preference(matrix, number))
        for number in group:
            if number != kept and matrix.candidates[number].choice is None:
                names = f"{matrix.candidates[number].id} passes and fails the same examples as"
                alike.append(Screened(number, "same-results", f"{names} {matrix.candidates[kept].id}", kept))
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
    every = range(problem.examples)
    for example, pattern in zip(every, patterns(problem.fails, every, problem.examples), strict=True):
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
        kinds = ("good", "bad") if odd is good else ("bad", "good")
        names = [named([problem.example_name(one) for one in group]) for group in (odd, others)]
        verb = "looks" if len(odd) == 1 else "look"
        like = f"this {kinds[1]} one" if len(others) == 1 else f"these {len(others)} {kinds[1]} ones"
        sentences.append(
            f"{kinds[0]} {names[0]} {verb} to all candidates like {like}: {names[1]}. "
            "No choice tells them apart: check the labels, or add a candidate that does"
        )
    return [sentence(one) for one in sentences]
