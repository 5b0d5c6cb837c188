"""What a value of a file or a setting should be, in plain words: of one of pydantic's ``errors()``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
