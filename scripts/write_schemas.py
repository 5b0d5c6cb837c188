"""Writes the JSON schemas of the package anew after a record or a setting has changed:
``python scripts/write_schemas.py``."""

from __future__ import annotations

from file_schemas import FOLDER, NAMES, text

from promptpex.codecs.files.atomic import write_text

if __name__ == "__main__":
    for name in NAMES:
        write_text(FOLDER / f"{name}.schema.json", text(name))
