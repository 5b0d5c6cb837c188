"""Libraries that only some tests hold ours against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest


@dataclass(frozen=True)
class Foreign:
    """A module by its name, imported by the test that first reads something of it, which is skipped without it.

    scipy takes as long to import as everything of ours together, and every process of the suite collects every test.
    """

    module: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks every name of a module for what it may be
            raise AttributeError(name)
        return getattr(pytest.importorskip(self.module), name)
