"""Sentences for rules that come from assertions, which say none: what the output has to do."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from promptpex.codecs.text.wording import cut

_LONGEST = 160
"""Characters of a value that a sentence shows."""
_VERBS = {
    "contains": ("holds", "hold", "{value}"),
    "icontains": ("holds", "hold", "{value}, in any case"),
    "contains-all": ("holds", "hold", "all of {value}"),
    "contains-any": ("holds", "hold", "one of {value}"),
    "icontains-all": ("holds", "hold", "all of {value}, in any case"),
    "icontains-any": ("holds", "hold", "one of {value}, in any case"),
    "equals": ("is", "be", "{value}"),
    "starts-with": ("starts with", "start with", "{value}"),
    "regex": ("matches", "match", "the pattern {value}"),
    "is-json": ("is", "be", "JSON{schema}"),
    "contains-json": ("holds", "hold", "JSON{schema}"),
    "is-refusal": ("declines", "decline", "to answer"),
    "cost": ("costs", "cost", "at most {threshold} US dollars"),
    "latency": ("takes", "take", "at most {threshold} milliseconds"),
    "perplexity": ("has", "have", "a perplexity of at most {threshold}"),
    "levenshtein": ("is", "be", "at most {threshold} edits away from {value}"),
    "llm-rubric": ("meets", "meet", "this: {plain}"),
    "python": ("passes", "pass", "this Python: {plain}"),
    "javascript": ("passes", "pass", "this JavaScript: {plain}"),
}
"""By kind, what an output does, the bare verb for the kind turned round, and what follows."""


def sentence_of(checks: Sequence[Mapping[str, object]]) -> str:
    """What an output has to do to pass these checks; for several of them, one after the other."""
    return " ".join(dict.fromkeys(_one(check) for check in checks))


def _one(check: Mapping[str, object]) -> str:
    kind = str(check["kind"])
    base, turned = kind.removeprefix("not-"), kind.startswith("not-")
    parts = check.get("assert")
    if isinstance(parts, list):
        inside = " ".join(_one(part) for part in parts if isinstance(part, dict))
        score = f" to a score of {check['threshold']}" if "threshold" in check else ""
        return cut(f"The output passes these{score}: {inside}", 4 * _LONGEST)
    verbs = _VERBS.get(base)
    if verbs is None:
        value = f" {_shown(check['value'])}" if "value" in check else ""
        return f"The output passes {kind}{value}."
    does, verb, rest = verbs
    words = rest.format(
        value=_shown(check.get("value")),
        plain=_plain(check.get("value")),
        threshold=check.get("threshold", 5 if base == "levenshtein" else "any number of"),
        schema=" of the given schema" if check.get("value") else "",
    )
    return f"The output {f'must not {verb}' if turned else does} {words.rstrip('.')}."


def _shown(value: object) -> str:
    return cut(" ".join(json.dumps(value, ensure_ascii=False, default=str).split()), _LONGEST)


def _plain(value: object) -> str:
    return cut(" ".join(value.split()), _LONGEST) if isinstance(value, str) else _shown(value)
