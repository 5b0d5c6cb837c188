"""The kind ``python``: its forms, what counts as a verdict, and what the sandbox cannot run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from promptpex.assertions import check as check_output
from promptpex.assertions import compile_checks, evaluator
from promptpex.assertions.model import CheckResult
from promptpex.assertions.python import sandbox
from promptpex.codecs.text.python_scan import definitions, parameters_of
from promptpex.core.errors import CheckError

ANSWER = "The lamp costs 42 euros."


def run(
    code: object, output: object = ANSWER, *, about: Mapping[str, object] | None = None, **given: Any
) -> CheckResult:
    check = {"kind": "python", "value": code, **(about or {})}
    return check_output(output, [check], **given).results[0]


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("len(output) > 5", "pass"),
        ("len(output) > 500", "fail"),
        ("  '42' in output  ", "pass"),
        ("import re\nreturn re.search(r'\\d', output) is not None", "pass"),
        ("import re; return bool(re.match('x', output))", "fail"),
        ("if 'lamp' in output:\n    return True\nreturn False", "pass"),
        ("return json.dumps({'a': 1}) == '{\"a\": 1}'", "pass"),
        ("text = '''\n  two\nlines'''\nreturn text == '\\n  two\\nlines'", "pass"),
        ("def small(text):\n    return len(text) < 99\n\nreturn small(output)", "pass"),
        ("def get_assert(output, context):\n    return context['vars']['price'] in output", "pass"),
        ("def get_assert(output, context):\n    return True\n\ndef helper(x):\n    return False", "pass"),
        (
            "def helper(text):\n    return text.split()\n\ndef short(output):\n    return len(helper(output)) < 3",
            "fail",
        ),
        (
            "def verdict(example: dict, prompt: str, response: str) -> bool:\n    return example['price'] in response",
            "pass",
        ),
        ("async def verdict(example: dict, prompt: str, response: str) -> bool:\n    return prompt == 'p'", "pass"),
        ("async def verdict(response, *, strict=False):\n    return response.endswith('.')", "pass"),
        ("def verdict(response: str, example: dict, limit: int = 3) -> bool:\n    return len(example) < limit", "pass"),
    ],
)
def test_every_form_is_run(code: str, status: str) -> None:
    result = run(code, vars={"price": "42"}, prompt="p")
    assert (result.status, result.unscored) == (status, None), result.reason


def test_the_function_that_counts_is_the_last_or_the_one_that_is_named() -> None:
    code = "def first(output):\n    return False\n\ndef second(output):\n    return first(output) is False\n"
    assert run(code).reason == "second gave True"
    assert run(code, about={"config": {"function": "first"}}).status == "fail"
    wrong = run(code, about={"config": {"function": "frist"}})
    assert wrong.unscored == "bad-value"
    assert "did you mean 'first'" in wrong.reason


@pytest.mark.parametrize(
    ("code", "status", "score"),
    [
        ("0.25", "pass", 0.25),
        ("0", "fail", 0.0),
        ("'true'", "pass", 1.0),
        ("'False'", "fail", 0.0),
        ("'0.5'", "pass", 0.5),
        ('\'{"pass": false, "score": 0.3, "reason": "said so"}\'', "fail", 0.3),
        ("{'pass': True, 'score': 0.7, 'reason': 'fine'}", "pass", 0.7),
        ("{'pass_': False, 'score': 0.7}", "fail", 0.7),
        ("{'score': 0.7}", "pass", 0.7),
        ("{'reason': 'none'}", "fail", 0.0),
        ("None", "fail", 0.0),
        ("[1, 2]", "fail", 0.0),
        ("len", "fail", 0.0),
        ("10 ** 400", "pass", None),
        ("float('nan')", "fail", None),
    ],
)
def test_what_is_a_verdict_follows_promptfoo(code: str, status: str, score: float | None) -> None:
    result = run(code)
    assert (result.status, result.score) == (status, score), result.reason


def test_a_function_of_the_paper_is_judged_by_truth() -> None:
    head = "import re\ndef verdict(example, prompt, response):\n    return "
    assert run(head + "re.search('lamp', response)").status == "pass"
    assert run(head + "re.search('sofa', response)").status == "fail"
    assert run(head + "''").status == "fail"


def test_templates_are_filled_into_promptfoos_forms_and_not_into_functions() -> None:
    assert run("'{{word}}' in output", vars={"word": "lamp"}).status == "pass"
    braces = "def f(output):\n    return f'{{{output}}}' == '{The lamp costs 42 euros.}' and '{{word}}' != 'lamp'"
    assert run(braces, vars={"word": "lamp"}).status == "pass"


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("import string\nreturn string.ascii_letters", "string"),
        ("import numpy", "numpy"),
        ("return ''.maketrans('a', 'b')", "maketrans"),
        ("return dir(output)", "dir"),
        ("def f(output):\n    yield 1", "yield"),
        ("class A(dict):\n    pass\n\ndef f(output):\n    return A()", "inheritance"),
        ("return open('notes.txt').read()", "notes.txt"),
        ("import os\nreturn os.environ['HOME']", "environ"),
        ("return 1" + "+1" * 5000, "nested"),
    ],
)
def test_what_the_sandbox_cannot_run_is_a_state_of_its_own(code: str, named: str) -> None:
    compile_checks([{"kind": "python", "value": code}])
    result = run(code)
    assert (result.status, result.unscored) == ("unscored", "unsupported-python"), result.reason
    assert named in result.reason


@pytest.mark.parametrize(
    "code", ["output.nope", "1 / 0", "{}['a']", "nothing_of_this_name", "int('x')", "assert 1 == 2"]
)
def test_code_that_raises_is_unscored(code: str) -> None:
    assert run(code).unscored == "script-error"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1 +", "is not Python"),
        ("def f(output:\n    return 1", "is not Python"),
        ("return (", "is not Python"),
        ("def f():\n    return True", "has 0 parameters"),
        ("def f(a, b, c, d):\n    return True", "has 4 parameters"),
        ("", "needs code"),
        (["x"], "needs code"),
        ("x" * 100_001, "100,001 characters"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_runs(value: object, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        compile_checks([{"kind": "python", "value": value}], where="rule r1")


def test_what_would_be_done_is_not_tried_when_code_is_read() -> None:
    compile_checks([{"kind": "python", "value": "x = 1 / 0\ndef f(output):\n    return True"}])


def test_many_outputs_at_once_get_the_same_verdicts_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "RUN_SECONDS", 0.5)
    codes = [
        "len(output) % 2 == 0",
        "def f(example, prompt, response):\n    return example['n'] > 3",
        "def f(output, context):\n    return {'pass': context['vars']['n'] > 2, 'score': 0.5}",
        "1 / (len(output) - 14)",
        "while len(output) == 15:\n    pass\nreturn True",
    ]
    compiled = compile_checks([{"kind": "python", "value": code} for code in codes])
    outputs = [evaluator.checked_output("x" * n, {"n": n}) for n in (12, 13, 14, 15, 16, 17)]
    alone = [evaluator.evaluate(compiled, checked) for checked in outputs]
    fresh = [evaluator.checked_output("x" * n, {"n": n}) for n in (12, 13, 14, 15, 16, 17)]
    together = evaluator.evaluate_many([(compiled, checked, None) for checked in fresh])
    assert together == alone
    assert [report.results[4].unscored for report in together] == [None, None, None, "timeout", None, None]
    assert [report.results[3].unscored for report in together][2] == "script-error"


def test_quotes_and_comments_hide_what_looks_like_a_definition() -> None:
    hidden = 'TEXT = """\ndef hidden(a):\n    pass\n"""\n# def other(b):\n'
    code = hidden + 'def f(output, a="def x(", *rest, b):\n    return ask_later'
    assert [each.name for each in definitions(code)] == ["f"]
    assert parameters_of(code, next(definitions(code))) == ("output",)
    assert not sandbox.program_of("'ask(1)' in output # ask").asks
    assert sandbox.program_of("ask('Is it?')").asks
