"""Two versions of a prompt: sentences, rules, variables and turns that differ, and the cases they touch."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from promptpex.cli.commands.diff import command
from promptpex.core.errors import PromptFileError
from promptpex.core.records import Case, Check, Rule, Spec, Suite
from promptpex.promptfile import parse
from promptpex.specs.prompt_diff import diff_prompts
from promptpex.workflow.comparison.compare_prompts import compare_files

OLD = parse("Label it. Reply in one word. Be brief.\n\n{{review}}\n")
NEW = parse("system:\nLabel it. Reply in two words. Sign it.\n\nuser:\n{{review}} {{name}}\n")
SPEC = Spec(
    prompt="p",
    rules=(
        Rule(id="r1", rule="One word.", source="Reply in one word."),
        Rule(id="r2", rule="Brief.", source="Be brief"),
    ),
)
SUITE = Suite(prompt="p", cases=tuple(Case(id=f"c{n}", rule=f"r{n}", inputs={}) for n in (1, 2, 3)))


def test_sentences_with_one_spec() -> None:
    difference = diff_prompts(OLD, NEW, spec=SPEC, suite=SUITE)
    touched = {(one.kind, one.old, one.new): (one.rules, one.cases) for one in difference.sentences}
    assert touched[("changed", "Reply in one word.", "Reply in two words.")] == (("r1",), ("c1",))
    assert touched[("removed", "Be brief.", None)] == (("r2",), ("c2",))
    assert touched[("added", None, "Sign it.")] == ((), ())
    assert difference.rules == ()
    assert (difference.variables_added, difference.variables_removed) == (("name",), ())
    assert difference.roles == (("system",), ("system", "user"))
    assert difference.rule_texts == {"r1": "One word.", "r2": "Brief."}


def test_rules_of_two_specs() -> None:
    after = Spec(
        prompt="p",
        rules=(
            SPEC.rules[0].replace(checks=(Check(kind="word-count", value=2),)),
            SPEC.rules[1].replace(stale=True),
            Rule(id="r3", rule="Signed.", source="Sign it."),
        ),
    )
    difference = diff_prompts(OLD, NEW, spec=after, old_spec=SPEC, suite=SUITE)
    assert [(one.kind, one.rule, one.old, one.new, one.cases) for one in difference.rules] == [
        ("changed", "r1", "One word.", "One word.", ("c1",)),
        ("added", "r3", None, "Signed.", ("c3",)),
        ("removed", "r2", "Brief.", None, ("c2",)),
    ]
    assert next(one for one in difference.sentences if one.new == "Sign it.").rules == ("r3",)


@pytest.mark.parametrize("change", [{"needs": "input"}, {"when": ({"variable": "x", "kind": "equals"},)}])
def test_a_rule_with_another_condition_is_another(change: dict[str, object]) -> None:
    after = SPEC.replace(rules=(SPEC.rules[0].replace(**change), SPEC.rules[1]))
    difference = diff_prompts(OLD, OLD, spec=after, old_spec=SPEC)
    assert [(one.kind, one.rule) for one in difference.rules] == [("changed", "r1")]


def test_a_prompt_does_not_differ_from_itself() -> None:
    assert diff_prompts(OLD, OLD, spec=SPEC, suite=SUITE).same
    assert not diff_prompts(OLD, NEW).same


def test_files_beside_are_found_and_a_missing_one_is_named(tmp_path: Path) -> None:
    for name, text in (("v1", "Be brief.\n{{a}}"), ("v2", "Be very brief.\n{{a}}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "prompt.md").write_text(text, encoding="utf-8")
        spec = f"prompt: prompt.md\nrules:\n  - {{id: r1, rule: '{name}', source: Be brief.}}\n"
        (tmp_path / name / "prompt.spec.yaml").write_text(spec, encoding="utf-8")
    difference, _ = compare_files(tmp_path / "v1" / "prompt.md", tmp_path / "v2" / "prompt.md")
    assert [(one.kind, one.rule, one.old, one.new) for one in difference.rules] == [("changed", "r1", "v1", "v2")]
    assert [one.rules for one in difference.sentences] == [("r1",)]
    with pytest.raises(PromptFileError, match=r"none\.md"):
        compare_files(tmp_path / "none.md", tmp_path / "v2" / "prompt.md")


def test_what_is_printed_obeys_nobody(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Be brief.\n{{a}}", encoding="utf-8")
    (tmp_path / "b.md").write_text("Be \x1b[31mred.\n{{a}}", encoding="utf-8")
    done = CliRunner().invoke(command, [str(tmp_path / "a.md"), str(tmp_path / "b.md")])
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert "Sentences:" in done.output
    done = CliRunner().invoke(command, [str(tmp_path / "a.md"), str(tmp_path / "a.md")])
    assert done.output == "No difference.\n"
