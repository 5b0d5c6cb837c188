"""Keeping the most valuable cases of a suite: which to run when not all can be, and what is lost by that.

The others are put aside with a mark, and come back when the mark is taken away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from promptpex.cases.duplicates import duplicates
from promptpex.core.records import Case, Spec, Suite

UNRATED = 9
"""The value of a case without a rating: that of the middle, 3 times 3."""
NEW_RULE, NEW_SIDE = 4.0, 2.0
"""A case counts so many times as much if no chosen case aims at its rule, or at its side of the rule."""
REDUNDANT = 0.2
"""A case counts this share of its value if a chosen one tests the same."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A suite of which some cases are put aside.

    Attributes:
        suite: with ``aside`` set on the cases that are not kept, and on no other.
        valid, aside: how many valid cases there are, and how many of them are put aside.
        own: how many of the kept ones are people's, which always stay.
        lost: ids of the rules and inverses that a valid case aims at and no kept one.
    """

    suite: Suite
    valid: int
    aside: int
    lost: tuple[str, ...]
    own: int = 0


def own_cases(suite: Suite) -> list[Case]:
    """People's cases that are run, which always stay."""
    return [case for case in suite.usable() if case.origin != "generated"]


def keep_most_valuable(suite: Suite, spec: Spec, most: int, untriggered: Collection[str] = ()) -> Kept:
    """Puts all valid cases aside but the ``most`` valuable ones.

    People's cases are always kept. The others are chosen one by one: by their rating, more where their rule or inverse
    has no case yet, less where a chosen case tests the same; of equals the first of the suite.

    Args:
        untriggered: ids of cases that do not meet the condition of their rule, and count as cases of none.
    """
    aims = {case.id: None if case.id in untriggered else (case.rule, case.inverse) for case in suite.cases}
    valid = [case for case in suite.valid() if case.aside is None or case.origin == "generated"]
    own = own_cases(suite)
    chosen = [*own, *_chosen([case for case in valid if case.origin == "generated"], own, most - len(own), aims)]
    ids = {case.id for case in chosen}

    def marked(case: Case) -> Case:
        if case.origin != "generated" or case.invalid is not None:
            return case
        return case.replace(aside=None if case.id in ids else f"not among the {most} most valuable")

    marked_suite = suite.replace(cases=tuple(marked(case) for case in suite.cases))
    return Kept(marked_suite, len(valid), len(valid) - len(chosen), _lost(valid, chosen, spec, aims), len(own))


Aims = Mapping[str, tuple[str | None, bool] | None]
"""Which side of which rule a case tests, by the case's id; None: not the one that it is for."""


def _chosen(cases: list[Case], own: list[Case], most: int, aims: Aims) -> list[Case]:
    sides = {aims[case.id] for case in own}
    rules = {side[0] for side in sides if side is not None}
    same = _tests_the_same([*own, *cases])
    taken_ids = {case.id for case in own}
    chosen: list[Case] = []

    def worth(case: Case) -> float:
        value = float(case.rating.value if case.rating is not None else UNRATED)
        value *= REDUNDANT if same[case.id] & taken_ids else 1.0
        side = aims[case.id]
        if side is None:
            return value
        return value * (NEW_RULE if side[0] not in rules else NEW_SIDE if side not in sides else 1.0)

    while cases and len(chosen) < most:
        best = max(cases, key=worth)
        cases = [case for case in cases if case is not best]
        chosen.append(best)
        if (side := aims[best.id]) is not None:
            rules.add(side[0])
            sides.add(side)
        taken_ids.add(best.id)
    return chosen


def _tests_the_same(cases: list[Case]) -> dict[str, set[str]]:
    """For each case the ids of those that test the same, by their wording or by their rating."""
    same: dict[str, set[str]] = {case.id: set() for case in cases}
    pairs = [(pair.a, pair.b) for pair in duplicates(cases)]
    pairs += [(case.id, case.rating.redundant_with or "") for case in cases if case.rating is not None]
    for a, b in pairs:
        if a in same and b in same:
            same[a].add(b)
            same[b].add(a)
    return same


def _lost(valid: Iterable[Case], chosen: Iterable[Case], spec: Spec, aims: Aims) -> tuple[str, ...]:
    lost_aims = {aims[case.id] for case in valid} - {aims[case.id] for case in chosen}
    names = {(rule.id, False): rule.id for rule in spec.rules} | {
        (rule.id, True): rule.inverse_id for rule in spec.rules
    }
    return tuple(name for side, name in names.items() if side in lost_aims)
