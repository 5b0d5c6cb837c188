"""Discrimination: what a suite tells apart, once there are verdicts.

A case that all models pass says nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from promptpex.records import Rule, Verdict


@dataclass(frozen=True, slots=True)
class Flip:
    """A case that one model both passes and fails, from repeat to repeat."""

    case: str
    model: str
    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Discrimination:
    """What the verdicts say about the cases and rules themselves.

    Attributes:
        models: how many models have scored outputs; with one, the next two lists say little.
        passed_by_all: cases whose every scored output complies, on every model.
        failed_by_all: cases whose every scored output breaks a rule, on every model.
        flips: cases that change from repeat to repeat on one model.
        unscored: cases with no scored output at all.
        never_broken: rules that were scored and that no output has broken.
        never_scored: rules that have no pass and no fail.
    """

    models: int
    passed_by_all: tuple[str, ...]
    failed_by_all: tuple[str, ...]
    flips: tuple[Flip, ...]
    unscored: tuple[str, ...]
    never_broken: tuple[str, ...]
    never_scored: tuple[str, ...]


def discrimination(verdicts: Iterable[Verdict], rules: Sequence[Rule]) -> Discrimination:
    """The cases and rules that do not discriminate, in the order in which they first occur.

    An output fails when one of its verdicts that count is a fail; it is scored when one is a pass or a fail.

    Args:
        verdicts: of a run; those that do not count are left out.
        rules: of the spec; those that are gone are left out.
    """
    counting = [verdict for verdict in verdicts if verdict.counts]
    outcomes = _outcomes(counting)
    cells = _cells(outcomes)
    by_case: dict[str, list[tuple[int, int]]] = {verdict.case: [] for verdict in counting}
    for (case, _), counts in cells.items():
        by_case[case].append(counts)
    scored = [verdict for verdict in counting if verdict.status != "unscored"]
    broken = {verdict.rule for verdict in scored if verdict.status == "fail"}
    seen = {verdict.rule for verdict in scored}
    known = [rule.id for rule in rules if not rule.gone]
    return Discrimination(
        models=len({model for _, model in cells}),
        passed_by_all=tuple(case for case, cell in by_case.items() if cell and not any(bad for _, bad in cell)),
        failed_by_all=tuple(case for case, cell in by_case.items() if cell and not any(good for good, _ in cell)),
        flips=tuple(Flip(*key, good, bad) for key, (good, bad) in cells.items() if good and bad),
        unscored=tuple(case for case, cell in by_case.items() if not cell),
        never_broken=tuple(rule for rule in known if rule in seen and rule not in broken),
        never_scored=tuple(rule for rule in known if rule not in seen),
    )


def _outcomes(verdicts: Iterable[Verdict]) -> dict[tuple[str, str, int], bool]:
    """Whether each scored output complies, by its key."""
    outcomes: dict[tuple[str, str, int], bool] = {}
    for verdict in verdicts:
        if verdict.status != "unscored":
            outcomes[verdict.key] = outcomes.get(verdict.key, True) and verdict.status == "pass"
    return outcomes


def _cells(outcomes: Mapping[tuple[str, str, int], bool]) -> dict[tuple[str, str], tuple[int, int]]:
    """Passed and failed repeats of each case on each model."""
    cells: dict[tuple[str, str], tuple[int, int]] = {}
    for (case, model, _), complies in outcomes.items():
        good, bad = cells.get((case, model), (0, 0))
        cells[case, model] = (good + complies, bad + (not complies))
    return cells
