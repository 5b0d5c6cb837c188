"""Which candidate implies which (SPADE's subsumption, section 4.4): by the same code, and by a judge in batches.

The paper asks twice about all pairs at once. Here examples come first: a pair that one of them contradicts is not asked
about, nor is one of which a candidate flags too much that is good. What is left is asked about some pairs at a time,
each with a search for a counterexample before the verdict. What candidates do on the examples never counts as proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import BaseModel

from promptpex.codecs.text.wording import cut
from promptpex.core.events import Listener, ignore_events
from promptpex.core.records import Candidate, Implication
from promptpex.core.stage_templates import Rendered, render
from promptpex.llm.model_in_role import RoleModel, map_batches
from promptpex.llm.schemas import REASON, list_up_to, readable, reply_model
from promptpex.synthesis.results.matrix import NOT_DECIDING, Matrix, normal_form, same_code
from promptpex.synthesis.selection.problem import SelectionLimits, below_ffr, uncontradicted

STAGE = "implications"
TEMPLATE = "synthesis/implications"
PAIRS_PER_REQUEST = 15
LONGEST_SHOWN = 4_000
"""Characters of a check that a judge is shown."""

IdPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ImplicationPlan:
    """What is known of the candidates' implications, and what a judge has to be asked."""

    known: tuple[Implication, ...]
    to_ask: tuple[IdPair, ...]
    contradicted: int = 0
    pruned: int = 0


def plan_implications(
    matrix: Matrix, known: Iterable[Implication], judged: Iterable[str] = (), limits: SelectionLimits | None = None
) -> ImplicationPlan:
    """What is known, and what to ask, of the candidates of a matrix."""
    candidates = matrix.candidates
    numbers = {candidate.id: number for number, candidate in enumerate(candidates)}
    by_code = set(same_code(candidates))
    judged = set(judged)
    keys = _keys(candidates)
    still_valid = [
        one
        for one in known
        if one.is_peoples or (one.evidence == "judge" and keys.get((one.stronger, one.weaker)) in judged)
    ]
    spoken_of = {(one.stronger, one.weaker) for one in still_valid}
    still_valid += [
        Implication(stronger=one, weaker=other, evidence="same-code")
        for one, other in sorted(by_code - spoken_of, key=lambda pair: (numbers[pair[0]], numbers[pair[1]]))
    ]
    closed_pairs = spoken_of | by_code
    pairs = [
        (numbers[one], numbers[other]) for (one, other), key in keys.items()
        if (one, other) not in closed_pairs and key not in judged
    ]  # fmt: skip
    fails = [matrix.fails(number) for number in range(len(candidates))]
    good = sum(1 << row for row, example in enumerate(matrix.examples) if example.label == "good")
    open_pairs = uncontradicted(pairs, fails)
    left = below_ffr(open_pairs, fails, good, (limits or SelectionLimits()).ffr)
    names = tuple((candidates[one].id, candidates[other].id) for one, other in left)
    return ImplicationPlan(tuple(still_valid), names, len(pairs) - len(open_pairs), len(open_pairs) - len(left))


def _keys(candidates: Sequence[Candidate]) -> dict[IdPair, str]:
    """All pairs of candidates that people have not refused, with what they are known by once judged."""
    taking_part = [
        (candidate.id, normal_form(candidate.check)) for candidate in candidates if candidate.choice != "never"
    ]
    return {
        (one, other): pair_key(form, other_form)
        for one, form in taking_part
        for other, other_form in taking_part
        if one != other
    }


def pair_key(form: str, other_form: str) -> str:
    return f"{form[:12]} {other_form[:12]}"


class PairReply(BaseModel):
    """A judge's answer about one pair: the counterexample first."""

    pair: int
    counterexample: Annotated[str, REASON]
    verdict: Literal["implied", "not-implied", "unclear"]


@lru_cache(maxsize=32)
def implications_reply(count: int) -> type[BaseModel]:
    pairs = list_up_to(PairReply, count, wanted=count)
    return reply_model("ImplicationsReply", pairs=Annotated[pairs, readable(PairReply)])


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """What a judge said."""

    implications: tuple[Implication, ...]
    judged: tuple[str, ...]


async def judge_pairs(
    judge: RoleModel,
    candidates: Sequence[Candidate],
    pairs: Sequence[IdPair],
    *,
    instructions: str = "",
    emit: Listener = ignore_events,
) -> JudgedPairs:
    """What a judge says of pairs of candidates. A pair whose answer cannot be read is left open.

    Args:
        pairs: ids; those with the same first one are best neighbours, since they share a request.
    """
    checks = {candidate.id: candidate for candidate in candidates}

    async def ask(batch: Sequence[IdPair]) -> list[str | None]:
        rendered = _rendered([(checks[one], checks[other]) for one, other in batch], instructions)
        value = (await judge.ask(rendered, implications_reply(len(batch)), stage=STAGE)).value
        replies: list[PairReply] = value.pairs  # type: ignore[attr-defined]
        verdicts = {reply.pair: reply.verdict for reply in replies}
        return [verdicts.get(number) for number in range(1, len(batch) + 1)]

    verdicts = await map_batches(STAGE, judge.label, pairs, ask, emit, size=PAIRS_PER_REQUEST, default=None)
    implications = [
        Implication(stronger=one, weaker=other, evidence="judge")
        for (one, other), verdict in zip(pairs, verdicts, strict=True)
        if verdict == "implied"
    ]
    answered = [pair for pair, verdict in zip(pairs, verdicts, strict=True) if verdict is not None]
    forms = {name: normal_form(checks[name].check) for pair in answered for name in pair}
    return JudgedPairs(tuple(implications), tuple(pair_key(forms[one], forms[other]) for one, other in answered))


def _rendered(pairs: Sequence[tuple[Candidate, Candidate]], instructions: str) -> Rendered:
    candidate_ids = list(dict.fromkeys(candidate.id for pair in pairs for candidate in pair))
    marks = {name: f"c{number}" for number, name in enumerate(candidate_ids, 1)}
    checks = {candidate.id: candidate for pair in pairs for candidate in pair}
    lines = [f"{number}: {marks[one.id]} implies {marks[other.id]}" for number, (one, other) in enumerate(pairs, 1)]
    return render(
        TEMPLATE,
        items=[{"id": marks[name], "text": _described(checks[name])} for name in candidate_ids],
        pairs="\n".join(lines),
        count=len(pairs),
        instructions=instructions,
    )


def _described(candidate: Candidate) -> str:
    data = candidate.check.to_dict()
    kind, value = data.pop("kind"), data.pop("value", "")
    others = [f"{name}: {setting}" for name, setting in data.items() if name not in NOT_DECIDING]
    return "\n".join([f"kind: {kind}", *others, "value:", cut(str(value), LONGEST_SHOWN)])
