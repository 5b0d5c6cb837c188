"""JSON schemas of the files that people write, made from the records that read them, so that editors complete, explain
and check them.

They are in the dialect of draft-07: YAML language servers of every age read it, and nothing here needs a later one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from file_schemas.front_matter import front_matter
from file_schemas.settings_file import settings_file
from file_schemas.yaml_files import yaml_file
from promptpex.documents.editable_file import KINDS

FOLDER = Path(__file__).resolve().parents[2] / "promptpex" / "documents" / "schemas"
DIALECT = "http://json-schema.org/draft-07/schema#"

_OTHERS = {"prompt": front_matter, "settings": settings_file}
NAMES = (*(kind.schema for kind in KINDS), *_OTHERS)


def schema(name: str) -> dict[str, Any]:
    """The schema of one kind of file, by one of ``NAMES``: what its readers accept, as far as a schema can say that."""
    make = _OTHERS.get(name)
    content = make() if make else yaml_file(next(kind for kind in KINDS if kind.schema == name))
    return {"$schema": DIALECT, "title": f"promptpex {name} file", **content}


def text(name: str) -> str:
    """The schema as its file has it."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"
