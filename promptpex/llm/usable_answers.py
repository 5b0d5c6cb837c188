"""Whether a completion is an answer at all: by its finish reason and fields, never by words inside it."""

from __future__ import annotations

from promptpex.core.errors import EmptyReply, Filtered, TruncatedReply
from promptpex.core.records import Completion
from promptpex.core.translation import stored

CUT = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
"""Finish reasons that mean: cut off at the token limit."""

WITHHELD = frozenset(
    {"content_filter", "content_filtered", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii"}
)
"""Finish reasons that mean: the provider withheld the answer, or the model declined by the API's own signal."""


def usable(completion: Completion, model: str) -> str:
    """The text of an answer that may be scored.

    Raises:
        Filtered: the provider withheld it, or its refusal field is set.
        TruncatedReply: it was cut off at the token limit.
        EmptyReply: there is nothing in it.

    The error's ``reply`` holds the text that came.
    """
    check_filtered(completion, model)
    check_cut(completion, model)
    check_empty(completion, model)
    return completion.text


def check_filtered(completion: Completion, model: str) -> None:
    """Raises ``Filtered`` where the answer was withheld."""
    if completion.refusal or _reason(completion) in WITHHELD:
        text_kept = completion.text or completion.refusal or ""
        declined = stored("{model} or its provider declined to answer.", model=model)
        raise Filtered(declined, model=model, reply=text_kept)


def check_cut(completion: Completion, model: str) -> None:
    """Raises ``TruncatedReply`` where the answer was cut off."""
    if _reason(completion) in CUT:
        message = stored("{model} was cut off at its token limit; allow more with max_tokens.", model=model)
        raise TruncatedReply(message, model=model, reply=completion.text)


def check_empty(completion: Completion, model: str) -> None:
    """Raises ``EmptyReply`` where there is no text."""
    if not completion.text.strip():
        nothing = stored("{model} answered with nothing.", model=model)
        raise EmptyReply(nothing, model=model, reply=completion.text)


def _reason(completion: Completion) -> str:
    return (completion.finish_reason or "").lower()
