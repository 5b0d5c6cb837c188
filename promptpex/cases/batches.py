"""Batches: which aims an author is asked to write for in one request.

The rules of a request stand together with their inverses, so that one author gives them different situations, and the
prompt is sent once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from promptpex.cases.plan import Scenario, Target
from promptpex.cases.retrieval_context import balance_answerable, context_variable
from promptpex.core.records import Case, Prompt, Spec

MOST_CASES = 20
"""Cases that one request asks for; long generations derail at their end."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one request asks for one target.

    Attributes:
        target: the rule or inverse, in its scenario.
        count: cases that are wanted.
        answerable: how many of them, the first ones, have the answer in their context; None: there is no context.
    """

    target: Target
    count: int
    answerable: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One request: its parts are of one scenario.

    Attributes:
        parts: at least one; no two of the same rule and side.
        number: tells requests apart that ask for the same.
    """

    parts: tuple[Portion, ...]
    number: int = 0

    @property
    def count(self) -> int:
        """Cases that are wanted in all."""
        return sum(part.count for part in self.parts)

    @property
    def scenario(self) -> Scenario | None:
        """The scenario of its parts."""
        return self.parts[0].target.scenario

    def alone(self) -> list[Batch]:
        """A request for each of its parts."""
        return [replace(self, parts=(part,)) for part in self.parts]


def batches(make: Iterable[tuple[Target, int]], rules_per_request: int) -> list[Batch]:
    """The requests for what is missing of each target.

    Args:
        make: targets with the number of missing cases.
        rules_per_request: rules, each with its inverse, that one request may cover. Fewer where they want more than
            ``MOST_CASES`` cases together; a target that wants more alone is asked for several times.
    """
    by_scenario: dict[tuple[str | None, bool], dict[str, list[Portion]]] = {}
    for target, missing in make:
        key = (target.scenario.name if target.scenario else None, target.extra)
        by_scenario.setdefault(key, {}).setdefault(target.rule.id, []).append(Portion(target, missing))
    return [batch for rules in by_scenario.values() for batch in _split(list(rules.values()), rules_per_request)]


def with_contexts(requests: Sequence[Batch], prompt: Prompt, spec: Spec, kept: Sequence[Case]) -> list[Batch]:
    """The requests with the share of their cases whose context holds the answer, where the author writes contexts.

    Args:
        kept: the cases that are there.
    """
    context = context_variable(prompt, spec)

    def writing(batch: Batch) -> bool:
        return context is not None and not (batch.scenario and context in batch.scenario.fixed)

    parts = [part for batch in requests if writing(batch) for part in batch.parts]
    shares = iter(balance_answerable(kept, [(part.target.stem, part.count) for part in parts]))
    return [
        replace(batch, parts=tuple(replace(part, answerable=next(shares)) for part in batch.parts))
        if writing(batch)
        else batch
        for batch in requests
    ]


def _split(rules: list[list[Portion]], rules_per_request: int) -> Iterator[Batch]:
    """Rules in groups of about the same size, each at most as large as allowed."""
    size = ceil(len(rules) / ceil(len(rules) / rules_per_request))
    group: list[list[Portion]] = []
    for parts in rules:
        if group and (len(group) == size or _cases([*group, parts]) > MOST_CASES):
            yield from _requests(group)
            group = []
        group.append(parts)
    yield from _requests(group)


def _cases(rules: Iterable[Iterable[Portion]]) -> int:
    return sum(part.count for parts in rules for part in parts)


def _requests(group: list[list[Portion]]) -> Iterator[Batch]:
    parts = [part for parts in group for part in parts]
    if _cases(group) <= MOST_CASES:
        yield Batch(tuple(parts))
        return
    for part in parts:
        for number, start in enumerate(range(0, part.count, MOST_CASES)):
            yield Batch((replace(part, count=min(MOST_CASES, part.count - start)),), number)
