"""What a prompt's owner says to the stages: instructions for each, and the language of the inputs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from promptpex.config import Settings
from promptpex.errors import ConfigError
from promptpex.records import Prompt

STAGES = (
    "intent", "inputs", "rules", "inverse", "checks", "groundedness", "cases", "validity", "expand", "expected",
    "baseline", "judging",
)  # fmt: skip
"""The stages that take instructions."""

_TAG = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")


def notes(settings: Settings, prompt: Prompt) -> dict[str, str]:
    """The owner's instructions per stage: the prompt's front matter, then the settings over it.

    Raises:
        ConfigError: no mapping from stages to texts, or a stage that there is not.
    """
    own = prompt.meta.get("instructions") or {}
    _check(own, prompt.path)
    _check(settings.instructions, None)
    return {**own, **settings.instructions}


def language(settings: Settings, prompt: Prompt) -> str | None:
    """The language that inputs have to be in, a BCP 47 tag; None where neither settings nor front matter name one.

    Raises:
        ConfigError: no such tag.
    """
    said = settings.language or prompt.meta.get("language")
    if said is None:
        return None
    if not isinstance(said, str) or not _TAG.fullmatch(said.strip()):
        path = None if settings.language else prompt.path
        raise ConfigError(f"the language {said!r} is no tag such as en, vi or pt-BR", path=path)
    return said.strip()


def _check(said: Any, path: str | None) -> None:
    if not isinstance(said, Mapping):
        raise ConfigError(f"'instructions' must name stages, each with its text ({', '.join(STAGES)})", path=path)
    for stage, text in said.items():
        if stage not in STAGES:
            near = difflib.get_close_matches(str(stage), STAGES, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(STAGES)}"
            raise ConfigError(f"instructions: there is no stage {stage!r}; {hint}", path=path)
        if not isinstance(text, str):
            raise ConfigError(f"instructions: those of {stage!r} must be a text", path=path)
