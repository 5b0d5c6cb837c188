"""Which candidate spares which: the implications closed transitively, their cycles, and what no other implies.

The paper calls them subsumption (sections 3.4 and 4.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from promptpex.synthesis.selection.bitsets import bits

Pair = tuple[int, int]


def uncontradicted(
    pairs: Iterable[Pair], fails: Sequence[int], unknown: Callable[[int], int] = lambda _: 0
) -> list[Pair]:
    """The pairs that no example speaks against: none passes the first candidate and fails the second.

    Args:
        fails: per candidate the examples that it fails or says nothing of, as bits.
        unknown: of a candidate, the examples that it says nothing of.
    """
    return [(first, second) for first, second in pairs if not fails[second] & ~unknown(second) & ~fails[first]]


def below_ffr(pairs: Iterable[Pair], fails: Sequence[int], good: int, limit: Fraction) -> list[Pair]:
    """The pairs of which neither candidate has a false failure rate of ``limit`` or more by itself (section 4.4).

    Args:
        fails: per candidate the examples that it fails, as bits.
        good: the good examples, as bits; where there are none, every pair stays.
    """
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
    """The nodes on the stack down to ``last``, taken off it."""
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
