"""Effort presets: one word for how much is extracted, generated, repeated and verified."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from promptpex.core.errors import ConfigError

Effort = Literal["min", "low", "medium", "high"]

EFFORT: dict[str, dict[str, int]] = {
    "min": {
        "max_rules": 10, "cases_per_rule": 1, "inverse_cases": 0, "rounds": 1, "expansion": 0, "repeats": 1,
        "validity": False, "checks": True, "verify": False,
    },
    "low": {
        "max_rules": 20, "cases_per_rule": 1, "inverse_cases": 1, "rounds": 1, "expansion": 0, "repeats": 1,
        "validity": False, "checks": True, "verify": False,
    },
    "medium": {
        "max_rules": 30, "cases_per_rule": 2, "inverse_cases": 2, "rounds": 1, "expansion": 0, "repeats": 2,
        "validity": True, "checks": True, "verify": False,
    },
    "high": {
        "max_rules": 60, "cases_per_rule": 3, "inverse_cases": 3, "rounds": 2, "expansion": 1, "repeats": 3,
        "validity": True, "checks": True, "verify": True,
    },
}  # fmt: skip
"""What each effort sets where nothing else does. Nothing decreases from one row to the next; the defaults lie between
``low`` and ``medium``."""


def checked_effort(effort: object, *, path: Path | str | None = None) -> str:
    """An effort as given.

    Raises:
        ConfigError: there is no such effort.
    """
    if not isinstance(effort, str) or effort not in EFFORT:
        raise ConfigError(f"the effort {effort!r} is not one of {', '.join(EFFORT)}", path=path)
    return effort


def apply_preset(values: dict[str, object], origins: dict[str, str]) -> None:
    """Adds what the effort sets to ``values``, where they do not set it, and says so in ``origins``."""
    effort = values.get("effort")
    for name, value in EFFORT.get(str(effort), {}).items():
        if name not in values:
            values[name] = value
            origins[name] = f"preset {effort}"
