"""Parts of sentences: counted things, lists of names, what was probably meant, what a value should be, long texts."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from promptpex.core.surrogates import has_surrogate
from promptpex.core.translation import stored, stored_n

NAMED = 8
"""Ids that a sentence names one by one."""
QUOTED = 80
"""Characters of a sentence that a message quotes: a line of a terminal."""
EXCERPT = 60
"""Characters of an output that a reason shows, besides what was found."""
_LIKENESS = 0.6
"""How alike two names must be (``difflib``'s ratio, 0 to 1) for one to be taken for a misspelling of the other."""


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 word``, ``2 words``; ``nouns`` is the plural where an s does not make it."""
    return f"{count} {noun}" if count == 1 else f"{count} {nouns or f'{noun}s'}"


def requests_in_words(count: int) -> str:
    """``3 requests``, for a text that is stored."""
    return stored_n("{count} request", "{count} requests", count)


def named(ids: Sequence[str]) -> str:
    """``c1, c2``; of many the first few."""
    return ", ".join(ids[:NAMED]) + (", ..." if len(ids) > NAMED else "")


MOST_HINTS = 100
"""Unknown names of one file that are told, each with a like name: looking for it takes half a millisecond."""


def did_you_mean(
    name: str, names: Iterable[str], *, count: int = 1, likeness: float = _LIKENESS, before: str = ""
) -> str:
    """``did you mean 'rule'?``, with up to ``count`` names; empty where none is near. It may be kept in a file.

    Args:
        before: what stands before each name where it is written, such as ``not-``.
    """
    close = difflib.get_close_matches(name, list(names), count, cutoff=likeness)
    near = [repr(before + each) for each in close]
    if len(near) > 1:
        return stored("did you mean one of {names}?", names=", ".join(near))
    return stored("did you mean {name}?", name=near[0]) if near else ""


def with_hint(message: str, hint: str) -> str:
    """``the message; the hint``; the message alone where the hint is empty."""
    return f"{message}; {hint}" if hint else message


def sentence(text: str) -> str:
    """The words with a capital at the beginning and a full stop, where they do not end in a question mark."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('?') else '.'}"


def cut(text: str, length: int) -> str:
    """The text, or its beginning and an ellipsis: at most ``length`` characters in all."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def quoted(text: str, length: int = QUOTED) -> str:
    return f"“{cut(' '.join(text.split()), length)}”"


def quoted_json(text: str, length: int = 60) -> str:
    """The text as a JSON string, cut to ``length`` characters: what an eye would miss stands there as an escape."""
    beginning = text if len(text) <= length else text[: length - 3] + "..."
    return json.dumps(beginning, ensure_ascii=has_surrogate(beginning))


def beginning(text: str) -> str:
    """The first words of a text, on one line: ``‘Sure! Here is …’``; ``nothing`` where it is empty."""
    return around(text, 0, min(len(text), EXCERPT)) if text.strip() else stored("nothing")


def around(text: str, start: int, end: int) -> str:
    """What stands at a place of the text, at most ``EXCERPT`` characters of it, and some before and after."""
    end = min(end, start + EXCERPT)
    room = max(0, EXCERPT - (end - start)) // 2
    first, last = max(0, start - room), min(len(text), end + room)
    excerpt = " ".join(text[first:last].split())
    line = f"‘{'…' if first else ''}{excerpt}{'…' if last < len(text) else ''}’"
    return line.encode("ascii", "backslashreplace").decode() if has_surrogate(line) else line


LIST, MAPPING, TEXT, WHOLE, NUMBER = "a list", "a mapping", "text", "a whole number", "a number"
SHAPES = (LIST, MAPPING, TEXT, WHOLE, NUMBER)
"""What is wanted where an example helps; whoever asks knows how one is written in its files."""

_WANTED = {
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), LIST),
    **dict.fromkeys(("dict_type", "model_type", "mapping_type", "model_attributes_type"), MAPPING),
    **dict.fromkeys(("string_type", "string_unicode"), TEXT),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_parsing_size", "int_from_float"),
        WHOLE,
    ),
    **dict.fromkeys(("float_type", "float_parsing"), NUMBER),
    "finite_number": "a finite number",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "string_too_short": "text that is not empty",
    "string_too_long": "text of at most {max_length} characters",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


def wanted(error: Mapping[str, Any]) -> str | None:
    """What should stand there: ``a whole number``, ``5 or less``; None for an error that says so itself."""
    phrase = _WANTED.get(error["type"])
    if phrase is None:
        return None
    numbers = {name: _plain(value) for name, value in error.get("ctx", {}).items()}
    return phrase.format(**numbers)


def _plain(value: object) -> object:
    """A bound as one writes it: 1, not 1.0."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
