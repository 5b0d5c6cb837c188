"""JSON schemas of the files that people write, made from the records that read them, so that editors complete, explain
and check them.

They are in the dialect of draft-07: YAML language servers of every age read it, and nothing here needs a later one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from file_schemas.yaml_files import yaml_file
from promptpex.documents.kinds import KINDS

FOLDER = Path(__file__).resolve().parents[2] / "promptpex" / "documents" / "schemas"
NAMES = tuple(kind.schema for kind in KINDS)
DIALECT = "http://json-schema.org/draft-07/schema#"


def schema(name: str) -> dict[str, Any]:
    """The schema of ``spec``, ``cases`` or ``candidates`` files: what their readers accept, as far as a schema can say
    that."""
    kind = next(kind for kind in KINDS if kind.schema == name)
    return {"$schema": DIALECT, "title": f"promptpex {name} file", **yaml_file(kind)}


def text(name: str) -> str:
    """The schema as its file has it."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"
