"""The kinds ``question``, which a judge answers, and ``expected``: whether the output is the case's expected one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from promptpex.assertions.expected_match import compare
from promptpex.assertions.javascript import js_values
from promptpex.assertions.javascript.js_values import MISSING
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.codecs.text.wording import cut
from promptpex.core.judge_questions import MAX_QUESTION
from promptpex.core.match_kinds import ASKED, match_name
from promptpex.core.translation import stored


def _comparison(assertion: Assertion, value: object) -> str | None:
    """The comparison that the value names; None for the case's own."""
    if value is MISSING or value is None:
        return None
    try:
        named = match_name(value) if isinstance(value, str) else ""
    except ValueError as error:
        raise Unscorable("bad-value", str(error)) from error
    if named in ("", ASKED):
        raise Unscorable("bad-value", f"the value of {assertion.kind} names a comparison that code makes, such as json")
    return named


def _expected(assertion: Assertion, comparison: str | None, checked: CheckedOutput) -> KindResult:
    if checked.expected is None:
        raise Unscorable("no-expected", stored("there is no expected output to compare with"))
    result = compare(checked.text, replace(checked.expected, match=comparison or checked.expected.match))
    return KindResult(result.right, result.reason)


def _question(assertion: Assertion, value: object) -> str:
    question = js_values.trim(value) if isinstance(value, str) else ""
    if not question:
        raise Unscorable("bad-value", f"{assertion.kind} needs a question as its value")
    if len(question) > MAX_QUESTION:
        message = f"the question has {len(question):,} characters; at most {MAX_QUESTION:,} are put"
        raise Unscorable("bad-value", message)
    return question


def _refuse(assertion: Assertion) -> None:
    for name, value in (("transform", assertion.transform), ("path", assertion.path)):
        if value is not None:
            raise Unscorable("bad-value", f"{assertion.kind} looks at the whole output; it has no {name}")


def _evaluate(assertion: Assertion, question: str, checked: CheckedOutput) -> KindResult:
    _refuse(assertion)
    value, reason = answered(question, checked)
    if not reason:
        return KindResult(value, stored("the judge says {boolean}", boolean=value))
    return KindResult(value, (stored("yes: {answer}") if value else stored("no: {answer}")).format(answer=reason))


def answered(question: str, checked: CheckedOutput) -> tuple[bool, str]:
    """Yes or no to a question about the output, and the judge's reason.

    Raises:
        Unscorable: ``needs-judge`` with the question: it has no answer yet; else why the judge gave none.
    """
    answer = checked.answers.get(question)
    if answer is None:
        raise Unscorable("needs-judge", NOT_ASKED.format(excerpt=short_question(question)), questions=(question,))
    if answer.value is None:
        code = answer.unscored or "judge-unclear"
        none = stored("no answer to {excerpt}: {reason}", excerpt=short_question(question), reason=answer.reason)
        raise Unscorable(code, none)
    return answer.value, answer.reason


NOT_ASKED = stored("a judge has to answer {excerpt}, and none was asked")


def short_question(question: str) -> str:
    return f"‘{cut(question, 80)}’"


KINDS: tuple[Kind[Any], ...] = (
    Kind("question", _question, _evaluate, renders_inside=False, refuse=_refuse),
    Kind("expected", plan=_comparison, evaluate=_expected, renders=False),
)
