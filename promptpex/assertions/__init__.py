"""Deterministic assertions: promptfoo's kinds and some more, three-valued, sandboxed, with bounded time.

``check`` evaluates assertions on one output; ``compile_checks`` refuses those that cannot be used. ``RuleCheckJob`` is
the job of checking outputs, ``chunked``, by a spec's rules; ``check_inputs`` evaluates its input checks,
``check_conditions`` and ``unmet_conditions`` those of its rules' ``when``; ``compare`` says whether an output is the
expected one.
``evaluate`` is ``check`` for many outputs: of what ``prepare`` gives, on a ``checked_output``.
``named_variables`` are those that values name; ``questions_of`` counts the questions that checks put to a judge, and
``sees_prompt`` says whether they look at the prompt. ``check_time`` is what all of that may take together. Whoever
compiles many checks, of which there are at most ``MAX_CHECKS`` (``count_checks``), hands what ``prepare`` gives to
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
from promptpex.assertions.model import KIND_NAMES, CheckReport, CheckResult, ExpectedOutput, Unscorable
from promptpex.assertions.rule_verdicts import (
    CHECKS_VERSION,
    CodeVerdict,
    OutputOfCase,
    RuleCheckJob,
    check_conditions,
    check_inputs,
    chunked,
    questions_of,
    sees_prompt,
    unmet_conditions,
)
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
    "OutputOfCase",
    "RuleCheckJob",
    "CodeVerdict",
    "compile_patterns",
    "check",
    "check_conditions",
    "check_inputs",
    "check_time",
    "chunked",
    "checked_output",
    "compare",
    "compile_checks",
    "count_checks",
    "evaluate",
    "named_variables",
    "prepare",
    "questions_of",
    "sees_prompt",
    "unmet_conditions",
]
