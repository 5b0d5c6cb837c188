"""Drift: notices about a prompt that has changed since its spec was extracted, and about cases whose rule is stale."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.codecs.text.wording import quoted
from promptpex.core.records import Case, Prompt, Rule, Spec, Suite
from promptpex.core.translation import stored
from promptpex.specs.source_quotes import SourceStatus, check_sources, prompt_text, uncovered

MOST = 8
"""Sentences and rules that are named one by one; of the rest only the number is given."""


def changed(prompt: Prompt, spec: Spec) -> bool:
    """Whether the prompt differs from the text that the spec was extracted from."""
    return spec.prompt_fingerprint not in (None, prompt.fingerprint)


def notices(prompt: Prompt, spec: Spec) -> list[str]:
    """A sentence for each rule whose words are gone or changed, and for each sentence of the prompt without a rule."""
    rules = [rule for rule in spec.rules if not rule.stale]
    lost_sources = [_lost(source) for source in check_sources(rules, prompt_text(prompt)) if source.status != "kept"]
    return [*_few(lost_sources, len(lost_sources) - MOST, of_rules=True), *uncited(prompt, rules)]


def uncited(prompt: Prompt, rules: Sequence[Rule]) -> list[str]:
    """A sentence for each sentence of the prompt that no rule cites; of many the first few."""
    without = [stored("no rule cites: {words}", words=quoted(sentence)) for sentence in uncovered(rules, prompt)]
    return _few(without, len(without) - MOST, of_rules=False)


def ungrounded(prompt: Prompt, rules: Sequence[Rule]) -> list[str]:
    """A sentence for each rule whose quoted words are not in the prompt, as far as code can tell."""
    return [
        _lost(source, gone=False) for source in check_sources(rules, prompt_text(prompt)) if source.status != "kept"
    ]


def orphans(spec: Spec, suite: Suite) -> list[Case]:
    """The cases that aim at a rule that the spec does not have, or has marked as stale."""
    current = {rule.id for rule in spec.rules if not rule.stale}
    return [case for case in suite.cases if case.rule is not None and case.rule not in current]


def _lost(source: SourceStatus, *, gone: bool = True) -> str:
    changed_to = source.nearest if source.status == "changed" else None
    values = {"rule": source.rule, "words": quoted(source.source), "other": quoted(changed_to or "")}
    if gone and changed_to:
        return stored("rule {rule} cites words that are gone: {words}; the prompt says {other}", **values)
    if gone:
        return stored("rule {rule} cites words that are gone: {words}", **values)
    if changed_to:
        return stored("rule {rule} cites words that are not in the prompt: {words}; the prompt says {other}", **values)
    return stored("rule {rule} cites words that are not in the prompt: {words}", **values)


def _few(lines: list[str], left: int, *, of_rules: bool) -> list[str]:
    """The lines, of many the first; ``left`` are the others."""
    if left <= 1:
        return lines
    more = stored("and {count} more sentences that no rule cites; `promptpex validate` names them all", count=left)
    if of_rules:
        more = stored("and {count} more rules whose words are gone; `promptpex validate` names them all", count=left)
    return [*lines[:MOST], more]
