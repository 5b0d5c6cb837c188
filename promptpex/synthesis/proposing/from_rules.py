"""The rules of a spec as criteria, and their checks as candidates: nothing is asked for them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from promptpex.assertions import KIND_NAMES
from promptpex.codecs.text.inputs_as_text import raw
from promptpex.core.ids import digest
from promptpex.core.records import Candidate, Category, Check, Criterion, Rule, Spec, Synthesis
from promptpex.synthesis.proposing.propose_candidates import QUESTION
from promptpex.synthesis.proposing.replies import free_ids, free_name, slug

_CATEGORIES: dict[str, Category] = {
    "word-count": "quantity",
    "is-json": "response-format",
    "is-xml": "response-format",
    "is-html": "response-format",
    "is-sql": "response-format",
    "contains-json": "response-format",
    "starts-with": "response-format",
    "ends-with": "response-format",
    "equals": "response-format",
}
"""What a rule is about, as far as the kind of its first check tells; ``not-`` is an exclusion, the rest unknown."""
_INCLUSIONS = ("contains", "icontains", "word-a")
_BEGINNING = re.compile(r"^\W*(?:the|an?|each|every)\s+(?:output|answer|response|reply)\s+", re.IGNORECASE)
_WORDS_OF_A_NAME = 6


@dataclass(frozen=True, slots=True)
class FromRules:
    """What the rules of a spec bring."""

    criteria: tuple[Criterion, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict)


def from_rules(spec: Spec, synthesis: Synthesis, before: Mapping[str, str], taken: Collection[str]) -> FromRules:
    """Criteria and candidates for the rules that are new or have changed.

    A rule that was taken before and has not changed brings nothing, so that what a person deleted stays deleted. What
    a choice put into the spec brings nothing either: it comes from candidates.
    """
    names = {candidate.id for candidate in synthesis.candidates}
    rules = [own for rule in spec.rules if not rule.stale and (own := _without_chosen(rule, names)) is not None]
    now = {rule.id: _digest(rule) for rule in rules}
    changed = [rule for rule in rules if before.get(rule.id) != now[rule.id]]
    by_rule = {criterion.rule: criterion for criterion in synthesis.criteria if criterion.rule is not None}
    ids = free_ids({criterion.id for criterion in synthesis.criteria} | set(taken))
    criteria: list[Criterion] = []
    candidates: list[Candidate] = []
    for rule in changed:
        old = by_rule.get(rule.id)
        criterion = _criterion(rule, old.id if old is not None else next(ids))
        if old is not None:
            criterion = criterion.with_settings_of(old)
        criteria.append(criterion)
        of_rule = [one for one in synthesis.candidates if old is not None and one.id.startswith(_prefix(rule))]
        candidates += _candidates(rule, criterion, of_rule, names)
    return FromRules(tuple(criteria), tuple(candidates), {**before, **now})


def _without_chosen(rule: Rule, candidates: Collection[str]) -> Rule | None:
    """The rule without the checks that were chosen among the candidates; None where it is made of them."""
    checks = tuple(check for check in rule.checks if check.metric not in candidates)
    if rule.origin == "synthesized" or (rule.checks and not checks and rule.decides == "wholly"):
        return None
    return rule.replace(checks=checks, decides=rule.decides if checks else "wholly")


def _digest(rule: Rule) -> str:
    digested_rule = rule.replace(inverse=None, origin="added", content=None, misquoted=False)
    return digest(digested_rule.promised(), 12)


def _criterion(rule: Rule, name: str) -> Criterion:
    return Criterion(id=name, text=rule.rule, category=_category(rule.checks), source=rule.source or "", rule=rule.id)


def _category(checks: Sequence[Check]) -> Category:
    if not checks:
        return "other"
    kind = checks[0].kind
    if kind.startswith("not-"):
        return "exclusion"
    return "inclusion" if kind.startswith(_INCLUSIONS) else _CATEGORIES.get(kind, "other")


def _candidates(rule: Rule, criterion: Criterion, old: Sequence[Candidate], names: set[str]) -> list[Candidate]:
    """The rule's checks as one candidate, and a question for what they leave open; under their old names."""
    checks: list[tuple[str, Check]] = []
    if rule.checks and not rule.when:
        checks.append(("", _all_of(rule.checks)))
    if (not checks or rule.decides == "partly") and QUESTION in KIND_NAMES:
        checks.append(("_asked", _question(rule)))
    candidates = []
    for ending, check in checks:
        is_question = check.kind == QUESTION
        before = next((one for one in old if (one.check.kind == QUESTION) == is_question), None)
        name = before.id if before is not None else free_name(f"{_prefix(rule)}{_telling(rule)}{ending}", names)
        names.add(name)
        choice = before.choice if before is not None else None
        new = Candidate(id=name, criteria=(criterion.id,), description=rule.rule, check=check, choice=choice)
        candidates.append(new.written_for([criterion]))
    return candidates


def _all_of(checks: Sequence[Check]) -> Check:
    return checks[0] if len(checks) == 1 else Check(kind="assert-set", asserts=tuple(checks))


def _question(rule: Rule) -> Check:
    text = raw(" ".join(rule.rule.split()))
    return Check(kind=QUESTION, value=f"Does the answer keep this rule, as far as it applies? {text}")


def _prefix(rule: Rule) -> str:
    return f"{slug(rule.id)}_"


def _telling(rule: Rule) -> str:
    words = slug(_BEGINNING.sub("", rule.rule)).split("_")
    return "_".join(words[:_WORDS_OF_A_NAME]) or "holds"
