"""Which models come from the same vendor: a judge tends to favour the outputs of its own model family.

Self-preference of judges: Panickssery et al. 2024, "LLM Evaluators Recognize and Favor Their Own Generations".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from promptpex.core.translation import stored

_FAMILIES = {
    "OpenAI": r"\b(?:gpt|chatgpt|o[134](?:-mini|-pro)?|davinci|openai)\b",
    "Anthropic": r"\b(?:claude|anthropic)\b",
    "Google": r"\b(?:gemini|gemma\d*|palm|google)\b",
    "Meta": r"\b(?:llama[\d.]*|codellama|meta)\b",
    "Mistral": r"\b(?:mistral|mixtral|ministral|codestral|magistral)\b",
    "Qwen": r"\b(?:qwen[\d.]*|qwq)\b",
    "DeepSeek": r"\bdeepseek\b",
    "Microsoft": r"\b(?:phi[\d.]*|microsoft)\b",
    "Cohere": r"\b(?:command|cohere|aya)\b",
    "xAI": r"\b(?:grok|xai)\b",
    "SmolLM": r"\bsmollm\d*\b",
}
_COMPILED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _FAMILIES.items()}


def family(model: str) -> str:
    """The vendor of a model by its name, else the name itself without provider, tag and parameters.

    ``openrouter/meta-llama/llama-3.1-8b`` is Meta's, whoever serves it; an unknown ``my-model:7b`` is ``my-model``.
    """
    route = model.partition("?")[0]
    base_name = route.rsplit("/", 1)[-1]
    vendor_route = route if not route.startswith("openai/") else ""  # "openai/" also routes to any compatible server
    for text in (base_name, vendor_route):
        for name, pattern in _COMPILED.items():
            if pattern.search(text):
                return name
    return base_name.partition(":")[0].casefold()


def self_preference_warnings(
    judges: Sequence[str],
    models: Sequence[str],
    author: str | None = None,
    *,
    named: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """A sentence for each judge that comes from the same vendor as a model under test or as the author."""

    def vendor(label: str) -> str:
        return family(named.get(label, label))

    warnings = []
    for judge in judges:
        same = [model for model in models if vendor(model) == vendor(judge)]
        if same:
            warnings.append(_may_favour(judge, same, vendor(judge)))
        if author and vendor(author) == vendor(judge):
            warnings.append(
                stored(
                    "the judge {judge} comes from the same vendor as the author {author} ({vendor})",
                    judge=judge,
                    author=author,
                    vendor=vendor(judge),
                )
            )
    return warnings


def _may_favour(judge: str, models: Sequence[str], vendor: str) -> str:
    values = {"judge": judge, "models": ", ".join(models), "vendor": vendor}
    if len(models) == 1:
        return stored(
            "the judge {judge} comes from the same vendor as {models} ({vendor}) and may favour its outputs; use a "
            "judge from another vendor, or pass --allow-self-judging",
            **values,
        )
    return stored(
        "the judge {judge} comes from the same vendor as {models} ({vendor}) and may favour their outputs; use a "
        "judge from another vendor, or pass --allow-self-judging",
        **values,
    )
