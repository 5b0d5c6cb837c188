"""YAML read and written: libyaml and ruamel give the same, and what we write reads back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from promptpex.core.errors import InputError
from promptpex.documents import libyaml_nodes, yaml_reader, yaml_writer
from promptpex.documents.yaml_reader import YamlDoc, load
from tests.work import calls

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
YAML_ENDS = (".yaml", ".yml")
FRONT_MATTER_ENDS = (".md", ".prompty", ".txt")
SKIPPED = {".git", ".venv", "node_modules", ".mypy_cache", ".hypothesis"}

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["no", "on", "yes", "~", "null", "012", "0o17", "0x1F", "1_000", "1:30", "2024-01-01", "1e3", ".5e3", "-.5", ".inf",
     "<<", "=", "- a", "a: b", "#c", "@a", "é", "\u00a0", "\ufeff", "\x85", "\u2028", "\t", "a\r\nb", "😀", "'",
     '"', "|"]
)  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)
pieces = st.sampled_from(
    ["a", "b: ", "k: ", "- ", "- - ", "\n", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ", ", ",", ":", "? ", "?", "'",
     '"', "|", "|-", "|+", ">", ">2", "|#", "&a ", "&a", "*a", "*a ", "!!str ", "!!int ", "!x ", "! ", "# c", " #c",
     "%YAML 1.1\n---\n", "---\n", "--- ", "...\n", "\n...\n...\n", "... # c\n", "%TAG ! x\n",
     "\t", "\r\n", "\r", "\x85", "\u2028", "\ufeff", "\u00a0", "é", "\ud800",
     "\\x41", "\\ud83d", "\\/", "\\\n", "<<: ", "no", "on", "1_000", "012", "0o17", "1:30", "2001-01-01", ".5e3", "~",
     "-", "::", "{a:1}", '{"a":1}', "a\n b", "'a\n\n b'", " ", "  ", "x" * 1030]
)  # fmt: skip
documents = st.lists(pieces, max_size=16).map("".join)


def outcome(text: str, to_edit: bool) -> object:
    """All that reading tells: the data with their types, the line and source of every value; or the error."""
    try:
        doc = load(text, error=InputError, what="file", first_line=3, to_edit=to_edit)
    except InputError as failure:
        return failure.message, failure.line
    return repr(doc.data), list(places(doc, doc.data, ()))


def places(doc: YamlDoc, data: Any, keys: tuple[str | int, ...]) -> Iterator[object]:
    yield keys, doc.line(*keys), doc.source(*keys)
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        yield from places(doc, value, (*keys, key))


def is_sure(text: str) -> bool:
    try:
        libyaml_nodes.compose(text)
    except libyaml_nodes.Unsure:
        return False
    return True


@given(documents)
def test_any_text_reads_the_same(text: str) -> None:
    assert outcome(text, to_edit=False) == outcome(text, to_edit=True)


@given(st.dictionaries(words, values, min_size=1, max_size=4))
def test_what_we_write_reads_the_same(data: dict[str, Any]) -> None:
    text = yaml_writer.document(data)
    assert outcome(text, to_edit=False) == outcome(text, to_edit=True)


@pytest.mark.parametrize(
    "text",
    ["k: a\tb\n", "k:\tb\n", "k: 'a\u0085b'\n", "k: a\u2028b\n", "a: 1\n\ufeffb: 2\n", "k: ! 12\n", "k: !!str 12\n",
     "k: !!int '12'\n", "- &a:b x\n- *a:b\n", "&b: c\n", "|#\n", "k: |#\n  a\n", "k: >\n \n  \n a\n", "[?]]", "{?\n,}",
     "{'',?\n,}", "---", "--- # c\n", ">\n#", "a: 1\n---\nb: 2\n", "%YAML 1.1\n---\nk: no\n", "k: *none\n", "a: {b}\n",
     "[" * 200, "k: " + "[" * 70 + "]" * 70,
     "k: 'half \\ud800'\n", "k: \ud800\n", "k: \x07\n", "k: 1e999\n", "a: 1\na: 2\n", "a: [*b, &b c]\n",
     "b: \n...\n...\n", "b: ...\n...\n... # c\n", "b: \r...\r\n\r\n...", "...\n...\nb: 1\n", "b: 1\n...\n---\n...\n",
     "b: |\n  c\n...\n# c\n...\n", "b: 1\n...\n%TAG ! x\n---\n"],
)  # fmt: skip
def test_what_libyaml_sees_otherwise_reads_the_same(text: str) -> None:
    assert outcome(text, to_edit=False) == outcome(text, to_edit=True)


@pytest.mark.parametrize(
    "text",
    ["a: &x [1, 2]\nb: *x\nc:\n- *x\n", "<<: &m {a: 1}\nb: {<<: *m}\n", "k: |\n  a\tb\n\n  c\n", "k: 'a\tb'\n",
     'k: "\\t\\u00e9"\r\nl: >-\r\n  a\r\n  b\r\n', "k: no\nn: 012\no: 1_000\nd: 2024-01-01\ns: 1:30\n", "é: 😀\n",
     "# only a comment\n", "? a\n: b\n", "- - a\n  - b\n", "# c\n---\na: 1\n... # c\n"],
)  # fmt: skip
def test_ordinary_texts_are_read_by_libyaml(text: str) -> None:
    assert is_sure(text)
    assert outcome(text, to_edit=False) == outcome(text, to_edit=True)


def files(ends: tuple[str, ...]) -> Iterator[Path]:
    for top in (ROOT, SHARED):
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(set(folders) - SKIPPED)
            for path in (Path(folder, name) for name in sorted(names) if name.endswith(ends)):
                if path.is_file() and path.stat().st_size < 100_000:
                    yield path


def front_matter(path: Path) -> str | None:
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    if lines[0].rstrip() != "---":
        return None
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    return None if end is None else "\n".join(lines[1:end])


def test_every_file_at_hand_reads_the_same() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in files(YAML_ENDS)}
    texts |= {path: text for path in files(FRONT_MATTER_ENDS) if (text := front_matter(path)) is not None}
    other = [path for path, text in texts.items() if outcome(text, to_edit=False) != outcome(text, to_edit=True)]
    slow = [path for path, text in texts.items() if path.is_relative_to(ROOT) and not is_sure(text)]
    assert len(texts) > 20
    assert (other, slow) == ([], [])


def test_exponents_of_fractions_are_numbers() -> None:
    """The core schema (YAML 1.2.2, 10.3.2) has ``.5e3`` among its floats."""
    assert load("k: .5e3\nt: !!str .5e3\n", error=InputError, what="file").data == {"k": 500.0, "t": ".5e3"}


def test_an_anchor_in_itself_is_refused_by_both() -> None:
    result = outcome("a: &a [*a]\n", to_edit=False)
    assert result == outcome("a: &a [*a]\n", to_edit=True)
    assert isinstance(result, tuple)
    assert "nested more than 60 deep" in result[0]


def test_an_anchor_that_is_set_again_is_no_reason_to_warn(recwarn: pytest.WarningsRecorder) -> None:
    doc = load("a: &x [1]\nb: &x [2]\nc: *x\n", error=InputError, what="file", to_edit=True)
    assert doc.data == {"a": [1], "b": [2], "c": [2]}
    assert not [warning for warning in recwarn if "anchor" in str(warning.message)], "others are of tests before it"


@pytest.mark.parametrize("mark", ["[", "{", "[\t", "- ", "a: [", "{? "])
def test_what_nests_without_end_is_not_read_on(mark: str) -> None:
    def refused(times: int) -> None:
        with pytest.raises(InputError, match=r"nested more than 60 deep|not valid YAML"):
            load(mark * times, error=InputError, what="file")

    refused(200)  # what is imported or compiled once
    assert calls(refused, 6_000) < 3 * calls(refused, 1_500)


texts = st.one_of(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    st.text(alphabet="ab :#-'\"\n,[]{}&*!|>%@`?\t0.~"),
    st.sampled_from(["no", "yes", "null", "~", "012", "1:30", "1e3", ".inf", "2024-01-01", "- a", "a: b", "a #b", ""]),
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts)
values_of_yaml_writer = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
documents_of_yaml_writer = st.dictionaries(texts, values_of_yaml_writer, min_size=1, max_size=5)


def _read(text: str) -> Any:
    return yaml_reader.load(text, error=InputError, what="file").data


@given(documents_of_yaml_writer)
def test_a_document_reads_back(data: dict[str, Any]) -> None:
    assert _read(yaml_writer.document(data)) == data


@given(values_of_yaml_writer)
def test_an_inline_value_reads_back(data: Any) -> None:
    assert "\n" not in yaml_writer.inline(data)
    assert _read(f"k: {yaml_writer.inline(data)} # end\n") == {"k": data}


@given(st.lists(values_of_yaml_writer, min_size=1, max_size=3))
def test_list_items_read_back(data: list[Any]) -> None:
    assert _read("k:\n" + "\n".join(yaml_writer.item_text(item, 3) for item in data)) == {"k": data}


@given(st.dictionaries(st.text("ab", min_size=1), st.text("ab \n:#'\"-é…😀"), min_size=1))
def test_ruamel_reads_the_same(data: dict[str, str]) -> None:
    assert YAML(typ="safe", pure=True).load(yaml_writer.document(data)) == data


@pytest.mark.parametrize("word", ["no", "Yes", "on", "1:30", "0o7", "1_000", "2024-01-01", "null", "-", "1e3"])
def test_words_that_other_readers_take_for_something_else_are_quoted(word: str) -> None:
    assert yaml_writer.inline(word) == f"'{word}'"
