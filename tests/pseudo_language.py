"""A language in which every letter of the project's own words stands out: what keeps its plain letters was not
translated, or was not the project's."""

from __future__ import annotations

import string
import sys
import tempfile
from functools import cache
from pathlib import Path

from promptpex.core.translation_catalogue import STORED, Catalogue

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import texts as catalogues

BOLD = str.maketrans(
    {
        **{letter: chr(0x1D41A + number) for number, letter in enumerate(string.ascii_lowercase)},
        **{letter: chr(0x1D400 + number) for number, letter in enumerate(string.ascii_uppercase)},
    }
)
"""Plain letters by mathematical bold ones."""


def bold(key: str) -> str:
    """The key with its own letters in bold; what stands in its places is left."""
    kept, at = [], 0
    for place in catalogues.PLACES.finditer(key):
        kept += [key[at : place.start()].translate(BOLD), place[0]]
        at = place.end()
    return "".join([*kept, key[at:].translate(BOLD)])


@cache
def pseudo_language() -> Catalogue:
    """The catalogue of all texts of the package, each translated into bold letters."""
    catalogue = catalogues.renewed(catalogues.read("vi"), list(catalogues.used()[0]))
    for message in catalogue:
        if message.id:
            one = message.id if isinstance(message.id, str) else message.id[1]
            message.string = bold(one) if isinstance(message.id, str) else (bold(one),)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "promptpex.po"
        file.write_text(catalogues.written(catalogue), encoding="utf-8")
        return Catalogue("vi", file)


def stored_keys() -> list[str]:
    """The texts that files of data keep."""
    return sorted({text.keys[0] for text in catalogues.used(["stored", "stored_n"])[0] if text.context == STORED})
