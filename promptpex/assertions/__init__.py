"""Deterministic assertions: promptfoo's kinds and some more, three-valued, sandboxed, with bounded time.

``check`` judges one output; ``compile_checks`` refuses checks that cannot be used; ``check_rules`` and
``check_inputs`` judge a spec's rules and input checks. ``check_time`` is what all of that may take together.
"""

from __future__ import annotations

from promptpex.assertions.clock import check_time
from promptpex.assertions.engine import Compiled, check, compile_checks
from promptpex.assertions.model import CheckReport, CheckResult
from promptpex.assertions.registry import KIND_NAMES
from promptpex.assertions.rules import ENGINE, check_inputs, check_rules

__all__ = [
    "ENGINE",
    "KIND_NAMES",
    "CheckReport",
    "CheckResult",
    "Compiled",
    "check",
    "check_inputs",
    "check_rules",
    "check_time",
    "compile_checks",
]
