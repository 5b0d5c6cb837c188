"""Deterministic assertions: promptfoo's kinds and some more, three-valued, sandboxed, with bounded time.

``check`` judges one output; ``compile_checks`` refuses checks that cannot be used; ``check_rules`` and
``check_inputs`` judge a spec's rules and input checks. ``check_time`` is what all of that may take together. Whoever
compiles many checks, of which there are at most ``MAX_CHECKS`` (``counted``), announces them when they are ``ready``.
"""

from __future__ import annotations

from promptpex.assertions.evaluate import MAX_CHECKS, Compiled, announce, check, compile_checks, counted, ready
from promptpex.assertions.model import CheckReport, CheckResult
from promptpex.assertions.registry import KIND_NAMES
from promptpex.assertions.rules import CHECKS_VERSION, check_inputs, check_rules
from promptpex.assertions.time_limits import check_time

__all__ = [
    "CHECKS_VERSION",
    "KIND_NAMES",
    "MAX_CHECKS",
    "CheckReport",
    "CheckResult",
    "Compiled",
    "announce",
    "check",
    "check_inputs",
    "check_rules",
    "check_time",
    "compile_checks",
    "counted",
    "ready",
]
