from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core.translation import (
    English,
    day,
    digits,
    from_data,
    language,
    languages,
    reading_in,
    speak,
    spoken,
    stored,
    tr,
    tr_n,
)
from promptpex.core.translation_catalogue import LONGEST, Catalogue

PO = """
msgid ""
msgstr ""
"Plural-Forms: nplurals=1; plural=0;\\n"
"Content-Type: text/plain; charset=utf-8\\n"

msgid "{count} word"
msgid_plural "{count} words"
msgstr[0] "{count} từ"

msgid "{model} is best."
msgstr "Tốt nhất là {model}."

msgctxt "stored"
msgid "best"
msgstr "tốt nhất"

msgctxt "stored"
msgid "{count} words, {wanted} wanted"
msgstr "{count} từ, cần {wanted}"

msgctxt "stored"
msgid "{count} words"
msgstr "{count} từ"

msgctxt "stored"
msgid "not so: {reason}"
msgstr "không phải: {reason}"

#, fuzzy
msgid "unsure"
msgstr "có lẽ"
"""


def _known() -> Catalogue:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "promptpex.po"
        file.write_text(PO, encoding="utf-8")
        return Catalogue("vi", file)


KNOWN = _known()


@pytest.fixture
def vietnamese() -> Catalogue:
    return KNOWN


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak("en")


def test_english_needs_no_catalogue() -> None:
    assert tr("{model} is best.", model="m") == "m is best."
    assert [tr_n("{count} word", "{count} words", count) for count in (0, 1, 2)] == ["0 words", "1 word", "2 words"]
    assert tr("braces stay: {}") == "braces stay: {}"
    assert (digits("1,234.5"), day(datetime(2026, 11, 2))) == ("1,234.5", "2026-11-02")
    assert from_data("best") == "best"


def test_texts_in_another_language(vietnamese: Catalogue) -> None:
    with reading_in(vietnamese):
        assert tr("{model} is best.", model="m") == "Tốt nhất là m."
        assert tr_n("{count} word", "{count} words", 1) == "1 từ"
        assert tr_n("{count} case", "{count} cases", 2) == "2 cases"
        assert (tr("new"), tr("unsure")) == ("new", "unsure")
        assert (digits("1,234.5"), day(datetime(2026, 11, 2))) == ("1.234,5", "2/11/2026")
    assert tr("{model} is best.", model="m") == "m is best."


def test_a_language_is_that_of_all_threads_and_a_block_is_of_its_own() -> None:
    speak("vi")
    names = []
    with reading_in("en"):
        thread = threading.Thread(target=lambda: names.append(spoken().name))
        thread.start()
        thread.join()
        names.append(spoken().name)
    assert names == ["vi", "en"]


def test_a_language_that_there_is_not() -> None:
    with pytest.raises(ValueError, match=r"no report language 'xx'; there are en, vi"):
        language("xx")
    assert [language(name).name for name in languages()] == list(languages())
    assert isinstance(language("en"), English)


def test_what_data_keep_is_recognised(vietnamese: Catalogue) -> None:
    with reading_in(vietnamese):
        assert from_data("best") == "tốt nhất"
        assert from_data(stored("{count} words, {wanted} wanted", count=24, wanted=40)) == "24 từ, cần 40"
        assert from_data("not so: not so: 3 words") == "không phải: không phải: 3 từ"
        assert from_data("3 words; best") == "3 từ; tốt nhất"
        assert from_data("word-count: 3 words") == "word-count: 3 từ"
        assert from_data("1,024 words, 2.5 wanted") == "1.024 từ, cần 2.5"
        assert from_data("3 words; best; as it was") == "3 words; best; as it was"
        assert from_data("too many words") == "too many words"
        assert from_data("What a judge wrote of 3 words.") == "What a judge wrote of 3 words."
        assert from_data("x" * LONGEST + " words") == "x" * LONGEST + " words"


@settings(max_examples=30, deadline=None)
@given(st.integers(), st.text(max_size=40))
def test_values_come_back_as_they_were(count: int, other: str) -> None:
    made = stored("{count} words, {wanted} wanted", count=count, wanted=other)
    with reading_in(KNOWN):
        assert " wanted" in other or from_data(made) == f"{count} từ, cần {other}"
