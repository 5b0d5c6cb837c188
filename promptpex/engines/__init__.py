"""Engines: where jobs run. They know neither models nor stages."""

from __future__ import annotations

from promptpex.engines.local import run_all

__all__ = ["run_all"]
