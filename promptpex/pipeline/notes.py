"""The owner's instructions for the stages."""

from __future__ import annotations

from promptpex.config import Settings
from promptpex.records import Prompt


def notes(settings: Settings, prompt: Prompt) -> dict[str, str]:
    """The owner's instructions per stage: the prompt's front matter, then the settings over it."""
    own = prompt.meta.get("instructions") or {}
    return {**(own if isinstance(own, dict) else {}), **settings.instructions}
