"""What a selection is made from: which candidate fails which example, and what a chosen set amounts to.

Sets of examples, and of candidates, are integers with a bit for each: unions and counts over thousands cost
microseconds, and nothing but Python is needed to read a problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from promptpex.codecs.text.wording import cut, plural
from promptpex.core.coverage_and_ffr import CoverageAndFfr
from promptpex.core.errors import InputError
from promptpex.synthesis.selection.bitsets import as_bits, bits, union
from promptpex.synthesis.selection.implications import closed

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class SelectionProblem:
    """Candidates, labelled examples and what implies what.

    Attributes:
        examples: how many there are (n).
        good: those that people call good, as bits; all others are bad.
        fails: per candidate the examples that it fails, as bits; an error is a fail.
        implications: pairs (a, b) of candidates: what passes a passes b, so that a chosen a spares b. They count as
            they stand; who wants them closed transitively closes them first (``implications.closed``).
        names: of the candidates, for sentences; empty: their numbers.
        weights: per candidate what choosing it costs, such as the price of asking a judge; empty: 1 each.
        must, must_not: candidates that are part of every selection, or of none.
        example_names: of the examples, for sentences; empty: their numbers.
    """

    examples: int
    good: int
    fails: tuple[int, ...]
    implications: tuple[tuple[int, int], ...] = ()
    names: tuple[str, ...] = ()
    weights: tuple[Fraction, ...] = ()
    must: frozenset[int] = frozenset()
    must_not: frozenset[int] = frozenset()
    example_names: tuple[str, ...] = ()

    @classmethod
    def from_rows(
        cls,
        labels: str,
        rows: Sequence[str],
        candidates: int,
        implications: Iterable[Sequence[int]] = (),
        *,
        names: Sequence[str] = (),
        weights: Sequence[Fraction] = (),
        must: Iterable[int] = (),
        must_not: Iterable[int] = (),
    ) -> SelectionProblem:
        """A problem from the matrix as text.

        Args:
            labels: an example each, ``1`` is good and ``0`` bad.
            rows: an example each, with ``1`` for every candidate that passes it and ``0`` for one that fails or errs.
            candidates: how many each row speaks of (m).

        Raises:
            InputError: lengths that differ, other signs than 0 and 1, numbers of candidates that do not exist,
                negative weights, names that occur twice.
        """
        pairs = tuple((int(first), int(second)) for first, second in implications)
        _refuse_bad_rows(labels, rows, candidates)
        _refuse_bad_lists(candidates, names, weights)
        chosen, refused = frozenset(must), frozenset(must_not)
        for what, numbers in (("K", _flat(pairs)), ("must", chosen), ("must_not", refused)):
            _refuse_unknown(what, numbers, candidates)
        if chosen & refused:
            raise InputError(f"candidate {min(chosen & refused)} is in must and in must_not; leave it in one of them")
        all_examples = (1 << len(labels)) - 1
        signs = "".join(rows)
        fails = tuple(all_examples ^ as_bits(signs[column::candidates]) for column in range(candidates))
        return cls(len(labels), as_bits(labels), fails, pairs, tuple(names), tuple(weights), chosen, refused)

    @property
    def candidates(self) -> int:
        """How many candidates there are (m)."""
        return len(self.fails)

    @cached_property
    def bad(self) -> int:
        """The examples that people call bad, as bits."""
        return ((1 << self.examples) - 1) ^ self.good

    def transitive(self) -> SelectionProblem:
        """The problem with the implications that follow from several others."""
        return replace(self, implications=tuple(closed(self.candidates, self.implications)))

    def weight(self, candidate: int) -> Fraction:
        """What choosing the candidate costs."""
        return self.weights[candidate] if self.weights else Fraction(1)

    def name(self, candidate: int) -> str:
        """How sentences call the candidate."""
        return self.names[candidate] if self.names else str(candidate)

    def example_name(self, example: int) -> str:
        """How sentences call the example."""
        return self.example_names[example] if self.example_names else str(example)

    @cached_property
    def spares(self) -> tuple[int, ...]:
        """Per candidate, as bits, those that need not be chosen where it is: itself and what it implies."""
        spared = [1 << candidate for candidate in range(self.candidates)]
        for first, second in self.implications:
            spared[first] |= 1 << second
        return tuple(spared)

    def flagged_by(self, selection: Iterable[int]) -> int:
        """The examples that at least one candidate of the selection fails, as bits."""
        return union(self.fails, selection)

    def not_spared(self, selection: Iterable[int]) -> int:
        """The candidates that are neither chosen nor implied by a chosen one (G of section 4.3), as bits."""
        return ((1 << self.candidates) - 1) & ~union(self.spares, selection)


@dataclass(frozen=True, slots=True)
class SelectionFigures(CoverageAndFfr):
    """What a selection amounts to, on the examples that the problem holds.

    Attributes:
        caught, bad: bad examples that it flags, of how many.
        flagged, good: good examples that it flags, of how many.
        weight: the sum of what its candidates cost: their number where no weights are given.
        not_subsumed: candidates neither chosen nor implied by a chosen one (|G|).
        not_subsumed_within_ffr: those of them that could be added one at a time without passing the limit: the column
            of the paper's Table 4.
    """

    caught: int
    bad: int
    flagged: int
    good: int
    weight: Fraction
    not_subsumed: int
    not_subsumed_within_ffr: int


def figures(problem: SelectionProblem, selection: Iterable[int], most_flagged: int) -> SelectionFigures:
    """The figures of a selection, counted anew from the matrix.

    Args:
        most_flagged: how many good examples may be flagged.
    """
    chosen = sorted(set(selection))
    flagged = problem.flagged_by(chosen)
    left_out = problem.not_spared(chosen)
    addable = (
        candidate
        for candidate in bits(left_out)
        if ((flagged | problem.fails[candidate]) & problem.good).bit_count() <= most_flagged
    )
    return SelectionFigures(
        caught=(flagged & problem.bad).bit_count(),
        bad=problem.bad.bit_count(),
        flagged=(flagged & problem.good).bit_count(),
        good=problem.good.bit_count(),
        weight=sum((problem.weight(candidate) for candidate in chosen), Fraction()),
        not_subsumed=left_out.bit_count(),
        not_subsumed_within_ffr=sum(1 for _ in addable),
    )


def _flat(pairs: Pairs) -> Iterator[int]:
    return (number for pair in pairs for number in pair)


def _refuse_bad_rows(labels: str, rows: Sequence[str], candidates: int) -> None:
    if set(labels) - {"0", "1"}:
        raise InputError("y has values other than 0 (bad) and 1 (good)")
    if len(rows) != len(labels):
        raise InputError(f"M has {plural(len(rows), 'row')} for {len(labels)} labels; give one row for each label in y")
    for number, row in enumerate(rows):
        if len(row) != candidates:
            raise InputError(
                f"row {number} of M has {len(row)} values; give one for each of the {candidates} candidates"
            )
        if set(row) - {"0", "1"}:
            raise InputError(f"row {number} of M has values other than 0 (fails) and 1 (passes)")


def _refuse_bad_lists(candidates: int, names: Sequence[str], weights: Sequence[Fraction]) -> None:
    for what, values in (("names", names), ("weights", weights)):
        if values and len(values) != candidates:
            raise InputError(f"there are {len(values)} {what} for {candidates} candidates; give one each")
    if any(weight < 0 for weight in weights):
        raise InputError("a weight is negative; give what choosing a candidate costs, 0 or more")
    twice = next((first for first, second in pairwise(sorted(names)) if first == second), None)
    if twice is not None:
        raise InputError(f"the name {cut(twice, 60)!r} occurs twice; give each candidate its own")


def _refuse_unknown(what: str, numbers: Iterable[int], candidates: int) -> None:
    unknown = next((number for number in numbers if not 0 <= number < candidates), None)
    if unknown is not None:
        valid_numbers = f"the candidates are 0 to {candidates - 1}" if candidates else "there are no candidates"
        raise InputError(f"{what} names candidate {unknown}; {valid_numbers}")
