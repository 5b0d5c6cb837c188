"""Candidates for the criteria of a synthesis that have none, named as they are written where somebody looks on."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.codecs.text.wording import named
from promptpex.core.events import Notice
from promptpex.core.records import Candidate, Criterion, Prompt, Synthesis
from promptpex.core.translation import stored
from promptpex.synthesis.proposing.propose_candidates import Arriving, Demand, NewCandidates, Shown, propose_candidates
from promptpex.workflow.front_matter import instructions_of
from promptpex.workflow.session import Session


async def new_candidates(
    session: Session,
    prompt: Prompt,
    synthesis: Synthesis,
    waiting: Sequence[Criterion],
    shown: Shown,
    *,
    watched: bool = False,
) -> NewCandidates:
    """Candidates for these criteria, those that are to be decided alike in requests of their own.

    Args:
        shown: the example that the author sees.
        watched: whether each is named as soon as it is written.

    Raises:
        ModelError: of a kind that holds for the whole author.
    """
    note = instructions_of(session.settings, prompt).get("candidates", "")
    collected = NewCandidates()
    for by in dict.fromkeys(criterion.by for criterion in waiting):
        new = await propose_candidates(
            session.roles.author(),
            prompt,
            [criterion for criterion in waiting if criterion.by == by],
            shown=shown,
            known=[*synthesis.candidates, *collected.candidates],
            demand=Demand(by=by),
            instructions=note,
            emit=session.emit,
            arriving=_naming(session) if watched else None,
        )
        collected = NewCandidates(
            (*collected.candidates, *new.candidates),
            (*collected.asked, *new.asked),
            {**collected.dropped, **new.dropped},
        )
    return collected


def _naming(session: Session) -> Arriving:
    """Names candidates as they come, and those that a reply which broke off took with it."""
    names_seen: dict[str, None] = {}

    def tell(candidates: Sequence[Candidate]) -> None:
        for one in candidates:
            if one.id not in names_seen:
                message = stored(
                    "candidates: {name} ({kind}) for {criteria}",
                    name=one.id,
                    kind=one.check.kind,
                    criteria=named(one.criteria),
                )
                session.emit(Notice(message))
        names_gone = [name for name in names_seen if name not in {one.id for one in candidates}]
        if names_gone:
            session.emit(
                Notice(stored("candidates: the reply broke off, and with it {names}", names=named(names_gone)))
            )
        names_seen.clear()
        names_seen.update(dict.fromkeys(one.id for one in candidates))

    return tell
