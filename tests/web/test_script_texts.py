"""What scripts of pages say is in the catalogue, and reaches them in the reader's language."""

from __future__ import annotations

import re

from promptpex.web.app import STATIC
from promptpex.web.script_texts import TEXTS

TEXT = r"""(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")"""
CALL = re.compile(rf"own\.(?:tr|trN|trParts)\(\s*{TEXT}(?:,\s*{TEXT})?")
BY_VALUE = {"good", "bad", "unsure"}
"""Grades, which scripts look up by their values."""
WORDS = re.compile(r"""(?:textContent = |hint\(|Problem\('\w+', |aria-label': )['"`][A-Z]""")


def texts_used() -> set[str]:
    scripts = "".join(file.read_text(encoding="utf-8") for file in sorted(STATIC.glob("*.js")))
    return {text for match in CALL.findall(scripts) for text in match if text}


def test_scripts_say_what_the_catalogue_has() -> None:
    assert texts_used() | BY_VALUE == set(map(str, TEXTS))
    assert len(texts_used()) > 80


def test_no_sentence_of_a_script_is_left_out() -> None:
    for file in STATIC.glob("*.js"):
        assert not WORDS.search(file.read_text(encoding="utf-8")), file.name
