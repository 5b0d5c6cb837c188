"""Which checks put questions to a judge, and how many at most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from promptpex.assertions.model import Unscorable
from promptpex.assertions.parse import RUBRIC
from promptpex.assertions.python import source
from promptpex.codecs.text.python_scan import count_asking
from promptpex.core.judge_questions import MAX_QUESTIONS

if TYPE_CHECKING:
    from promptpex.core.records import Check


def asks(checks: Iterable[Check]) -> bool:
    """Whether one of these checks may put a question."""
    return questions_of(checks) > 0


def questions_of(checks: Iterable[Check]) -> int:
    """How many questions these checks put about one output.

    A ``question`` puts one; code as many as its text has calls of ``ask`` and ``ask_llm``, though it may skip some, and
    may make one more than once.
    """
    return sum(_questions(check) for check in checks)


def _questions(check: Check) -> int:
    kind = check.kind.removeprefix("not-")
    if check.asserts is not None:
        return questions_of(check.asserts)
    if kind in ("question", RUBRIC):
        return 1
    if kind != "python" or not isinstance(check.value, str):
        return 0
    return min(MAX_QUESTIONS, count_asking(check.value))


def sees_prompt(checks: Iterable[Check]) -> bool:
    """Whether one of these checks is shown the prompt as it was sent."""
    return any(_sees_prompt(check) for check in checks)


def _sees_prompt(check: Check) -> bool:
    if check.asserts is not None:
        return sees_prompt(check.asserts)
    kind = check.kind.removeprefix("not-")
    if kind != "python" or not isinstance(check.value, str):
        return kind in ("question", RUBRIC, "javascript")
    try:
        program = source.program_of(check.value)
    except Unscorable:
        return False
    return program.asks or "prompt" in program.parameters or "context" in program.parameters
