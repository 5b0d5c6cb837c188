"""What we write as YAML reads back as the same data, with our reader and with ruamel's own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from promptpex.core.errors import InputError
from promptpex.documents import yaml_reader, yaml_writer

texts = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    st.text(alphabet="ab :#-'\"\n,[]{}&*!|>%@`?\t0.~"),
    st.sampled_from(["no", "yes", "null", "~", "012", "1:30", "1e3", ".inf", "2024-01-01", "- a", "a: b", "a #b", ""]),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
documents = st.dictionaries(texts, values, min_size=1, max_size=5)


def _read(text: str) -> Any:
    return yaml_reader.load(text, error=InputError, what="file").data


@given(documents)
def test_a_document_reads_back(data: dict[str, Any]) -> None:
    assert _read(yaml_writer.document(data)) == data


@given(values)
def test_an_inline_value_reads_back(data: Any) -> None:
    assert "\n" not in yaml_writer.inline(data)
    assert _read(f"k: {yaml_writer.inline(data)} # end\n") == {"k": data}


@given(st.lists(values, min_size=1, max_size=3))
def test_list_items_read_back(data: list[Any]) -> None:
    assert _read("k:\n" + "\n".join(yaml_writer.item_text(item, 3) for item in data)) == {"k": data}


@given(st.dictionaries(st.text("ab", min_size=1), st.text("ab \n:#'\"-é…😀"), min_size=1))
def test_ruamel_reads_the_same(data: dict[str, str]) -> None:
    assert YAML(typ="safe", pure=True).load(yaml_writer.document(data)) == data


def test_long_text_stands_as_a_block() -> None:
    assert yaml_writer.document({"a": "one\ntwo"}) == "a: |-\n  one\n  two\n"


@pytest.mark.parametrize("word", ["no", "Yes", "on", "1:30", "0o7", "1_000", "2024-01-01", "null", "-", "1e3"])
def test_words_that_other_readers_take_for_something_else_are_quoted(word: str) -> None:
    assert yaml_writer.inline(word) == f"'{word}'"
