"""A JSON file of another tool, as data."""

from __future__ import annotations

import json
from pathlib import Path

from promptpex.codecs.files.ordinary_files import MEGABYTE
from promptpex.codecs.files.text_file import read_text
from promptpex.codecs.json_text import is_too_deep
from promptpex.core.errors import InputError

MAX_BYTES = 500 * MEGABYTE


def read_json(path: Path, what: str) -> object:
    """The file as data.

    Raises:
        InputError: it cannot be read, is larger than ``MAX_BYTES``, or is not JSON; with the line.
    """
    return loaded(read_text(path, error=InputError, what=what, limit=MAX_BYTES), path)


def loaded(text: str, path: Path) -> object:
    """Text as data; ``path`` is where it stands."""
    try:
        value: object = json.loads(text)
        if is_too_deep(value):
            raise RecursionError
        return value
    except json.JSONDecodeError as failure:
        raise InputError(f"this is not valid JSON: {failure.msg}", path=path, line=failure.lineno) from None
    except (RecursionError, ValueError):
        raise InputError("the JSON is nested too deeply or contains a number that is too long", path=path) from None
