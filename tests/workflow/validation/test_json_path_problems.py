"""Rules that look at values of a JSON output want a rule that says that it is JSON; without one nothing is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.specs.file import examine
from promptpex.workflow.validation.spec_problems import paths_without_json
from promptpex.workflow.validation.validate import validate

ON_REPLY = "{kind: contains, path: reply, value: done}"
PATH_RULE = f"  - id: r2\n    rule: It says done.\n    checks: [{ON_REPLY}]\n"


def problems(folder: Path, rules: str) -> list[tuple[str, int | None, str, str | None]]:
    file = folder / "p.spec.yaml"
    file.write_text(f"prompt: p.md\nrules:\n{rules}", encoding="utf-8")
    reading = examine(file)
    return [(one.severity, one.line, one.message, one.suggestion) for one in paths_without_json(file, reading)]


def test_without_a_rule_that_demands_json_a_path_is_warned_about(tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Answer {{word}}.", encoding="utf-8")
    ((severity, line, message, suggestion),) = problems(tmp_path, PATH_RULE)
    assert (severity, line) == ("warning", 3)
    assert message.startswith("the rule 'r2' looks at values of a JSON output, and no rule requires JSON")
    assert suggestion == "add a rule with the check {kind: is-json}, and name it in these under 'after'"
    assert message in [problem.message for problem in validate([tmp_path / "p.md"])]
    several = PATH_RULE + PATH_RULE.replace("r2", "r3").replace(ON_REPLY, f"{{kind: assert-set, assert: [{ON_REPLY}]}}")
    assert problems(tmp_path, several)[0][2].startswith("the rules r2, r3 look at values")


@pytest.mark.parametrize(
    "first",
    [
        "rule: One object., checks: [{kind: is-json}]",
        "rule: An object., checks: [{kind: assert-set, assert: [{kind: contains-json}]}]",
        "rule: The output is a JSON object.",
    ],
)
def test_with_such_a_rule_the_order_is_proposed(tmp_path: Path, first: str) -> None:
    rules = f"  - {{id: r1, {first}}}\n{PATH_RULE}"
    ((severity, line, message, suggestion),) = problems(tmp_path, rules)
    assert (severity, line) == ("info", 4)
    assert "also of one that breaks r1, which demands JSON" in message
    assert str(suggestion).startswith("add `after: r1`")
    assert problems(tmp_path, rules + "    after: r1\n") == []
    between = "  - {id: r3, rule: Something., after: r1}\n"
    assert problems(tmp_path, rules + "    after: r3\n" + between) == []


@pytest.mark.parametrize(
    "first",
    [
        "rule: One object., checks: [{kind: is-json}], stale: true",
        "rule: One object., checks: [{kind: is-json, path: reply}]",
        "rule: 'If all is well, the output is JSON.'",
        "rule: It is JSON., checks: [{kind: is-json}], when: [{variable: word, kind: equals, value: x}]",
        "rule: It is no JSON., checks: [{kind: not-is-json}]",
        "rule: It is JSON., checks: [{kind: is-json, weight: 0}]",
        "rule: It says done., checks: [{kind: contains, value: done}]",
    ],
)
def test_a_rule_that_lets_other_outputs_by_demands_no_json(tmp_path: Path, first: str) -> None:
    rules = f"  - {{id: r1, {first}}}\n{PATH_RULE}"
    assert [severity for severity, *_ in problems(tmp_path, rules)] == ["warning"]
