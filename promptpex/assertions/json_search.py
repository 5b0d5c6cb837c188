"""JSON inside of other text: every object or list that strict JSON reads, from left to right."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from promptpex.assertions import jsvalues


def values(text: str) -> Iterator[Any]:
    """Objects and lists in ``text``; what stands inside a found one is not given again."""
    at = 0
    while (at := _next_open(text, at)) >= 0:
        try:
            found, at = jsvalues.raw_json(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield found


def _next_open(text: str, at: int) -> int:
    places = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
    return min(places, default=-1)


__all__ = ["json", "values"]
