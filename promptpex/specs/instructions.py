"""What a prompt's owner may say to the stages, in front matter or settings: instructions for each, and a language."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from promptpex.core.errors import ConfigError

STAGES = (
    "intent", "inputs", "rules", "inverse", "checks", "groundedness", "cases", "validity", "expand", "expected",
    "baseline", "judging",
)  # fmt: skip
"""The stages that take instructions."""

_TAG = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")


def checked_language(said: Any, path: str | None) -> str | None:
    """The language tag as said; None for none.

    Raises:
        ConfigError: no BCP 47 tag.
    """
    if said is None:
        return None
    if not isinstance(said, str) or not _TAG.fullmatch(said.strip()):
        raise ConfigError(f"the language {said!r} is no tag such as en, vi or pt-BR", path=path)
    return said.strip()


def check_instructions(said: Any, path: str | None) -> None:
    """Refuses what names no stages, each with its text.

    Raises:
        ConfigError: with what is wrong.
    """
    if not isinstance(said, Mapping):
        raise ConfigError(f"'instructions' must name stages, each with its text ({', '.join(STAGES)})", path=path)
    for stage, text in said.items():
        if stage not in STAGES:
            near = difflib.get_close_matches(str(stage), STAGES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(STAGES)}"
            raise ConfigError(f"instructions: there is no stage {stage!r}; {hint}", path=path)
        if not isinstance(text, str):
            raise ConfigError(f"instructions: those of {stage!r} must be a text", path=path)
