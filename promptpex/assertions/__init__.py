"""Deterministic assertions: promptfoo's kinds and some more, three-valued, sandboxed, with bounded time.

``check`` evaluates assertions on one output; ``compile_checks`` refuses those that cannot be used. ``RuleCheckJob`` is
the job of checking outputs, in ``rule_chunks``, by a spec's rules; ``check_inputs`` evaluates its input checks,
``check_conditions`` and ``unmet_conditions`` those of its rules' ``when``; ``compare`` says whether an output is the
expected one.
``evaluate`` is ``check`` for many outputs: of what ``prepare`` gives, on a ``checked_output``.
``named_variables`` are those that values name. ``check_time`` is what all of that may take together. Whoever compiles
many checks, of which there are at most ``MAX_CHECKS`` (``count_checks``), hands what ``prepare`` gives to
``compile_patterns``.
"""

from __future__ import annotations

from promptpex.assertions.compiler import (
    MAX_CHECKS,
    Compiled,
    compile_checks,
    compile_patterns,
    count_checks,
    named_variables,
    prepare,
)
from promptpex.assertions.evaluator import check, checked_output, evaluate
from promptpex.assertions.expected_match import Comparison, compare
from promptpex.assertions.model import CheckReport, CheckResult, ExpectedOutput, Unscorable
from promptpex.assertions.registry import KIND_NAMES
from promptpex.assertions.rule_conditions import check_conditions, unmet_conditions
from promptpex.assertions.rule_verdicts import CHECKS_VERSION, RuleCheckJob, check_inputs, rule_chunks
from promptpex.assertions.time_limits import check_time

__all__ = [
    "CHECKS_VERSION",
    "KIND_NAMES",
    "MAX_CHECKS",
    "Unscorable",
    "CheckReport",
    "CheckResult",
    "Comparison",
    "Compiled",
    "ExpectedOutput",
    "RuleCheckJob",
    "compile_patterns",
    "check",
    "check_conditions",
    "check_inputs",
    "check_time",
    "checked_output",
    "compare",
    "compile_checks",
    "count_checks",
    "evaluate",
    "named_variables",
    "prepare",
    "rule_chunks",
    "unmet_conditions",
]
