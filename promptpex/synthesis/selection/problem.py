"""What a selection is made from: which candidate fails which example, what implies what, and the limits.

Sets of examples, and of candidates, are integers with a bit for each: unions and counts over thousands cost
microseconds, and nothing but Python is needed to read a problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from promptpex.codecs.text.wording import cut, plural
from promptpex.core.errors import InputError
from promptpex.core.records.report_card import CoverageAndFfr


def bits(members: int) -> Iterator[int]:
    """The numbers in the set, in order."""
    text = format(members, "b")[::-1]
    position = text.find("1")
    while position >= 0:
        yield position
        position = text.find("1", position + 1)


def as_bits(signs: str) -> int:
    return int(signs[::-1], 2) if signs else 0


def gathered(members: int, numbers: Sequence[int]) -> int:
    """Which of these numbers are in the set, by their places in the list."""
    signs = format(members, "b")[::-1]
    return as_bits("".join(signs[number] if number < len(signs) else "0" for number in numbers))


def union(sets: Sequence[int], chosen: Iterable[int]) -> int:
    joined = 0
    for number in chosen:
        joined |= sets[number]
    return joined


def membership_patterns(sets: Sequence[int], numbers: Iterable[int], width: int) -> Iterator[str]:
    """Which of the sets hold a number, for each of the numbers: a sign for each set, ``1`` where it holds the number.

    Args:
        width: more than the largest number of any set.
    """
    signs = "".join(format(members, f"0{width}b")[::-1] for members in sets)
    return (signs[number::width] for number in numbers)


def transposed(sets: Sequence[int], numbers: Iterable[int], width: int) -> dict[str, int]:
    """How many of the numbers have each of their ``patterns``."""
    return Counter(membership_patterns(sets, numbers, width))


Pair = tuple[int, int]


def uncontradicted(
    pairs: Iterable[Pair], fails: Sequence[int], unknown: Callable[[int], int] = lambda _: 0
) -> list[Pair]:
    """The pairs that no example speaks against: none passes the first candidate and fails the second."""
    return [(first, second) for first, second in pairs if not fails[second] & ~unknown(second) & ~fails[first]]


def below_ffr(pairs: Iterable[Pair], fails: Sequence[int], good: int, limit: Fraction) -> list[Pair]:
    """The pairs of which neither candidate has a false failure rate of ``limit`` or more by itself (section 4.4)."""
    total = good.bit_count()
    low = [not total or (failed & good).bit_count() < limit * total for failed in fails]
    return [(first, second) for first, second in pairs if low[first] and low[second]]


def all_implied_by(candidates: int, pairs: Iterable[Pair]) -> tuple[int, ...]:
    """Per candidate all that it implies, through others too, as bits; itself only where it is part of a cycle."""
    following: list[set[int]] = [set() for _ in range(candidates)]
    for first, second in pairs:
        following[first].add(second)
    closed = [0] * candidates
    for group in strong_components(following):
        reached = 0
        for member in group:
            for target in following[member]:
                reached |= closed[target] | (1 << target)
        for member in group:
            closed[member] = reached
    return tuple(closed)


def closed(candidates: int, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs, and all that follow from them; no candidate is paired with itself."""
    implied = all_implied_by(candidates, pairs)
    return [(first, second) for first in range(candidates) for second in bits(implied[first]) if first != second]


def strong_components(following: Sequence[Iterable[int]]) -> list[list[int]]:
    """The strongly connected components, each after all that it leads to (Tarjan 1972, without recursion)."""
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    components: list[list[int]] = []
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for root in range(len(following)):
        if root in order:
            continue
        todo = [(root, iter(following[root]))]
        order[root] = lowest[root] = len(order)
        open_nodes.append(root)
        is_open.add(root)
        while todo:
            node, targets = todo[-1]
            target = next((target for target in targets if target not in order or target in is_open), None)
            if target is None:
                todo.pop()
                if todo:
                    lowest[todo[-1][0]] = min(lowest[todo[-1][0]], lowest[node])
                if lowest[node] == order[node]:
                    components.append(_popped(open_nodes, is_open, node))
            elif target in order:
                lowest[node] = min(lowest[node], order[target])
            else:
                order[target] = lowest[target] = len(order)
                open_nodes.append(target)
                is_open.add(target)
                todo.append((target, iter(following[target])))
    return components


def _popped(open_nodes: list[int], is_open: set[int], last: int) -> list[int]:
    component = []
    while True:
        node = open_nodes.pop()
        is_open.discard(node)
        component.append(node)
        if node == last:
            return component


def sources(
    candidates: Iterable[int], implied: Sequence[int], order: Callable[[int], tuple[float, ...]] | None = None
) -> list[int]:
    """What no other of these candidates implies, with one candidate of each cycle.

    Args:
        candidates: those that count; implications that lead through others hold all the same.
        implied: per candidate all that it implies, as bits (``implied_by``).
        order: a sort key: the candidate of a cycle with the least key stands for all of it, and among equals the
            first. Code before questions to a judge, cheap before dear.
    """
    members = list(candidates)
    followed = 0
    representatives = []
    seen: set[int] = set()
    for candidate in members:
        if candidate in seen:
            continue
        in_cycle = implied[candidate] >> candidate & 1
        cycle = [other for other in members if _mutual(implied, candidate, other)] if in_cycle else [candidate]
        seen.update(cycle)
        representatives.append(min(cycle, key=lambda one: (order(one) if order else (), one)))
        followed |= implied[candidate] & ~sum(1 << one for one in cycle)
    return sorted(candidate for candidate in representatives if not followed >> candidate & 1)


def _mutual(implied: Sequence[int], one: int, other: int) -> bool:
    return bool(implied[one] >> other & implied[other] >> one & 1)


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
        return len(self.fails)

    @cached_property
    def bad(self) -> int:
        return ((1 << self.examples) - 1) ^ self.good

    def transitive(self) -> SelectionProblem:
        return replace(self, implications=tuple(closed(self.candidates, self.implications)))

    def weight(self, candidate: int) -> Fraction:
        return self.weights[candidate] if self.weights else Fraction(1)

    def name(self, candidate: int) -> str:
        return self.names[candidate] if self.names else str(candidate)

    def example_name(self, example: int) -> str:
        return self.example_names[example] if self.example_names else str(example)

    @cached_property
    def spares(self) -> tuple[int, ...]:
        """Per candidate, as bits, those that need not be chosen where it is: itself and what it implies."""
        spared = [1 << candidate for candidate in range(self.candidates)]
        for first, second in self.implications:
            spared[first] |= 1 << second
        return tuple(spared)

    def flagged_by(self, selection: Iterable[int]) -> int:
        return union(self.fails, selection)

    def not_spared(self, selection: Iterable[int]) -> int:
        """The candidates that are neither chosen nor implied by a chosen one (G of section 4.3), as bits."""
        return ((1 << self.candidates) - 1) & ~union(self.spares, selection)


@dataclass(frozen=True, slots=True)
class SelectionFigures(CoverageAndFfr):
    """What a selection amounts to, on the examples that the problem holds."""

    caught: int
    bad: int
    flagged: int
    good: int
    weight: Fraction
    not_subsumed: int
    not_subsumed_within_ffr: int


def figures(problem: SelectionProblem, selection: Iterable[int], most_flagged: int) -> SelectionFigures:
    """The figures of a selection, counted anew from the matrix."""
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


COVERAGE = Fraction(6, 10)
"""The paper's least coverage, alpha."""
FFR = Fraction(1, 4)
"""The paper's highest false failure rate, tau."""


@dataclass(frozen=True, slots=True)
class SelectionLimits:
    """What a selection has to keep: the least coverage and the highest false failure rate, both inclusive."""

    coverage: Fraction = COVERAGE
    ffr: Fraction = FFR

    def least_caught(self, problem: SelectionProblem) -> int:
        """How many bad examples have to be caught: the share rounded up."""
        return -(-self.coverage * problem.bad.bit_count() // 1)

    def most_flagged(self, problem: SelectionProblem) -> int:
        """How many good examples may be flagged: the share rounded down."""
        return self.ffr * problem.good.bit_count() // 1
