"""Writes the schema files of the package anew: ``python -m promptpex.documents.schemas``."""

from __future__ import annotations

from pathlib import Path

from promptpex.codecs.atomic import write_text
from promptpex.documents.schemas import NAMES, text

for name in NAMES:
    write_text(Path(__file__).with_name(f"{name}.schema.json"), text(name))
