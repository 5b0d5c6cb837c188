"""Lone surrogates: told from whole text, escaped in JSON without loss, replaced where they are shown or sent."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from promptpex.core.surrogates import escape_surrogates, has_surrogate, replace_surrogates

texts = st.text(max_size=8) | st.text("a\ud83d\ude00é\udfff", max_size=6)


@given(texts)
@example("\ud800")
def test_what_has_one_is_what_utf8_refuses(text: str) -> None:
    try:
        text.encode()
        refused = False
    except UnicodeEncodeError:
        refused = True
    assert has_surrogate(text) == refused


@given(texts)
@example("\ud83d\ude00")
def test_an_escaped_text_reads_back_as_python_writes_it(text: str) -> None:
    escaped = escape_surrogates(json.dumps([text], ensure_ascii=False))
    escaped.encode()
    assert json.loads(escaped) == json.loads(json.dumps([text]))


@given(texts)
def test_a_replaced_text_can_be_sent_and_whole_text_stays(text: str) -> None:
    replaced = replace_surrogates(text)
    replaced.encode()
    assert has_surrogate(text) or replaced == text
