"""The kind ``question``, and code that asks: what is left open, what an answer decides, and what bounds it."""

from __future__ import annotations

import pytest

from promptpex.assertions import compile_checks, evaluator, questions_of, sees_prompt
from promptpex.assertions.model import CheckReport
from promptpex.core.errors import CheckError
from promptpex.core.judge_questions import MAX_QUESTION, MAX_QUESTIONS, JudgeAnswer
from promptpex.core.records import Check

YES = JudgeAnswer(True, "it says so", judge="fake/j")
NO = JudgeAnswer(False, "it does not", judge="fake/j")


def evaluated(value: str, kind: str = "python", /, **answers: JudgeAnswer) -> CheckReport:
    """What a check comes to, where the answers to questions are known; ``q1`` stands for ``q1?``."""
    compiled = compile_checks([{"kind": kind, "value": value}])
    known = {f"{question}?": answer for question, answer in answers.items()}
    return evaluator.evaluate(compiled, evaluator.checked_output("x", {"word": "q1"}, answers=known))


def test_a_question_without_an_answer_is_left_open_and_named() -> None:
    report = evaluated("Is it {{word}}?", "question")
    assert (report.status, report.unscored, report.questions) == ("unscored", "needs-judge", ("Is it q1?",))


def test_a_judge_that_gave_no_answer_leaves_it_open_for_its_own_reason() -> None:
    silent = JudgeAnswer(None, "the server did not answer", "judge-timeout", "fake/j")
    for kind, value in (("question", "q1?"), ("python", "ask('q1?')")):
        report = evaluated(value, kind, q1=silent)
        assert (report.unscored, report.questions) == ("judge-timeout", ())
        assert "the server did not answer" in report.reason


@pytest.mark.parametrize(
    ("value", "message"),
    [("", "needs a question"), (["a?"], "needs a question"), ("x" * (MAX_QUESTION + 1), "2,001 characters")],
)
def test_what_is_no_question_is_refused(value: object, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        compile_checks([{"kind": "question", "value": value}])


PLAIN = "ask('q1?') and not ask('q2?')"
AWAITED = "async def f(example, prompt, response):\n    return await ask('q1?') and not await ask('q2?')"
PAPER = (
    "async def f(example, prompt, response):\n"
    "    first = await ask_llm(prompt, response, 'q1?')\n"
    "    return first and not ask_llm(prompt, response, question='q2?')"
)
PASSED_ON = (
    "async def put(how, question):\n    return await how(question)\n\n"
    "async def f(example, prompt, response):\n    return await put(ask, 'q1?') and not await put(ask, 'q2?')"
)


@pytest.mark.parametrize("code", [PLAIN, AWAITED, PAPER, PASSED_ON])
def test_code_asks_one_question_after_the_other(code: str) -> None:
    assert evaluated(code).questions == ("q1?",)
    assert evaluated(code, q1=NO).status == "fail"
    assert evaluated(code, q1=YES).questions == ("q2?",)
    assert evaluated(code, q1=YES, q2=NO).status == "pass"


def test_code_may_ask_several_questions_at_once() -> None:
    code = (
        "import asyncio\nasync def f(example, prompt, response):\n"
        "    return all(await asyncio.gather(ask('q1?'), ask('q2?')))"
    )
    assert evaluated(code).unscored == "needs-judge"
    assert set(evaluated(code).questions) <= {"q1?", "q2?"}
    assert evaluated(code, q1=YES, q2=NO).status == "fail"
    assert evaluated(code, q1=YES, q2=YES).status == "pass"


def test_an_open_question_stops_the_code_whatever_it_catches() -> None:
    code = "try:\n    ask('q1?')\nexcept BaseException:\n    return True\nreturn True"
    assert evaluated(code).questions == ("q1?",)


def test_code_cannot_answer_for_the_judge() -> None:
    """What it makes of an answer is its own; the answers of other checks are out of its reach."""
    code = "ask.answers = {'q1?': True}\nreturn ask('q1?')"
    assert evaluated(code).status == "unscored"
    mixed = compile_checks([{"kind": "python", "value": code}, {"kind": "question", "value": "q1?"}])
    report = evaluator.evaluate(mixed, evaluator.checked_output("x", {}))
    assert [result.unscored for result in report.results] == ["script-error", "needs-judge"]


@pytest.mark.parametrize(
    ("code", "unscored"),
    [
        (f"all(ask(f'q{{n}}?') for n in range({MAX_QUESTIONS + 1}))", "too-many-questions"),
        ("while True:\n    ask('q1?')", "script-error"),
        (f"ask('x' * {MAX_QUESTION + 1})", "script-error"),
        ("ask(5)", "script-error"),
        ("ask()", "script-error"),
        ("ask('  ')", "script-error"),
        ("import asyncio\nlater = asyncio.gather(ask('q1?'), ask('q2?'))\nreturn True", "script-error"),
    ],
)
def test_what_code_may_ask_is_bounded(code: str, unscored: str) -> None:
    known = {f"q{n}": YES for n in range(MAX_QUESTIONS + 1)}
    report = evaluated(code, **known)
    assert report.unscored == unscored, report.reason


def test_the_questions_of_checks_are_counted_by_their_text() -> None:
    checks = [
        Check(kind="not-question", value="a?"),
        Check(kind="python", value="ask('a?') and ask_llm('', '', 'b?')  # ask('c?')"),
        Check(kind="contains", value="ask('a?')"),
        Check(kind="assert-set", asserts=(Check(kind="question", value="a?"),)),
    ]
    assert [questions_of([each]) for each in checks] == [1, 2, 0, 1]
    assert [sees_prompt([each]) for each in checks] == [True, True, False, True]
    assert not sees_prompt([Check(kind="python", value="def f(response):\n    return True")])
