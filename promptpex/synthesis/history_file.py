"""``versions.json``: the versions of a prompt and what each changed, as far as they were looked at."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from promptpex.codecs.atomic import write_text
from promptpex.codecs.ordinary_files import MEGABYTE
from promptpex.codecs.text_file import read_text
from promptpex.core.errors import SynthesisError
from promptpex.core.records import History

_MOST_BYTES = 100 * MEGABYTE


def read_history(path: Path) -> History | None:
    """What is known of the prompt's versions; None where nothing is.

    Raises:
        SynthesisError: the file is not one of ours.
    """
    if not path.exists():
        return None
    text = read_text(path, error=SynthesisError, what="file of versions", limit=_MOST_BYTES)
    try:
        return History.model_validate_json(text)
    except ValidationError as failure:
        raise SynthesisError(
            f"this is not a file of versions ({failure.errors()[0]['msg']}); remove it, and it is made again", path=path
        ) from None


def write_history(path: Path, history: History) -> None:
    """Writes the file.

    Raises:
        OSError: it cannot be written.
    """
    text = json.dumps(history.to_dict(), ensure_ascii=False, indent=1)
    write_text(path, f"{text}\n", links=False)
