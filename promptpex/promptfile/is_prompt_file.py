"""Which files of a folder are prompts: those named ``prompt``, and those with a spec or cases of their own beside them.

A folder of prompts also holds specs, cases, metrics, notes and pages; none of them is taken for a prompt.
"""

from __future__ import annotations

from pathlib import Path

from promptpex.promptfile.formats import SUFFIXES, stem
from promptpex.promptfile.sibling_files import belongs_to, sibling

NAME = "prompt"
"""What a prompt may be called whatever is beside it: ``prompt.md``, ``prompt.txt`` and so on."""

OWN_FILES = (".spec", ".cases", ".metric", ".blessed")
"""How the names of files end that are kept beside a prompt, before their suffix."""


def is_prompt(path: Path, *, named: bool = False) -> bool:
    """Whether a file is a prompt, by its name and by what is beside it; what it holds is not read.

    Args:
        named: whether the user named the file itself: then any name that a prompt may have will do.
    """
    if not path.name.lower().endswith(SUFFIXES) or stem(path).endswith(OWN_FILES):
        return False
    return named or stem(path) == NAME or has_own_files(path)


def has_own_files(prompt: Path) -> bool:
    """Whether a spec or cases are beside a prompt that do not say they are another prompt's."""
    return any(belongs_to(sibling(prompt, kind), prompt.name) for kind in ("spec", "cases"))
