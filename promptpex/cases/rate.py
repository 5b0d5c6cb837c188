"""How much each case is worth, by its severity and importance, and keeping the most valuable ones.

After ``rateTests`` of PromptPex's program. Differing from it: many cases in one request, with numbers to compute with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel

from promptpex.cases.duplicates import duplicates
from promptpex.cases.new_cases_request import by_number
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut
from promptpex.core.events import Listener, ignore_events
from promptpex.core.ids import digest
from promptpex.core.records import Case, Prompt, Rating, Spec, Suite
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.documents.ownership import owned_by_people
from promptpex.llm.model_in_role import RoleModel, map_batches
from promptpex.llm.schemas import one_of, readable, reply_model

TEMPLATE = "cases/rate"
STAGE = "rate"
CASES_PER_REQUEST = 40
"""Cases that are rated beside each other."""
SHOWN = 800
"""Characters of a case that the rater is shown."""


async def rate(
    author: RoleModel,
    prompt: Prompt,
    spec: Spec,
    suite: Suite,
    *,
    instructions: str = "",
    emit: Listener = ignore_events,
) -> Suite:
    """The suite with a rating on each valid case that has none, or one of other words; people's cases among them.

    A rating that a person has given, which has no ``of``, stays. A case that the author leaves out, or whose
    request fails, stays without.

    Raises:
        ModelError: of a kind that holds for the whole author.
    """
    todo = unrated(suite, spec)

    async def ask(batch: Sequence[Case]) -> list[Rating | None]:
        rendered = request_text(prompt, spec, batch, instructions)
        reply = await author.ask(rendered, reply_type(len(batch)), stage=STAGE)
        return _ratings(batch, spec, reply.value)

    nothing: Rating | None = None
    ratings = await map_batches(STAGE, author.label, todo, ask, emit, size=CASES_PER_REQUEST, default=nothing)
    of_case = {case.id: rating for case, rating in zip(todo, ratings, strict=True) if rating is not None}
    return suite.replace(cases=tuple(case.replace(rating=of_case.get(case.id, case.rating)) for case in suite.cases))


def unrated(suite: Suite, spec: Spec) -> list[Case]:
    """The valid cases whose rating is missing, or of other words than theirs."""
    return [case for case in suite.valid() if not _is_rated(case, spec)]


def _is_rated(case: Case, spec: Spec) -> bool:
    """Whether the rating of a case stands: it is of these words, or a person gave it to a case of their own."""
    if case.rating is None:
        return False
    return case.rating.of == _rated_words(case, spec) or (case.rating.of is None and owned_by_people(case.origin))


def request_text(prompt: Prompt, spec: Spec, cases: Sequence[Case], instructions: str = "") -> Rendered:
    """The rendered template that asks about these cases."""
    return render(
        TEMPLATE,
        prompt=prompt.text(),
        aims="\n".join(_aims(spec)),
        items=[{"id": name, "text": _shown(case)} for name, case in by_number(cases).items()],
        instructions=instructions,
    )


@lru_cache(maxsize=64)
def reply_type(count: int) -> type[BaseModel]:
    """The shape of a reply about ``count`` cases; a rating that names none of them is left out."""
    names = tuple(f"i{number}" for number in range(1, count + 1))
    points = one_of(range(1, 6))
    redundant = one_of(("none", *names))
    rating = reply_model("CaseRating", case=one_of(names), severity=points, importance=points, redundant_with=redundant)
    return reply_model("CaseRatings", ratings=Annotated[list[rating], readable(rating)])  # type: ignore[valid-type]


def _aims(spec: Spec) -> list[str]:
    rules = [rule for rule in spec.rules if not rule.stale]
    texts = [(rule.id, "promise", rule.rule) for rule in rules]
    texts += [(rule.inverse_id, "failure", rule.inverse) for rule in rules if rule.inverse]
    return [f"{name} ({kind}): {' '.join(text.split())}" for name, kind, text in texts]


def _ratings(cases: Sequence[Case], spec: Spec, reply: Any) -> list[Rating | None]:
    named = by_number(cases)
    answers = {answer.case: answer for answer in reversed(reply.ratings)}
    return [_rating(case, spec, answers.get(name), named) for name, case in named.items()]


def _rating(case: Case, spec: Spec, answer: Any, named: Mapping[str, Case]) -> Rating | None:
    if answer is None:
        return None
    other = named.get(answer.redundant_with)
    return Rating(
        severity=answer.severity,
        importance=answer.importance,
        redundant_with=other.id if other is not None and other.id != case.id else None,
        of=_rated_words(case, spec),
    )


def _rated_words(case: Case, spec: Spec) -> str:
    rule = spec.rule(case.rule) if case.rule is not None else None
    words = [rule.rule, rule.inverse if case.inverse else None] if rule is not None else []
    return digest([case.inputs, words, fingerprint(TEMPLATE)], 12)


def _shown(case: Case) -> str:
    share = SHOWN // max(1, len(case.inputs))
    values = [f"{name}: {cut(value_text(value), share)}" for name, value in case.inputs.items()]
    aim = f"{case.rule}{'-inverse' if case.inverse else ''}" if case.rule is not None else "no promise"
    return "\n".join([f"for {aim}", *values])


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
