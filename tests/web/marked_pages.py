"""Pages of the local server in the marked language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from promptpex.core import translation
from promptpex.web.interfaces import Ports
from tests.marked_language import Marked, ReadPage, data_of, unmarked
from tests.web.serving import Served, served


@contextmanager
def served_marked(ports: Ports) -> Iterator[Served]:
    """A server whose threads have the marked language, as those of ``view`` have that of the settings."""
    with pytest.MonkeyPatch.context() as patch, served(ports) as server:
        patch.setattr(translation, "_process", Marked())
        yield server


def english_of(page: str, *data: object, names: Iterable[str] = ()) -> list[str]:
    """The texts of a page that are neither marked nor data nor names."""
    assert "⟦" in page
    known = {text for text in data_of(*data) if Marked().stored(text) == text} | set(names)
    return sorted({rest for text in ReadPage(page).texts if (rest := unmarked(text, known))})
