"""Checks are bounded by the clock: one on one output, one on all outputs, all of a command together."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from promptpex.assertions import (
    KIND_NAMES,
    assertion_file,
    check,
    check_inputs,
    check_time,
    compile_checks,
    compiler,
    evaluator,
)
from promptpex.assertions.compiler import assertion_of
from promptpex.assertions.javascript.v8 import Regexes, V8Process
from promptpex.assertions.model import CheckedOutput, Unscorable, kind_named
from promptpex.assertions.rows_to_check import CheckRow, row_of
from promptpex.assertions.time_limits import (
    COMMAND_SECONDS,
    OUTPUT_SECONDS,
    READING_SECONDS,
    TimedCheck,
    time_of,
)
from promptpex.cases.input_specs import type_problems
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, InputCheck, Output, Rule, VariableSpec
from promptpex.core.time_allowance import Allowance
from promptpex.specs.file import examine
from promptpex.workflow.validation.validate import validate
from tests.assertions.checked_here import check_rows, check_rules

CONTAINS = {"kind": "contains", "value": "a"}


def over() -> Allowance:
    """Time of which nothing is left, and nothing is added."""
    return Allowance(0.0, each=0.0)


def test_a_check_that_has_had_its_time_is_not_tried_and_its_neighbours_are() -> None:
    first, second = compiler.prepare([CONTAINS, CONTAINS]).steps
    compiled = compiler.Compiled((replace(first, time=over()), second))
    reasons = [result.unscored for result in evaluator.evaluate(compiled, evaluator.checked_output("a")).results]
    assert reasons == ["timeout", None]


def test_a_check_that_is_slow_on_every_output_is_dropped() -> None:
    """Each judgement takes 20 s on this clock, which no limit on one judgement stops."""
    now = [0.0]

    def clock() -> float:
        now[0] += 20.0
        return now[0]

    (step,) = compiler.prepare([CONTAINS]).steps
    compiled = compiler.Compiled((replace(step, time=Allowance(30.0, clock=clock)),))
    reasons = [evaluator.evaluate(compiled, evaluator.checked_output("a")).unscored for _ in range(6)]
    assert reasons[0] is None
    assert reasons[-1] == "timeout"


CHECK = json.dumps(CONTAINS)
SPEC = f"prompt: p.md\nrules:\n  - {{id: r1, rule: says a, checks: [{CHECK}]}}\n"
OUTPUT = Output(case="c", model="m", text="a")
RULE = Rule(id="r1", rule="says a", checks=(Check.model_validate(CONTAINS),))
COMMANDS: dict[str, Callable[[Path], Any]] = {
    "check": lambda _: check("a", [CONTAINS]).unscored,
    "check_rules": lambda _: _refused(lambda: check_rules([RULE], [OUTPUT], lambda _: {})),
    "rows": lambda _: _of_a_row(row_of({"output": "a", "assert": [CONTAINS]}, 1)),
    "compile_checks": lambda _: _refused(lambda: compile_checks([CONTAINS])),
    "an assertion file": lambda folder: _refused(lambda: assertion_file.read(_file(folder, "a.yaml", f"[{CHECK}]"))),
    "a spec": lambda folder: examine(_file(folder, "p.spec.yaml", SPEC)).problems[0].message,
    "validate": lambda folder: str(validate([_file(folder, "p.spec.yaml", SPEC)])),
}


def _of_a_row(row: CheckRow) -> str | None:
    (report,) = check_rows([row])
    return report.unscored


def _file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def _refused(made: Callable[[], Any]) -> str:
    with pytest.raises(CheckError) as failure:
        made()
    return str(failure.value)


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_tried_once_the_checks_of_a_command_have_had_their_time(name: str, tmp_path: Path) -> None:
    with check_time(over()):
        late = COMMANDS[name](tmp_path)
    assert "timeout" in late or "was not tried" in late
    if name in ("check", "rows"):
        assert COMMANDS[name](tmp_path) is None


def test_input_checks_and_schemas_of_inputs_are_under_the_clock() -> None:
    given = InputCheck.model_validate({**CONTAINS, "variable": "x"})
    assert check_inputs([given], {"x": "a"}) == []
    with check_time(over()), pytest.raises(CheckError, match="was not tried"):
        check_inputs([given], {"x": "a"})
    variable = VariableSpec.model_validate({"type": "json", "schema": {"required": ["b"]}})
    with check_time(over()):
        assert not any("should be" in problem for problem in type_problems("x", {}, variable))
    assert any("should be" in problem for problem in type_problems("x", {}, variable))


def test_no_match_is_made_once_the_time_is_over() -> None:
    regexes = Regexes()
    with check_time(over()):
        regexes.prefetch([("a", "", "a"), ("b", "", "b")])
    with pytest.raises(Unscorable, match="longer than"):
        regexes.test("a", "a")


LONG: dict[str, tuple[dict[str, Any], Any]] = {
    "contains-all": ({"value": ["a", "b"]}, "ab"),
    "contains-any": ({"value": ["x", "y"]}, "ab"),
    "icontains-any": ({"value": ["x", "y"]}, "ab"),
    "bleu": ({"value": ["a b", "b c"]}, "a b c"),
    "gleu": ({"value": ["a b", "b c"]}, "a b c"),
    "contains-xml": ({"value": "a.b"}, "<a><c/></a>"),
    "is-json": ({"value": {"type": "object"}}, "[]"),
    "contains-json": ({"value": {"required": ["a"]}}, '{"b": 1} {"c": 1}'),
    "regex": ({"value": "a"}, "a"),
}
"""Kinds that go through a list, or through the output's parts, which may be as many as a file or an output holds."""


@pytest.mark.parametrize("name", LONG)
def test_what_may_go_on_for_long_looks_at_the_clock(name: str) -> None:
    more, output = LONG[name]
    made, check_kind = assertion_of({"kind": name, **more}), kind_named(name)
    plan = check_kind.plan(made, made.value)
    check_kind.evaluate(made, plan, CheckedOutput(output))
    with pytest.raises(Unscorable, match="took longer") as late, TimedCheck(seconds=0.0):
        check_kind.evaluate(made, plan, CheckedOutput(output))
    assert late.value.code == "timeout"


def test_each_value_at_a_path_is_looked_at_while_there_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) / 100)
    few, many = (json.dumps(["a"] * values) for values in (100, 1000))
    looks = {"kind": "contains", "value": "a", "path": "[]"}
    assert check(few, [looks]).status == "pass"
    assert check(many, [looks]).unscored == "timeout"


def test_many_checks_on_an_output_add_no_more_than_an_output_may_take() -> None:
    spec = [Rule(id=f"r{number}", rule="A rule.", checks=(Check.model_validate(CONTAINS),)) for number in range(1000)]
    outputs = [Output(case=f"c{number}", model="m", text="a") for number in range(5)]
    opened = time_of(len(spec))
    with check_time(opened):
        assert len(check_rules(spec, outputs, lambda output: {})) == 5000
    read = 2 * len(spec) * READING_SECONDS  # once for its shape, once for what it refuses
    assert opened.seconds == pytest.approx(COMMAND_SECONDS + len(outputs) * OUTPUT_SECONDS + read, abs=0.1)
    assert time_of(20).each == time_of(1).each == 0.1


class Counting(V8Process):
    """A V8 that counts what it is asked."""

    asked = 0

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        self.asked += 1
        return super().ask(request, seconds)


def test_many_patterns_are_compiled_in_few_calls_and_remembered() -> None:
    counting = Counting()
    regexes = Regexes(counting)
    regexes.prefetch((f"a{number}", "", "") for number in range(5000))
    for number in range(5000):
        assert regexes.test(f"a{number}", "") is False
        if number % 2 == 0:
            assert regexes.test("b?", str(number % 10)) is True
    counting.close()
    assert counting.asked < 200


def test_a_pattern_that_is_none_is_named_behind_thousands_that_are(tmp_path: Path) -> None:
    some = [{"kind": "regex", "value": f"a{number}"} for number in range(3000)]
    many = "".join(f"- {json.dumps(one)}\n" for one in some)
    with pytest.raises(CheckError, match="does not compile") as failure:
        assertion_file.read(_file(tmp_path, "a.yaml", many + '- {"kind": "regex", "value": "("}\n'))
    assert failure.value.line == 3001


TOO_MANY = "[" + ", ".join([CHECK] * (compiler.MAX_CHECKS + 1)) + "]"
FILES = {
    "a.yaml": f"assert: {TOO_MANY}",
    "templates.yaml": f"""
assertionTemplates: {{t: {{kind: assert-set, assert: [{", ".join([CHECK] * 200)}]}}}}
assert: [{", ".join(['{"$ref": "#/assertionTemplates/t"}'] * 200)}]
""",
    "set.yaml": f'assert: [{{"kind": "assert-set", "assert": {TOO_MANY}}}]',
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_too_many_checks_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="more than 20,000 assertions; divide them"):
        assertion_file.read(_file(tmp_path, name, FILES[name]))


@pytest.mark.parametrize("where", ["rules", "input_checks"])
def test_a_spec_of_too_many_checks_is_refused(where: str, tmp_path: Path) -> None:
    rules = f"rules: [{{id: r1, rule: says a, checks: {TOO_MANY if where == 'rules' else []}}}]"
    checks = f"input_checks: {TOO_MANY if where == 'input_checks' else []}"
    reading = examine(_file(tmp_path, "p.spec.yaml", f"prompt: p.md\nintent: x\n{rules}\n{checks}\n"))
    assert reading.usable is None
    assert [problem.message for problem in reading.problems] == ["the spec has more than 20,000 checks"]


DEEP = "[" * 20_000 + "]" * 20_000
PARSED = {"kind": "contains", "value": "a", "transform": "JSON.parse(output)"}


def test_a_transform_whose_value_nests_too_deep_is_a_script_error() -> None:
    report = check(DEEP, [PARSED, {"kind": "contains", "value": "["}])
    assert [result.unscored for result in report.results] == ["script-error", None]
    assert "nests too deep" in report.results[0].reason


def test_other_outputs_and_rules_keep_their_verdicts() -> None:
    rules = [
        Rule(id="r1", rule="parsed", checks=(Check.model_validate(PARSED),)),
        Rule(id="r2", rule="plain", checks=(Check(kind="contains", value="["),)),
    ]
    outputs = [Output(case=f"c{n}", model="m", text=text) for n, text in enumerate([DEEP, '["a"]', "[b"])]
    statuses = {(one.case, one.rule): one.status for one in check_rules(rules, outputs, lambda _: {})}
    assert statuses["c0", "r1"] == "unscored"
    assert statuses["c1", "r1"] == "pass"
    assert statuses["c0", "r2"] == statuses["c1", "r2"] == statuses["c2", "r2"] == "pass"


@pytest.mark.parametrize("output", [10**5000, {"a": 10**400}, [-(10**5000)], {1: 2}, "\ud800"], ids=range(5))
def test_no_output_of_any_kind_is_raised(output: Any) -> None:
    for kind in KIND_NAMES:
        if kind != "assert-set":
            report = check(output, [{"kind": kind, "value": "a", "threshold": 1}], vars={"x": 10**5000})
            assert report.status in ("pass", "fail", "unscored")


LARGE = 10**5000
ODD_CHECKS: list[Any] = [
    LARGE,
    {"kind": LARGE},
    {"kind": "contains", "value": "x", "threshold": LARGE},
    {"kind": "contains", "value": "x", "weight": -LARGE},
    {"kind": "rouge-n", "value": "x", "n": LARGE},
    {"kind": "contains", "value": "x", LARGE: 1},
    {"kind": "is-sql", "value": {"databaseType": LARGE}},
    {"kind": "is-json", "value": {"const": LARGE}},
    {"kind": "word-count", "value": LARGE},
    {"kind": "equals", "value": {"a": LARGE}},
]


@pytest.mark.parametrize("odd", ODD_CHECKS, ids=range(len(ODD_CHECKS)))
def test_no_check_of_any_kind_is_raised(odd: Any) -> None:
    report = check("x", [odd, {"kind": "contains", "value": "x"}], threshold=LARGE)
    assert report.results[1].status == "pass"
    report.to_dict()


class _Odd:
    """What a caller of the library may hand over, and JSON does not have."""

    def __str__(self) -> str:
        raise ValueError("no text of me")


@pytest.mark.parametrize("kind", ["contains", "equals", "regex", "javascript"])
def test_an_output_that_breaks_the_program_is_unscored(kind: str) -> None:
    report = check({"a": _Odd()}, [{"kind": kind, "value": "{{a}}"}, {"kind": "regex", "value": "b"}], vars={"a": "b"})
    assert report.results[0].status == "unscored"
    assert report.results[0].unscored == "script-error"
    assert "ValueError" in report.results[0].reason
