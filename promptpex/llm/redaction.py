"""Requests and answers without keys, so that they may be written down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from promptpex.core.records import Completion, Request
from promptpex.llm.secrets import planted, scrub, without_own


def readable(request: Request) -> tuple[dict[str, Any], bool]:
    """The request as JSON-ready data with keys taken out, and whether there were any.

    Each text is scrubbed by itself, so that the data stays sound; a request that held a key has lost its id.
    """
    plain = request.to_dict()
    clean = _each(plain, scrub)
    assert isinstance(clean, dict)
    return clean, clean != plain


def without_keys(completion: Completion) -> Completion:
    """The completion without the keys of this machine, which a server may echo; most have none and are returned as they
    are. Log-probabilities, whose tokens spell the text, go with them."""
    texts = (completion.text, completion.refusal, completion.reasoning, completion.model_reported)
    if not any(key in text for text in (*texts, completion.finish_reason) if text for key in planted()):
        return completion
    clean = _each(completion.model_dump(mode="json", exclude={"logprobs"}), without_own)
    return Completion.model_validate(clean)


def _each(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value) if len(value) >= 8 else value
    if isinstance(value, dict):
        return {key: _each(each, clean) for key, each in value.items()}
    if isinstance(value, list):
        return [_each(each, clean) for each in value]
    return value
