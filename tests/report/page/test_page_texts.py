"""Sentences of a page: values are escaped, HTML that a template has made stays HTML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from promptpex.report.page.page_texts import tr_n_on_page, tr_on_page
from promptpex.report.page.values import pictured

SENTENCES = ("It's {one} & {two}.", "{one}{one}", "<b>{two}</b>", "no place", "{{{one}}}", "{one!r:9}, {two!r}")
VALUES = st.one_of(
    st.text(),
    st.sampled_from(["<script>", "a\x00b", "{one}", "'\"&"]),
    st.sampled_from([Markup("<i>x</i>"), Markup("&amp;")]),
    st.integers(),
    st.floats(),
    st.booleans(),
)


@given(st.sampled_from(SENTENCES), VALUES, VALUES)
def test_a_sentence_is_what_markupsafe_makes_of_it(sentence: str, one: object, two: object) -> None:
    safe = Markup(str(escape(sentence)).replace("&#39;", "'"))
    made = tr_on_page(sentence, one=one, two=two)
    assert type(made) is Markup
    assert made == safe.format(one=pictured(one), two=pictured(two))


def test_nothing_stands_where_there_is_no_value() -> None:
    assert tr_on_page("[{one}]", one=None) == "[]"
    assert tr_n_on_page("{count} case", "{count} cases", 2) == "2 cases"


def test_a_sentence_without_values_keeps_its_braces() -> None:
    assert tr_on_page("a { of {name}") == "a { of {name}"


def test_a_value_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        tr_on_page("{one}", two=1)
