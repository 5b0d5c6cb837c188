"""From a prompt to its spec: extract, propose checks, and bring a spec up to date with a changed prompt."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from promptpex.core.events import Notice
from promptpex.core.records import Case, Prompt, Rule, Run, Spec, Suite
from promptpex.core.translation import stored
from promptpex.specs.check_trials import Evidence, Proposal
from promptpex.specs.extract import extract as extract_spec
from promptpex.specs.extract import input_specs
from promptpex.specs.groundedness import Groundedness, grounded
from promptpex.specs.propose_checks import propose_checks, with_checks
from promptpex.specs.propose_rules import Extraction, add_inverses, propose_rules, same_rule
from promptpex.specs.source_quotes import check_sources, mark_stale, prompt_text, uncovered
from promptpex.workflow.front_matter import instructions_of, samples_of
from promptpex.workflow.session import Session


async def extract(
    session: Session, prompt: Prompt, *, spec_for: str, suite: Suite | None = None, before: Run | None = None
) -> Spec:
    """The spec of a prompt, by the author model, with the checks that proved themselves.

    Args:
        suite: cases that there are already; the checks must not refuse their expected outputs.
        before: an earlier run of the prompt, whose verdicts the checks must not contradict.
    """
    options = _options(session, prompt)
    spec = await extract_spec(session.roles.author(), prompt, spec_for=spec_for, options=options, emit=session.emit)
    evidence = evidence_of(spec.rules, before, suite, aimed=False)
    return await add_checks(session, prompt, spec, evidence) if session.settings.checks else spec


async def add_checks(
    session: Session, prompt: Prompt, spec: Spec, evidence: Evidence, only: Collection[str] | None = None
) -> Spec:
    """The spec with checks proposed for the rules that have none; each dropped proposal is emitted with its reason.

    Args:
        evidence: what the checks must not contradict.
        only: ids of the rules to propose for; None = all.
    """
    proposals = await propose_checks(
        session.roles.author(),
        prompt,
        spec,
        only=only,
        evidence=evidence,
        instructions=instructions_of(session.settings, prompt).get("checks", ""),
        emit=session.emit,
    )
    for reason, names in _dropped(proposals).items():
        message = stored(
            "{count} rules ({ids}) have no check: {reason}", count=len(names), ids=", ".join(names), reason=reason
        )
        if len(names) == 1:
            message = stored("rule {rule} has no check: {reason}", rule=names[0], reason=reason)
        session.emit(Notice(message))
    return spec.replace(rules=tuple(with_checks(spec.rules, proposals)))


def _dropped(proposals: Sequence[Proposal]) -> dict[str, list[str]]:
    rules: dict[str, list[str]] = {}
    for proposal in proposals:
        if proposal.dropped:
            rules.setdefault(proposal.dropped, []).append(proposal.rule)
    return rules


def evidence_of(
    rules: Sequence[Rule], before: Run | None, suite: Suite | None = None, *, aimed: bool = True
) -> Evidence:
    """What was judged of these rules before, and the usable cases. Rules are matched by their text: every extraction
    numbers them again.

    Args:
        aimed: whether the cases aim at these very rules.
    """
    usable = [_as_known(case, suite, aimed) for case in suite.usable()] if suite is not None else []
    if before is None:
        return Evidence(cases=usable)
    ids = {same_rule(rule.rule): rule.id for rule in rules}
    now = {rule.id: ids.get(same_rule(rule.rule)) for rule in before.spec.rules}
    verdicts_known = [verdict for verdict in before.verdicts if now.get(verdict.rule) is not None]
    return Evidence(
        outputs=before.outputs,
        verdicts=[verdict.replace(rule=now[verdict.rule]) for verdict in verdicts_known],
        cases=usable,
        inputs={case.id: case.inputs for case in before.suite.cases},
    )


def _as_known(case: Case, suite: Suite, aimed: bool) -> Case:
    whole = suite.match_of(case) in ("normalised", "exact", "json")
    expected = case.expected if whole else None
    return case.replace(expected=expected) if aimed else case.replace(expected=expected, rule=None, inverse=False)


async def groundedness(session: Session, prompt: Prompt, spec: Spec) -> list[Groundedness]:
    """Whether the prompt says what each rule says: by its quoted words and, with ``verify``, by a model for the rest.

    The model is ``Session.checker``.
    """
    judge = session.roles.checker() if session.settings.verify else None
    instructions = instructions_of(session.settings, prompt).get("groundedness", "")
    rules = [rule for rule in spec.rules if not rule.stale]
    return await grounded(judge, prompt, rules, instructions=instructions, emit=session.emit)


@dataclass(frozen=True, slots=True)
class Update:
    """A spec brought up to date.

    Attributes:
        spec: the spec as it is now.
        added: ids of new rules.
        stale: ids of extracted rules whose words left the prompt or changed; they are marked, not deleted.
        back: ids of rules that were marked and that the prompt says again.
        yours: ids of edited or added rules whose words are not in the prompt; they stay as they are.
        groundedness: of each rule, where ``verify`` asks for it.
        asked: whether the author was asked for rules.
        uncited: the sentences of the prompt that no rule cites.
    """

    spec: Spec
    added: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    yours: tuple[str, ...] = ()
    groundedness: tuple[Groundedness, ...] = ()
    asked: bool = False
    uncited: tuple[str, ...] = ()


MOST_UNCITED = 40
"""Sentences without a rule that the author is shown."""


async def update(
    session: Session,
    prompt: Prompt,
    spec: Spec,
    suite: Suite | None = None,
    *,
    more: bool = False,
    before: Run | None = None,
) -> Update:
    """The spec for a prompt that has changed: new rules proposed, vanished ones marked, people's own untouched.

    An extracted rule whose words are no longer there is stale until the author, who reads the prompt without knowing
    of it, proposes the same rule again: then it is back, under its id, with the words that it cites now. No id of the
    spec or of the suite is used again. A rule that a person marked as gone is not proposed again. A prompt that has
    not changed needs no author, unless extracted rules lack the inverse that cases are wanted for, or ``more`` asks
    for the rules that are still missing.

    Where checks were asked for by a flag, they are proposed for every unedited rule that has none; else only for
    new rules. ``before`` is an earlier run, whose verdicts they must not contradict.
    """
    unchanged = spec.prompt_fingerprint == prompt.fingerprint
    marked = spec if unchanged else mark_stale(spec, prompt_text(prompt))
    missing = [name for name in prompt.variables if name not in spec.inputs]
    marked = await _with_inverses(session, prompt, marked)
    if unchanged and not missing and not more:
        if _wants_checks(session):
            evidence = evidence_of(marked.rules, before, suite)
            return _update(spec, await _checked(session, prompt, marked, marked.rules, evidence), prompt)
        why = stored(
            "the prompt is the one that the spec was extracted from; the author was not asked (--more-rules asks for "
            "further rules)"
        )
        session.emit(Notice(why))
        return _update(spec, marked, prompt)
    rules, new = await _asked_for(session, prompt, marked, suite)
    options = _options(session, prompt)
    inputs = await input_specs(session.roles.author(), prompt, missing, options=options, emit=session.emit)
    updated = spec.replace(
        prompt_fingerprint=prompt.fingerprint, rules=(*rules, *new), inputs={**spec.inputs, **inputs}
    )
    if session.settings.checks:
        evidence = evidence_of(updated.rules, before, suite)
        updated = await _checked(session, prompt, updated, updated.rules if _wants_checks(session) else new, evidence)
    return replace(_update(spec, updated, prompt), asked=True)


async def _asked_for(
    session: Session, prompt: Prompt, spec: Spec, suite: Suite | None
) -> tuple[list[Rule], list[Rule]]:
    """The rules of the spec, those that the author proposes again being back; and the rules that it adds."""
    author, options = session.roles.author(), _options(session, prompt)
    current = [rule for rule in spec.rules if not rule.stale or rule.origin in ("edited", "added")]
    proposed = await propose_rules(
        author,
        prompt,
        known=current,
        uncited=uncovered(current, prompt)[:MOST_UNCITED],
        taken={rule.id for rule in spec.rules} | {case.rule for case in (suite.cases if suite else ()) if case.rule},
        options=options,
        emit=session.emit,
    )
    rules, fresh = _revived(spec.rules, proposed)
    return rules, await add_inverses(author, spec.intent, fresh, options=options, emit=session.emit)


async def _with_inverses(session: Session, prompt: Prompt, spec: Spec) -> Spec:
    """The spec with an inverse for each extracted rule that lacks one, after a smaller effort or a failed request."""
    options = _options(session, prompt)
    bare = [rule for rule in spec.rules if lacks_inverse(rule)]
    if not bare or not options.inverses:
        return spec
    new = await add_inverses(session.roles.author(), spec.intent, bare, options=options, emit=session.emit)
    by_id = {rule.id: rule for rule in new}
    return spec.replace(rules=tuple(by_id.get(rule.id, rule) for rule in spec.rules))


def lacks_inverse(rule: Rule) -> bool:
    """Whether the rule's inverse is still missing; rules of people stay as they wrote them."""
    return rule.origin == "extracted" and not rule.stale and not rule.inverse


def _wants_checks(session: Session) -> bool:
    return session.settings.checks and session.resolved.given("checks")


async def _checked(session: Session, prompt: Prompt, spec: Spec, rules: Sequence[Rule], known: Evidence) -> Spec:
    rules_to_check = {rule.id for rule in rules if rule.origin != "edited" and not rule.stale and not rule.checks}
    return await add_checks(session, prompt, spec, known, only=rules_to_check) if rules_to_check else spec


def _revived(rules: Sequence[Rule], proposed: Sequence[Rule]) -> tuple[list[Rule], list[Rule]]:
    """The rules, those that are gone and proposed again being back with their new words; and what is really new."""
    again = {same_rule(rule.rule): rule for rule in proposed}
    stale_texts = {same_rule(rule.rule) for rule in rules if rule.stale and rule.origin == "extracted"}
    back = [
        rule.replace(stale=False, source=again[same_rule(rule.rule)].source)
        if rule.stale and rule.origin == "extracted" and same_rule(rule.rule) in again
        else rule
        for rule in rules
    ]
    return back, [rule for rule in proposed if same_rule(rule.rule) not in stale_texts]


def _update(before: Spec, after: Spec, prompt: Prompt) -> Update:
    old = {rule.id: rule for rule in before.rules}
    turned = [rule for rule in after.rules if rule.id in old and old[rule.id].stale != rule.stale]
    people = [rule for rule in after.rules if rule.origin in ("edited", "added")]
    missing = [quote.rule for quote in check_sources(people, prompt_text(prompt)) if quote.status != "kept"]
    return Update(
        spec=after,
        added=tuple(rule.id for rule in after.rules if rule.id not in old),
        stale=tuple(rule.id for rule in turned if rule.stale),
        back=tuple(rule.id for rule in turned if not rule.stale),
        yours=tuple(missing),
    )


def _options(session: Session, prompt: Prompt) -> Extraction:
    settings = session.settings
    return Extraction(
        settings.max_rules, settings.inverse_cases > 0, instructions_of(settings, prompt), samples_of(settings, prompt)
    )
