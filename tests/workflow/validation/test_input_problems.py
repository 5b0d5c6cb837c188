"""Hand-made cases whose inputs are not what spec or front matter allow are told, and run all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.workflow.validation.validate import validate

FRONT = """\
---
inputs:
  tone: {values: [formal, casual]}
  count: {type: integer, minimum: 1}
---
{{tone}} {{count}} {{order}}
"""
SPEC = """\
inputs:
  tone: {type: enum, values: [formal, casual, rude]}
  count: {maximum: 9, type: number}
  order: {max_length: 5}
rules:
  - {id: r1, rule: One word.}
"""


def warnings(folder: Path, inputs: str, *, spec: bool) -> list[str]:
    (folder / "mail.md").write_text(FRONT, encoding="utf-8")
    (folder / "mail.cases.yaml").write_text(f"cases:\n  - {{id: a, inputs: {inputs}}}\n", encoding="utf-8")
    if spec:
        (folder / "mail.spec.yaml").write_text(SPEC, encoding="utf-8")
    problems = [problem for problem in validate([folder / "mail.md"]) if "the case" in problem.message]
    assert {problem.severity for problem in problems} <= {"warning"}
    assert {problem.line for problem in problems} <= {2}
    return [problem.message.removeprefix("the case 'a': ") for problem in problems]


@pytest.mark.parametrize(
    ("inputs", "by_prompt", "by_both"),
    [
        ("{tone: formal, count: 3, order: x}", [], []),
        ("{tone: formal, count: 3, order: {status: open}}", [], []),
        (
            "{tone: rude, count: 3, order: x}",
            ['tone is "rude", which is not one of the allowed values'],
            ['tone is "rude", which is not one of the allowed values'],
        ),
        ("{tone: casual, count: 0, order: 7}", ["count is 0, less than 1"], ["count is 0, less than 1"]),
        ("{tone: casual, count: 12, order: x}", [], ["count is 12, more than 9"]),
        ("{tone: casual, count: 2, order: 1234567}", [], ["order has 7 characters, more than 5"]),
        (
            "{tone: casual, count: many, order: x}",
            ['count is "many", and not of type integer'],
            ['count is "many", and not of type number', 'count is "many", and not of type integer'],
        ),
    ],
)
def test_inputs_are_held_to_what_is_allowed(
    tmp_path: Path, inputs: str, by_prompt: list[str], by_both: list[str]
) -> None:
    assert warnings(tmp_path, inputs, spec=False) == by_prompt
    assert warnings(tmp_path, inputs, spec=True) == by_both


def test_cases_with_the_same_inputs_are_pointed_out(tmp_path: Path) -> None:
    (tmp_path / "mail.md").write_text("{{a}} {{b}}", encoding="utf-8")
    cases = ("one, inputs: {a: x, b: 1}", "two, inputs: {a: x, b: 2}", "three, inputs: {b: 1, a: x}")
    listed = "".join(f"  - {{id: {case}}}\n" for case in cases)
    (tmp_path / "mail.cases.yaml").write_text(f"cases:\n{listed}", encoding="utf-8")
    (problem,) = [problem for problem in validate([tmp_path / "mail.md"]) if "same inputs" in problem.message]
    assert (problem.severity, problem.line) == ("info", 4)
    assert problem.message == "the cases one, three have the same inputs: they are asked once and count 2 times"


def test_a_file_with_mistakes_still_belongs_to_the_prompt_that_its_name_says(tmp_path: Path) -> None:
    (tmp_path / "mail.md").write_text("{{a}}", encoding="utf-8")
    (tmp_path / "mail.spec.yaml").write_text("rules:\n  - {id: r1}\n", encoding="utf-8")
    assert [problem.message for problem in validate([tmp_path / "mail.md"])] == ["'rule' is missing"]
