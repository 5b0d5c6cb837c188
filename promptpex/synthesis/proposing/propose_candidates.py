"""Candidates: assertions that implement criteria, by the author (arXiv 2401.03038, section 3.2).

Code of a ready kind first, then Python, then questions. Each is compiled strictly; what is refused is asked for once
more, with the reason, and is then dropped.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from promptpex.assertions import KIND_NAMES, compile_checks
from promptpex.assertions.authored_checks import check_from_text, guessed_phrases
from promptpex.codecs.text.wording import cut
from promptpex.core.errors import CheckError, ModelError
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import Candidate, Check, Criterion, Means, Prompt
from promptpex.core.stage_templates import Rendered, render
from promptpex.core.translation import stored_n
from promptpex.llm.model_in_role import RoleModel, map_requests
from promptpex.llm.schemas import list_up_to, shortened
from promptpex.synthesis.history.versions import same_sentence
from promptpex.synthesis.proposing.graded_examples import GradedExamples
from promptpex.synthesis.proposing.replies import ListReply, ask_list, free_name, slug
from promptpex.synthesis.results.matrix import distance_from_code, may_ask

STAGE = "candidates"
BATCH = 6
"""Criteria that one request asks for: about 2,000 tokens of answer."""
PER_CRITERION = 3
SEVERAL = 5
"""Candidates of a request that asks for several for one criterion."""
LONGEST_WISH = 2_000
MOST_TAKEN = 100
"""Names in use that the author is shown."""
PYTHON, QUESTION = "python", "question"


Arriving = Callable[[tuple[Candidate, ...]], None]
"""Is told of all candidates that have come so far."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class CandidateReply(BaseModel):
    """One proposed assertion."""

    name: str = ""
    criteria: Annotated[list_up_to(str, 2), BeforeValidator(_as_list)]  # type: ignore[valid-type]
    description: Annotated[str, shortened(1000)] = ""
    kind: str
    value: Annotated[str, shortened(50_000)] = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """The example that the author sees; what is not known is empty."""

    prompt: str = ""
    inputs: str = ""
    response: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """What candidates are wanted, beyond what their criteria say.

    Attributes:
        several: whether each criterion has a request of its own, which asks for several.
        by: by what they decide; what decides otherwise is refused.
        wish: the prompt's owner's words, such as ``stricter ones``.
        graded: outputs with people's grades and reasons.
        turn: how often the same was asked before, so that a fresh answer comes.
    """

    several: bool = False
    by: Means = "both"
    wish: str = ""
    graded: GradedExamples = field(default_factory=GradedExamples)
    turn: int = 0


@dataclass(frozen=True, slots=True)
class NewCandidates:
    """What came of asking for candidates."""

    candidates: tuple[Candidate, ...] = ()
    asked: tuple[str, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)


async def propose_candidates(
    author: RoleModel,
    prompt: Prompt,
    criteria: Sequence[Criterion],
    *,
    shown: Shown = Shown(),
    known: Sequence[Candidate] = (),
    demand: Demand = Demand(),
    instructions: str = "",
    emit: Listener = ignore_events,
    arriving: Arriving | None = None,
) -> NewCandidates:
    """Candidates for these criteria.

    Args:
        shown: the example that the author is shown.
        known: candidates that there are; their names and checks are not given again.
        demand: which ones are wanted.
        arriving: is told of the candidates so far, while replies are on their way. They hold only as far as they are
            among those that are given in the end: a reply may break off and come out otherwise.
    """
    requests = _Requests(author, prompt, shown, known, demand, instructions)
    size = 1 if demand.several else BATCH
    batches = [criteria[start : start + size] for start in range(0, len(criteria), size)]
    so_far: dict[int, list[Candidate]] = {}

    def ask(number: int) -> Awaitable[_Proposals]:
        def tell(accepted: list[Candidate]) -> None:
            so_far[number] = accepted
            if arriving is not None:
                arriving(_named(known, [(batches[each], so_far[each]) for each in sorted(so_far)]))

        return requests.proposals(batches[number], tell if arriving is not None else None)

    answers = await map_requests(STAGE, author.label, range(len(batches)), ask, emit, default=None)
    both = zip(batches, answers, strict=True)
    answered = [(batch, answer) for batch, answer in both if answer is not None]
    new = _named(known, [(batch, answer.accepted) for batch, answer in answered])
    dropped = {refusal.name: refusal.reason for _, answer in answered for refusal in answer.refused}
    if dropped:
        message = stored_n(
            "{stage}: {count} proposal refused twice, such as {example}",
            "{stage}: {count} proposals refused twice, such as {example}",
            len(dropped),
            stage=STAGE,
            example=_example_of(dropped),
        )
        emit(Notice(message))
    return NewCandidates(new, tuple(name for _, answer in answered for name in answer.done), dropped)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A proposal that cannot be used, and why."""

    name: str
    criteria: tuple[str, ...]
    shown: str
    reason: str


@dataclass(frozen=True, slots=True)
class _Proposals:
    """What a request brought."""

    accepted: list[Candidate]
    refused: list[_Refusal]
    left_out: list[str]

    @property
    def done(self) -> list[str]:
        """The criteria that need no asking again: those with a candidate, and those that no check can decide."""
        covered = list(dict.fromkeys(name for candidate in self.accepted for name in candidate.criteria))
        return [*covered, *self.left_out] if covered or not self.refused else []


@dataclass(frozen=True, slots=True)
class _Requests:
    """What stays the same in all requests for candidates."""

    author: RoleModel
    prompt: Prompt
    shown: Shown
    known: Sequence[Candidate]
    demand: Demand
    instructions: str

    async def proposals(
        self, batch: Sequence[Criterion], arriving: Callable[[list[Candidate]], None] | None
    ) -> _Proposals:
        """What comes of asking for these criteria, and once more for what was refused."""
        first = await self._asked(batch, (), (), arriving)
        if not first.refused:
            return first
        concerned = [one for one in batch if any(one.id in refusal.criteria for refusal in first.refused)]
        try:
            again = await self._asked(concerned, first.refused, first.accepted, arriving)
        except ModelError as error:
            if error.model_wide:
                raise
            return first
        accepted = [*first.accepted, *again.accepted]
        return _Proposals(accepted, [*_not_fixed(first, again), *again.refused], first.left_out)

    async def _asked(
        self,
        batch: Sequence[Criterion],
        refused: Sequence[_Refusal],
        before: Sequence[Candidate],
        arriving: Callable[[list[Candidate]], None] | None,
    ) -> _Proposals:
        """What one request brings; ``arriving`` is told of it behind what the request before it brought."""

        def read(reply: ListReply[CandidateReply]) -> _Proposals:
            return _read(reply, batch, self.prompt.variables, self.demand.by)

        def tell(items: list[CandidateReply]) -> None:
            if arriving is not None:
                arriving([*before, *read(ListReply(items)).accepted])

        limit = SEVERAL if self.demand.several else PER_CRITERION * len(batch)
        reply = await ask_list(
            self.author,
            self._rendered(batch, refused, limit),
            CandidateReply,
            limit,
            stage=STAGE,
            rescue=True,
            repeat=self.demand.turn,
            arriving=tell if arriving is not None else None,
        )
        return read(reply)

    def _rendered(self, batch: Sequence[Criterion], refused: Sequence[_Refusal], limit: int) -> Rendered:
        return render(
            "synthesis/candidates",
            prompt=self.prompt.text(),
            example=self.shown.prompt,
            inputs=self.shown.inputs,
            response=self.shown.response,
            has_python=PYTHON in KIND_NAMES,
            has_question=QUESTION in KIND_NAMES and self.demand.by != "code",
            items=[{"id": criterion.id, "text": criterion.text} for criterion in batch],
            taken=[candidate.id for candidate in self.known[:MOST_TAKEN]],
            several=self.demand.several,
            asking=self.demand.by == "judge",
            wish=cut(self.demand.wish, LONGEST_WISH),
            good=self.demand.graded.good,
            bad=self.demand.graded.bad,
            known=self._there_already(batch),
            refused="\n".join(f"{one.name} ({', '.join(one.criteria)}): {one.shown}: {one.reason}" for one in refused),
            limit=limit,
            instructions=self.instructions,
        )

    def _there_already(self, batch: Sequence[Criterion]) -> list[str]:
        """The checks that one criterion has, a line each, where several are asked for; in other requests their names
        are enough."""
        ids = {criterion.id for criterion in batch} if self.demand.several else set[str]()
        of_criteria = [candidate for candidate in self.known if ids & set(candidate.criteria)]
        return [
            f"{one.id}: {one.check.kind} {cut(' '.join(str(one.check.value).split()), 600)}" for one in of_criteria
        ][-8:]


def _read(
    reply: ListReply[CandidateReply], batch: Sequence[Criterion], variables: Sequence[str], by: Means
) -> _Proposals:
    ids = [criterion.id for criterion in batch]
    answer = _Proposals([], [], [])
    for item in reply.items:
        criteria = tuple(dict.fromkeys(name.strip() for name in item.criteria if name.strip() in ids))
        if not criteria:
            continue  # there is nothing that it could be a candidate for
        name = slug(item.name) or f"checks_{criteria[0]}"
        try:
            check = _check(item, frozenset(variables))
            _require_means(check, by)
        except CheckError as error:
            answer.refused.append(_Refusal(name, criteria, f"{item.kind} {cut(item.value, 300)}", error.message))
            continue
        description = " ".join(item.description.split())
        candidate = Candidate(id=name, criteria=criteria, description=description, check=check)
        answer.accepted.append(candidate.written_for(batch))
    proposed = {name for one in answer.accepted for name in one.criteria}
    proposed |= {name for one in answer.refused for name in one.criteria}
    usable = bool(proposed) or not reply.items
    answer.left_out.extend(name for name in ids if name not in proposed and usable and not reply.cut)
    return answer


def _check(reply: CandidateReply, variables: frozenset[str]) -> Check:
    """The check that a reply means."""
    if reply.kind in (PYTHON, QUESTION):
        check = Check(kind=reply.kind, value=_without_fence(reply.value))
    else:
        check = check_from_text(reply.kind, reply.value, reply.path, variables)
    compile_checks([check], where="the proposal")
    return check


def _require_means(check: Check, by: Means) -> None:
    """Refuses a check that decides by something else than was asked for."""
    asks = may_ask(check)
    if by == "code" and asks:
        raise CheckError("the prompt's owner wants it decided by code alone, and this asks a reader")
    if by == "judge" and not asks:
        raise CheckError("the prompt's owner wants a reader to decide it, and this is code")


def _without_fence(text: str) -> str:
    lines = text.strip().split("\n")
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].startswith("```")
    return "\n".join(lines[1:-1] if fenced else lines)


def _not_fixed(first: _Proposals, again: _Proposals) -> list[_Refusal]:
    """What was refused and not taken up again: no later proposal is for its criteria."""
    later = {name for one in again.accepted for name in one.criteria}
    later |= {name for one in again.refused for name in one.criteria}
    return [refusal for refusal in first.refused if not later & set(refusal.criteria)]


def _named(
    known: Sequence[Candidate], proposed: Iterable[tuple[Sequence[Criterion], Sequence[Candidate]]]
) -> tuple[Candidate, ...]:
    names = _Names(known)
    return tuple(
        candidate
        for batch, accepted in proposed
        for candidate in names.given(_in_order(accepted, [criterion.id for criterion in batch]))
    )


def _in_order(candidates: Sequence[Candidate], ids: Sequence[str]) -> list[Candidate]:
    return sorted(candidates, key=lambda one: (min(map(ids.index, one.criteria)), distance_from_code(one.check)))


def _example_of(dropped: Mapping[str, str]) -> str:
    name, reason = next(iter(dropped.items()))
    return f"{name} ({reason})"


class _Names:
    """Gives candidates names that are free, and leaves out checks that there are."""

    def __init__(self, known: Sequence[Candidate]) -> None:
        self._names: set[str] = {candidate.id for candidate in known}
        self._checks = {_key(candidate) for candidate in known}

    def given(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """The candidates whose check is new, each with a name of its own."""
        new = []
        for candidate in candidates:
            if _key(candidate) in self._checks:
                continue
            self._checks.add(_key(candidate))
            name = free_name(candidate.id, self._names)
            self._names.add(name)
            new.append(candidate.replace(id=name))
        return new


def _key(candidate: Candidate) -> str:
    return json.dumps([candidate.check.to_dict(), sorted(candidate.criteria)], sort_keys=True)


def exclusions_by_phrases(criteria: Iterable[Criterion], candidates: Iterable[Candidate]) -> list[str]:
    """Names of candidates that decide an exclusion by phrases which the criterion does not name."""
    by_id = {criterion.id: criterion for criterion in criteria}
    return [candidate.id for candidate in candidates if _looks_for_phrases(candidate, by_id)]


def _looks_for_phrases(candidate: Candidate, by_id: Mapping[str, Criterion]) -> bool:
    own_criteria = [by_id[name] for name in candidate.criteria if name in by_id]
    if not any(criterion.category == "exclusion" for criterion in own_criteria):
        return False
    stated = same_sentence(" ".join(f"{criterion.text} {criterion.source}" for criterion in own_criteria))
    return bool(guessed_phrases(candidate.check, stated))
