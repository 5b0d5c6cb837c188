"""Where the JSON schemas of our YAML files are, for the line that tells editors."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path


def schema_place(path: Path | str, name: str) -> str:
    """The schema of ``spec`` or ``cases`` files, as seen from the folder of ``path``; a URI on another drive."""
    schema = Path(str(resources.files("promptpex") / "schemas" / f"{name}.schema.json"))
    try:
        return Path(os.path.relpath(schema, Path(path).resolve().parent)).as_posix()
    except ValueError:
        return schema.as_uri()
