"""Which models are kin: made by the same hands, so that one may favour what the other writes."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
    """The maker of a model by its name, else the name itself without provider, tag and parameters.

    ``openrouter/meta-llama/llama-3.1-8b`` is Meta's, whoever serves it; an unknown ``my-model:7b`` is ``my-model``.
    """
    bare = model.partition("?")[0]
    named = bare.rsplit("/", 1)[-1]
    by_route = bare if not bare.startswith("openai/") else ""  # the route to any compatible server, not a maker
    for text in (named, by_route):
        for name, pattern in _COMPILED.items():
            if pattern.search(text):
                return name
    return named.partition(":")[0].casefold()


def kin_warnings(judges: Sequence[str], models: Sequence[str], author: str | None = None) -> list[str]:
    """A sentence for each judge that shares a family with a model under test or with the author."""
    warnings = []
    for judge in judges:
        same = [model for model in models if family(model) == family(judge)]
        if same:
            told = ", ".join(same)
            warnings.append(
                f"the judge {judge} is of one family with {told} ({family(judge)}) and may favour it; "
                "judge with another family, or say --allow-self-judging"
            )
        if author and family(author) == family(judge):
            warnings.append(f"the judge {judge} is of one family with the author {author} ({family(judge)})")
    return warnings
