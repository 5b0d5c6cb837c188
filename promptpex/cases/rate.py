"""Rating: how much each case is worth, by its severity and importance, and which cases repeat others.

After ``rateTests`` of PromptPex's program. Differing from it: many cases in one request, with numbers to compute with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel

from promptpex.cases.excerpts_for_author import by_number
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import cut
from promptpex.core.events import Listener, ignore_events
from promptpex.core.ids import digest
from promptpex.core.records import Case, Prompt, Rating, Spec, Suite
from promptpex.core.stage_templates import Rendered, fingerprint, render
from promptpex.documents.ownership import owned_by_people
from promptpex.llm.map_requests import map_batches
from promptpex.llm.model_in_role import RoleModel
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
    """A line for each promise and each way to break one."""
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
