"""Drift: notices about a prompt that has changed since its spec was extracted, and about cases whose rule is stale."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.codecs.wording import quoted
from promptpex.core.records import Case, Prompt, Rule, Spec, Suite
from promptpex.specs.source_quotes import SourceStatus, check_sources, prompt_text, uncovered

MOST = 8
"""Sentences and rules that are named one by one; of the rest only the number is given."""


def changed(prompt: Prompt, spec: Spec) -> bool:
    """Whether the prompt differs from the text that the spec was extracted from."""
    return spec.prompt_fingerprint not in (None, prompt.fingerprint)


def notices(prompt: Prompt, spec: Spec) -> list[str]:
    """A sentence for each rule whose words are gone or changed, and for each sentence of the prompt without a rule."""
    rules = [rule for rule in spec.rules if not rule.stale]
    lost = [_lost(source) for source in check_sources(rules, prompt_text(prompt)) if source.status != "kept"]
    return [*_few(lost, "rules whose words are gone"), *uncited(prompt, rules)]


def uncited(prompt: Prompt, rules: Sequence[Rule]) -> list[str]:
    """A sentence for each sentence of the prompt that no rule cites; of many the first few."""
    without = [f"no rule cites: {quoted(sentence)}" for sentence in uncovered(rules, prompt)]
    return _few(without, "sentences that no rule cites")


def ungrounded(prompt: Prompt, rules: Sequence[Rule]) -> list[str]:
    """A sentence for each rule whose quoted words are not in the prompt, as far as code can tell."""
    return [
        _lost(source, "are not in the prompt")
        for source in check_sources(rules, prompt_text(prompt))
        if source.status != "kept"
    ]


def orphans(spec: Spec, suite: Suite) -> list[Case]:
    """The cases that aim at a rule that the spec does not have, or has marked as stale."""
    current = {rule.id for rule in spec.rules if not rule.stale}
    return [case for case in suite.cases if case.rule is not None and case.rule not in current]


def _lost(source: SourceStatus, how: str = "are gone") -> str:
    sentence = f"rule {source.rule} cites words that {how}: {quoted(source.source)}"
    changed_to = source.nearest if source.status == "changed" else None
    return f"{sentence}; the prompt says {quoted(changed_to)}" if changed_to else sentence


def _few(lines: list[str], what: str) -> list[str]:
    left = len(lines) - MOST
    return lines if left <= 1 else [*lines[:MOST], f"and {left} more {what}; `promptpex validate` names them all"]
