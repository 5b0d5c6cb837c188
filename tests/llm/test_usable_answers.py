from __future__ import annotations

import pytest

from promptpex.core.errors import EmptyReply, Filtered, ModelError, TruncatedReply
from promptpex.core.records import Completion
from promptpex.llm.structured import usable


@pytest.mark.parametrize(
    "completion",
    [
        Completion(text="I cannot help with an empty, truncated or filtered answer.", finish_reason="stop"),
        Completion(text="fine", finish_reason=None),
        Completion(text="fine", finish_reason="eos"),
    ],
)
def test_an_answer_is_usable_whatever_its_words(completion: Completion) -> None:
    assert usable(completion, "m") == completion.text


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        (Completion(text="", finish_reason="stop"), EmptyReply),
        (Completion(text=" \n", finish_reason="stop"), EmptyReply),
        (Completion(text="half of", finish_reason="length"), TruncatedReply),
        (Completion(text="", finish_reason="MAX_TOKENS"), TruncatedReply),
        (Completion(text="", finish_reason="content_filter"), Filtered),
        (Completion(text="part", finish_reason="SAFETY"), Filtered),
        (Completion(text="", refusal="I will not.", finish_reason="stop"), Filtered),
    ],
)
def test_what_is_no_answer_has_its_own_name(completion: Completion, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        usable(completion, "gpt-x")
    assert "gpt-x" in str(caught.value)
    assert caught.value.reply == (completion.text or completion.refusal or "")
