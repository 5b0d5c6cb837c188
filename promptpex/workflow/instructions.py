"""What a prompt's owner says to the stages: instructions for each, and the language of the inputs."""

from __future__ import annotations

from promptpex.config import Settings
from promptpex.core.records import Prompt
from promptpex.specs.instructions import STAGES, check_instructions, checked_language


def notes(settings: Settings, prompt: Prompt) -> dict[str, str]:
    """The owner's instructions per stage: the prompt's front matter, then the settings over it.

    Raises:
        ConfigError: no mapping from stages to texts, or a stage that there is not.
    """
    own = prompt.meta.get("instructions") or {}
    check_instructions(own, prompt.path)
    check_instructions(settings.instructions, None)
    return {**own, **settings.instructions}


def language(settings: Settings, prompt: Prompt) -> str | None:
    """The language that inputs have to be in, a BCP 47 tag; None where neither settings nor front matter name one.

    Raises:
        ConfigError: no such tag.
    """
    said = settings.language or prompt.meta.get("language")
    return checked_language(said, None if settings.language else prompt.path)


__all__ = ["STAGES", "language", "notes"]
