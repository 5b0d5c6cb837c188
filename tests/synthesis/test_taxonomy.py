"""The taxonomy has two levels, and every name that is in use for a category leads to it."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import CategorisedPhrase, Category, Delta
from promptpex.synthesis.history.categories import category_of, info_of, tagged


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("Presentation Format", "response-format"),
        ("example_demonstration", "example-demonstration"),
        ("Workflow Description", "workflow-description"),
        ("Count", "quantity"),
        ("Inclusion", "inclusion"),
        ("EXCLUSION", "exclusion"),
        ("Qualitative Assessment", "qualitative-criteria"),
        ("Other", "other"),
        ("Response Format Instruction", "response-format"),
        ("Prompt Clarification/Rephrasing", "prompt-clarification"),
        ("Data Placeholders", "data-integration"),
        ("Quantity Instruction", "quantity"),
        ("qualitative-criteria", "qualitative-criteria"),
        ("something new", "other"),
        ("", "other"),
        (3, "other"),
        (None, "other"),
    ],
)
def test_other_names_are_mapped(name: object, category: Category) -> None:
    assert category_of(name) == category
    assert info_of(category).title


PHRASES = st.lists(st.tuples(st.sampled_from(get_args(Category)), st.text("ab {}.\n", max_size=6)), max_size=8)


@given(st.text("ab {}.\n", max_size=40), PHRASES)
def test_tagged_pieces_make_up_the_prompt(text: str, phrases: list[tuple[Category, str]]) -> None:
    delta = Delta(
        version="v1",
        changes=(),
        categories=tuple(CategorisedPhrase(category=category, source=source) for category, source in phrases),
    )
    segments = tagged(text, [delta])
    assert "".join(segment.text for segment in segments) == text
    assert all(segment.text for segment in segments)
