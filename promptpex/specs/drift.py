"""What is said of a prompt that is no longer the text its spec was extracted from, and of cases whose rule is gone."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.core.records import Case, Prompt, Rule, Spec, Suite
from promptpex.specs.source_quotes import SourceStatus, check_sources, prompt_text, uncovered

SHOWN = 100
MOST = 8
"""Sentences and rules that are named one by one; of the rest the number is said."""


def changed(prompt: Prompt, spec: Spec) -> bool:
    """Whether the prompt is another text than the one that the spec names."""
    return spec.prompt_fingerprint not in (None, prompt.fingerprint)


def notices(prompt: Prompt, spec: Spec) -> list[str]:
    """A sentence for each rule that rests on words that are gone or changed, and for each sentence without a rule."""
    rules = [rule for rule in spec.rules if not rule.stale]
    lost = [_lost(one) for one in check_sources(rules, prompt_text(prompt)) if one.status != "kept"]
    bare = [f"no rule rests on: {shown(sentence)}" for sentence in uncovered(rules, prompt)]
    return [*_few(lost, "rules whose words are gone"), *_few(bare, "sentences that no rule rests on")]


def ungrounded(prompt: Prompt, rules: Sequence[Rule]) -> list[str]:
    """A sentence for each rule whose quoted words are not in the prompt, as far as code can tell."""
    return [
        _lost(one, "are not in the prompt") for one in check_sources(rules, prompt_text(prompt)) if one.status != "kept"
    ]


def orphans(spec: Spec, suite: Suite) -> list[Case]:
    """The cases that aim at a rule which the spec has not, or has marked as gone."""
    known = {rule.id for rule in spec.rules if not rule.stale}
    return [case for case in suite.cases if case.rule is not None and case.rule not in known]


def shown(text: str) -> str:
    """A sentence between quotation marks, cut where it is long."""
    flat = " ".join(text.split())
    return f"“{flat}”" if len(flat) <= SHOWN else f"“{flat[: SHOWN - 1]}…”"


def _lost(one: SourceStatus, how: str = "are gone") -> str:
    said = f"rule {one.rule} rests on words that {how}: {shown(one.source)}"
    return f"{said}; the prompt says {shown(one.nearest)}" if one.status == "changed" and one.nearest else said


def _few(lines: list[str], what: str) -> list[str]:
    left = len(lines) - MOST
    return lines if left <= 1 else [*lines[:MOST], f"and {left} more {what}; `promptpex validate` names them all"]
