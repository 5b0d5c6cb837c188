"""Chosen assertions as a file for ``promptpex check`` and for promptfoo's ``assert``."""

from __future__ import annotations

from collections.abc import Collection

from promptpex.core.records import Synthesis
from promptpex.documents import yaml_writer

MARK = "# Assertions chosen by promptpex"
"""How every such file begins."""


def check_file(synthesis: Synthesis, chosen: Collection[str]) -> str:
    """The chosen candidates as YAML with the key ``assert``, each check's ``metric`` being the candidate's id."""
    checks = [candidate.named_check.to_dict() for candidate in synthesis.candidates if candidate.id in chosen]
    return f"{MARK}\n{yaml_writer.document({'assert': checks})}"
