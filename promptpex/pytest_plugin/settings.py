"""The settings of a prompt's tests: those of the project, under what pytest's options say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from promptpex.config import Resolved, load


def resolved_for(config: pytest.Config, prompt: Path, given: Mapping[str, object] | None = None) -> Resolved:
    """The settings in force for a prompt, as ``promptpex run`` finds them.

    Args:
        given: what goes before the options; None of a value: as the options say.

    Raises:
        ConfigError: a setting that cannot be used.
    """
    options = {name: _listed(config.getoption(f"promptpex_{name}")) for name in ("models", "judge")}
    values = {**options, **{name: value for name, value in (given or {}).items() if value is not None}}
    flags = {name: value for name, value in values.items() if value is not None}
    return load(flags, start=prompt.parent, env=os.environ)


def _listed(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]
