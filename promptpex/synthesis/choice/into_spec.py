"""Chosen assertions as rules of the spec: a criterion that stands becomes a rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from promptpex.assertions import named_variables
from promptpex.core.records import Candidate, Check, Criterion, Rule, Spec, Synthesis
from promptpex.documents.ownership import owned_by_people
from promptpex.synthesis.candidate_names import free_name


def with_assertions(spec: Spec, synthesis: Synthesis, chosen: Collection[str]) -> Spec:
    """The spec with the chosen candidates in it, and without those of an earlier choice that are not chosen now.

    A candidate for a rule of the spec becomes a check of that rule; of a rule that had none, it decides a part, and
    what passes is left to a judge. The candidates of a criterion from the prompt's history make a rule of their own,
    of origin ``synthesized``, which they decide wholly. Each check carries the candidate's id as its ``metric``. From a
    rule that a person edited or added nothing is taken away.

    Args:
        chosen: ids of candidates.
    """
    criteria = {criterion.id: criterion for criterion in synthesis.criteria}
    chosen_candidates = [candidate for candidate in synthesis.candidates if candidate.id in chosen]
    before = {candidate.id for candidate in synthesis.candidates} - set(chosen)
    rules = [_without(rule, before) for rule in spec.rules if rule.origin != "synthesized"]
    homes = {rule.id: [c for c in chosen_candidates if _rule_of(c, criteria) == rule.id] for rule in rules}
    rules = [_with_checks(rule, homes[rule.id]) for rule in rules]
    placed = {candidate.id for group in homes.values() for candidate in group}
    placed |= {check.metric for rule in rules for check in rule.checks if check.metric}
    taken_ids = {name for rule in rules for name in (rule.id, rule.inverse_id)}
    for group in _by_criteria(candidate for candidate in chosen_candidates if candidate.id not in placed):
        rules.append(_rule(group, criteria, taken_ids))
        taken_ids |= {rules[-1].id, rules[-1].inverse_id}
    return spec.replace(rules=tuple(rules))


def _rule_of(candidate: Candidate, criteria: Mapping[str, Criterion]) -> str | None:
    """The rule of the spec that the candidate's first criterion is about."""
    criterion = criteria.get(candidate.criteria[0]) if candidate.criteria else None
    return None if criterion is None else criterion.rule


def _without(rule: Rule, candidates: Collection[str]) -> Rule:
    """The rule without the checks that came from these candidates, unless it is a person's."""
    if owned_by_people(rule.origin):
        return rule
    checks = tuple(check for check in rule.checks if check.metric is None or check.metric not in candidates)
    return rule if len(checks) == len(rule.checks) else rule.replace(checks=checks)


def _with_checks(rule: Rule, candidates: Collection[Candidate]) -> Rule:
    """The rule with those of the candidates' checks that it does not have already."""
    bare = [check.replace(metric=None) for check in rule.checks]
    new = [candidate.named_check for candidate in candidates if not _is_among(candidate.check, bare)]
    if not new:
        return rule
    return rule.replace(checks=(*rule.checks, *new), decides=rule.decides if rule.checks else "partly")


def _is_among(check: Check, checks: Collection[Check]) -> bool:
    """Whether the checks hold this one, or each of those that it is a set of, as it is where a rule has several."""
    bare = check.replace(metric=None)
    is_set_of_all = check.kind == "assert-set" and check.threshold is None
    return bare in checks or (is_set_of_all and all(part in checks for part in check.asserts or ()))


def _by_criteria(candidates: Iterable[Candidate]) -> list[list[Candidate]]:
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.criteria or (candidate.id,), []).append(candidate)
    return list(groups.values())


def _rule(group: list[Candidate], criteria: Mapping[str, Criterion], taken: Collection[str]) -> Rule:
    """A rule of these candidates, all of which are for the same criteria."""
    own_criteria = [criteria[name] for name in group[0].criteria if name in criteria]
    checks = tuple(candidate.named_check for candidate in group)
    uses_input = bool(named_variables(checks)) or any("python" in check.kind for check in checks)
    return Rule(
        id=free_name(own_criteria[0].id if own_criteria else group[0].id, taken, "-"),
        rule=" ".join(criterion.text for criterion in own_criteria) or group[0].description or group[0].id,
        needs="input" if uses_input else "output",
        source=" ... ".join(criterion.source for criterion in own_criteria if criterion.source) or None,
        checks=checks,
        origin="synthesized",
    )
