"""Catalogues: what is translated shows the same values as the English text, and what is not is counted."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from promptpex.core.translation import languages
from promptpex.core.translation_catalogue import STORED

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import texts as catalogues  # noqa: E402

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

OTHERS = languages()[1:]
RENEW = "python scripts/texts.py brings the catalogues up to date"


@cache
def used() -> tuple[tuple[catalogues.Text, ...], tuple[catalogues.NotLiteral, ...]]:
    texts, hidden = catalogues.used()
    return tuple(texts), tuple(hidden)


@cache
def catalogue(name: str) -> Catalog:
    return catalogues.read(name)


def test_every_key_is_a_literal() -> None:
    assert not used()[1], "a text whose key is not a literal cannot be found"


@pytest.mark.parametrize("name", OTHERS)
def test_a_catalogue_is_complete(name: str) -> None:
    """Where it is not, English is shown; the skipped test says so."""
    wanted = {(text.context, text.keys) for text in used()[0]}
    there = {
        (one.context, (one.id,) if isinstance(one.id, str) else tuple(one.id)) for one in catalogue(name) if one.id
    }
    lacking = len(wanted - there) + len(catalogues.missing(catalogue(name)))
    if lacking or there - wanted:
        pytest.skip(
            f"{name}: {lacking} of {len(wanted)} texts are not translated, {len(there - wanted)} unused; {RENEW}"
        )


@pytest.mark.parametrize("name", OTHERS)
def test_translations_show_the_same_values(name: str) -> None:
    wrong = []
    for one in catalogue(name):
        keys = (one.id,) if isinstance(one.id, str) else tuple(one.id)
        wanted = frozenset().union(*map(catalogues.places, keys))
        wrong += [(one.id, form) for form in catalogues.forms(one) if one.id and catalogues.places(form) != wanted]
    assert not wrong


@pytest.mark.parametrize("name", OTHERS)
def test_translations_are_framed_by_the_same_white_space(name: str) -> None:
    frame = re.compile(r"\A(\s*).*?(\s*)\Z", re.DOTALL)
    wrong = []
    for one in catalogue(name):
        key = one.id if isinstance(one.id, str) else one.id[0]
        if key:
            frames = {frame.fullmatch(text).groups() for text in (key, *catalogues.forms(one))}  # type: ignore[union-attr]
            wrong += [key] if len(frames) > 1 else []
    assert not wrong


@pytest.mark.parametrize("name", OTHERS)
def test_a_catalogue_is_written_as_the_script_writes_it(name: str) -> None:
    assert catalogues.catalogue_file(name).read_text(encoding="utf-8") == catalogues.written(catalogue(name)), RENEW


def test_a_stored_text_says_enough_to_be_known_again() -> None:
    """Of a key with places at least two words of its own, so that it takes no foreign text for its own."""
    bare = [catalogues.PLACES.sub(" ", text.keys[0]) for text in used()[0] if text.context == STORED]
    assert all(re.search(r"[a-z]{2,}", words) for words in bare)


def test_what_cannot_be_found_is_found(tmp_path: Path) -> None:
    code = 'tr("a {b}", b=1)\ntr(f"a {b}")\ntr_n("one", "many", 2)\nstored(name)\nREST = Key("rest")\n'
    code += 'stored_n("it", "they", 2)\n'
    texts = list(catalogues.in_python(code, "x.py"))
    read = [one for one in texts if isinstance(one, catalogues.Text)]
    assert {one.keys for one in read} == {("a {b}",), ("one", "many"), ("it",), ("they",), ("rest",)}
    assert {one.keys for one in read if one.context == STORED} == {("it",), ("they",)}
    assert [one.line for one in texts if isinstance(one, catalogues.NotLiteral)] == [2, 4]
    page = '{{ tr("a {b}", b=x) }}{{ tr(name) }}{% set y = tr_n("one", "many", n) %}'
    texts = list(catalogues.in_template(page, "x.jinja"))
    assert [one.keys for one in texts if isinstance(one, catalogues.Text)] == [("a {b}",), ("one", "many")]
    assert len([one for one in texts if isinstance(one, catalogues.NotLiteral)]) == 1
