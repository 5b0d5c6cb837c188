"""Fields in double braces, as most tools write what is filled into a text."""

from __future__ import annotations

from collections.abc import Iterator


def fields(text: str) -> Iterator[tuple[int, int]]:
    """Where the fields of a text begin and end, braces among them; each ends at the first ``}}`` behind its ``{{``."""
    begin = text.find("{{")
    while begin >= 0 and (end := text.find("}}", begin + 2)) >= 0:
        yield begin, end + 2
        begin = text.find("{{", end + 2)
