"""From a prompt to its spec: extract, propose checks, and bring a spec up to date with a changed prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.events import Notice
from promptpex.pipeline.notes import notes
from promptpex.records import Prompt, Rule, Spec
from promptpex.session import Session
from promptpex.specs.extract import Extraction, add_inverses, input_specs, propose_rules
from promptpex.specs.extract import extract as extract_spec
from promptpex.specs.groundedness import by_quote
from promptpex.specs.propose_checks import Evidence, propose_checks, with_checks


async def extract(session: Session, prompt: Prompt, *, spec_for: str) -> Spec:
    """The spec of a prompt, by the author model, with the checks that proved themselves."""
    options = _options(session, prompt)
    spec = await extract_spec(session.author(), prompt, spec_for=spec_for, options=options, emit=session.emit)
    return await add_checks(session, prompt, spec) if session.settings.checks else spec


async def add_checks(session: Session, prompt: Prompt, spec: Spec, *, evidence: Evidence = Evidence()) -> Spec:
    """The spec with checks proposed for the rules that have none; what is dropped is told with its reason."""
    proposals = await propose_checks(
        session.author(),
        spec.rules,
        intent=spec.intent,
        evidence=evidence,
        instructions=notes(session.settings, prompt).get("checks", ""),
        emit=session.emit,
    )
    for proposal in proposals:
        if proposal.dropped:
            session.emit(Notice(f"rule {proposal.rule} has no check: {proposal.dropped}"))
    return spec.but(rules=tuple(with_checks(spec.rules, proposals)))


@dataclass(frozen=True, slots=True)
class Update:
    """A spec brought up to date.

    Attributes:
        spec: the spec as it is now.
        added: ids of new rules.
        gone: ids of extracted rules whose words left the prompt; they are marked, not deleted.
        back: ids of rules that were marked and whose words are there again.
        yours: ids of edited or added rules whose words are not in the prompt; they stay as they are.
    """

    spec: Spec
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()


async def update(session: Session, prompt: Prompt, spec: Spec) -> Update:
    """The spec for a prompt that has changed: new rules proposed, vanished ones marked, people's own untouched."""
    author, options, text = session.author(), _options(session, prompt), prompt.text()
    rules = [_marked(rule, text) for rule in spec.rules]
    proposed = await propose_rules(author, text, spec.intent, known=rules, options=options, emit=session.emit)
    new = await add_inverses(author, spec.intent, proposed, options=options, emit=session.emit)
    missing = [name for name in prompt.variables if name not in spec.inputs]
    found = await input_specs(author, prompt, missing, options=options, emit=session.emit)
    updated = spec.but(prompt_fingerprint=prompt.fingerprint, rules=(*rules, *new), inputs={**spec.inputs, **found})
    if session.settings.checks and new:
        only_new = await add_checks(session, prompt, updated.but(rules=tuple(new)))
        updated = updated.but(rules=(*rules, *only_new.rules))
    return Update(
        spec=updated,
        added=tuple(rule.id for rule in new),
        gone=_turned(spec.rules, rules, to=True),
        back=_turned(spec.rules, rules, to=False),
        yours=tuple(rule.id for rule in rules if rule.origin != "extracted" and _vanished(rule, text)),
    )


def _marked(rule: Rule, text: str) -> Rule:
    if rule.origin != "extracted":
        return rule
    return rule.but(gone=_vanished(rule, text))


def _vanished(rule: Rule, text: str) -> bool:
    """Whether the words a rule rests on are no longer in the prompt; a rule without such words cannot vanish."""
    return bool(rule.source) and by_quote(rule, text) is None


def _turned(before: Sequence[Rule], after: Sequence[Rule], *, to: bool) -> tuple[str, ...]:
    return tuple(new.id for old, new in zip(before, after, strict=True) if old.gone != to and new.gone == to)


def _options(session: Session, prompt: Prompt) -> Extraction:
    return Extraction(max_rules=session.settings.max_rules, instructions=notes(session.settings, prompt))
