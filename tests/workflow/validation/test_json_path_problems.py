"""Rules that look at values of a JSON output want a rule that says that it is JSON; without one nothing is kept."""

from __future__ import annotations

import html
from pathlib import Path

import pytest

import promptpex
from promptpex.core.records import Case, Check, Rule, Run, Spec, Suite
from promptpex.llm.fake import FakeClient
from promptpex.report import html_page
from promptpex.report.summary import summarise, to_dict
from promptpex.specs.file import examine
from promptpex.tables import records
from promptpex.workflow.validation.spec_problems import paths_without_json
from promptpex.workflow.validation.validate import validate
from tests.report.printed import printed

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


ANSWERS = ['{"currency": "EUR"}', '{"error": "no invoice"}', '{"currency": "EUR"}', '{"error": "no invoice"}']


@pytest.mark.parametrize("nested", [False, True])
def test_outputs_without_the_value_name_the_rule_the_check_and_a_cure(tmp_path: Path, nested: bool) -> None:
    """As the answer says: an is-json check whose schema does not require the value passes what lacks it."""
    on_path = Check(kind="equals", path="currency", value="EUR")
    check = Check.model_validate({"kind": "assert-set", "assert": [on_path]}) if nested else on_path
    made = _invoices(tmp_path, check)
    summary = summarise(made)
    text = " ".join(printed(summary).split())
    cure = (
        "r3 looks at `currency` (equals), which 2 outputs lack, so they are unscored: where it may be missing, use an "
        "is-json check whose schema does not require it, in place of the path."
    )
    assert cure in text
    assert to_dict(summary)["without_value"] == {"r3": 2}
    assert cure in html.unescape(html_page.html(summary))
    assert "0 known (" in text
    assert "≥0%" not in text
    assert "at least 0" not in text
    schema = {"type": "object", "properties": {"currency": {"const": "EUR"}}}
    cured = summarise(_invoices(tmp_path, Check(kind="is-json", value=schema)))
    assert [row["verdict"] for row in records(cured.outputs)] == ["pass"] * 4
    assert cured.gaps.without_value == {}


def _invoices(folder: Path, check: Check) -> Run:
    """Four invoices, two of which a model answers with the error that the prompt allows."""
    prompt = promptpex.read_prompt(_written(folder / "p.md", "Read {{invoice}}."))
    spec = Spec(prompt="p.md", rules=(Rule(id="r3", rule="The currency is EUR.", checks=(check,)),))
    cases = tuple(Case(id=f"c{number}", inputs={"invoice": str(number)}) for number in range(4))
    client = FakeClient(lambda request: ANSWERS[int(request.messages[-1].content[5:-1])])
    return promptpex.run(
        prompt,
        spec,
        Suite(prompt="p.md", cases=cases),
        models=["fake/a"],
        judge="none",
        client=client,
        store=str(folder / "s.db"),
    )


def _written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file
