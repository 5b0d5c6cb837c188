"""A spec as Python: what the modules say is what a run says, and nothing that people wrote is run as code."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex import RuleChecks
from promptpex.core.records import Case, Check, InputCheck, Rule, Run, Suite
from promptpex.interchange import pytest_module
from promptpex.interchange.format import Project
from promptpex.interchange.pytest_module import comment, docstring, literal, names
from promptpex.workflow.importing.exchange import FileSource
from tests.pytest_plugin.project import outcomes, with_plugin, write_project
from tests.samples import prompt, spec, suite

pytest_plugins = ["pytester"]

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
HOSTILE = '"""\nimport os; os.system("x")\n"""\\ {{x}} {evil} \u202e %s # <b>`|[x](y)'


@dataclass
class Source:
    """A project as a source of exports."""

    given: Project

    def suite(self) -> Suite:
        return self.given.suite

    def project(self) -> Project:
        return self.given

    def run(self) -> Run:
        raise NotImplementedError


def hostile_project(text: str = HOSTILE, rule_id: str = "r1") -> Project:
    rules = (
        Rule(id=rule_id, rule=text, inverse=text, source=text, checks=(Check(kind="not-contains", value=text),)),
        Rule(id="import", rule=text, when=(InputCheck(variable="thing", kind="contains", value=text),),
             checks=(Check(kind="contains", value=text), Check(kind="equals", value=text, weight=0))),
        Rule(id="judged", rule=text),
    )  # fmt: skip
    cases = (
        Case(id="c1", rule=rule_id, inputs={"thing": text, "place": "x"}, expected=text, reasoning=text, scenario=text),
    )
    about = spec().replace(rules=rules, intent=text)
    foreign = prompt().replace(name=text)
    return Project(foreign, about, Suite(prompt="prompt.md", cases=cases), models=(text,))


def test_hostile_texts_are_data_of_the_module() -> None:
    source = Source(hostile_project())
    tests = pytest_module.write(source, prompt_path=HOSTILE).text
    called = {
        node.func.id
        for node in ast.walk(ast.parse(tests))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called == {"promptpex", "holds", "answers", "repr", "Path"}


TEXTS = st.text(st.characters(exclude_categories=[]), max_size=30)


@given(TEXTS, st.text(min_size=1, max_size=10))
def test_any_text_stays_a_text_of_a_module_that_compiles(text: str, rule: str) -> None:
    for made in (
        f"def f():\n    {docstring(text)}\n    {comment(text)}\n    return {literal([text, {text: None}])}\n",
    ):
        scope: dict[str, Any] = {}
        exec(compile(made, "made.py", "exec"), scope)
        assert scope["f"]() == [text, {text: None}]
        assert " ".join(scope["f"].__doc__.split()) == (" ".join(text.split()) or "A rule.")
    made_names = names("test", [rule, rule, text])
    assert len(set(made_names)) == 3
    assert all(name.isidentifier() and name.isascii() for name in made_names)


def test_each_rule_has_a_readable_test_for_the_cases_that_it_concerns() -> None:
    project = Project(prompt(), spec(), suite(), models=("small=openai/x",), concerned={"r2": frozenset({"c1"})})
    exported = pytest_module.write(Source(project), prompt_path=None)
    tree = ast.parse(exported.text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test")]
    assert [one.name for one in functions] == ["test_r1_the_output_is_one_word", "test_r2_the_output_is_a_colour"]
    assert [ast.get_docstring(one) for one in functions] == ["The output is one word.", "The output is a colour."]
    assert ast.unparse(functions[0].decorator_list[1]) == "pytest.mark.parametrize('case', CASES)"
    assert ast.unparse(functions[1].decorator_list[1]) == "pytest.mark.parametrize('case', ['c1'])"
    assert "put the file beside prompt.md" in exported.left_out[0]


def test_pytest_runs_the_module_by_itself(pytester: pytest.Pytester) -> None:
    prompts = write_project(pytester.path, models=("fake/RED",))
    broken = (prompts / "colour.spec.yaml").read_text("utf-8").replace("value: 1}", "value: 2}")
    (prompts / "colour.spec.yaml").write_text(broken, encoding="utf-8")
    exported = pytest_module.write(FileSource(prompts / "colour.cases.yaml", lambda: prompts), prompt_path=None)
    (prompts / "test_colour.py").write_text(exported.text, encoding="utf-8")
    arguments = with_plugin("-p", "no:xdist", "-v", str(prompts / "test_colour.py"))
    result = pytester.runpytest_inprocess(*arguments)
    assert outcomes(result) == {"passed": 3, "failed": 3}
    result.stdout.fnmatch_lines(
        ["*test_r1_the_answer_is_in_capitals[[]t1-None] PASSED*", "*test_r2_the_answer_is_short[[]t3-None] FAILED*",
         "*word-count: 1 word, 2 wanted*"]
    )  # fmt: skip


def test_rules_and_their_checks_are_one_function() -> None:
    rules: list[dict[str, Any]] = [
        {"id": "json", "rule": "It is JSON.", "checks": [{"kind": "is-json"}]},
        {
            "id": "short",
            "rule": "It is short.",
            "after": "json",
            "checks": [{"kind": "word-count", "value": {"max": 3}}],
        },
        {"id": "right", "rule": "It is right.", "checks": [{"kind": "expected"}]},
        {"id": "fast", "rule": "It is fast.", "checks": [{"kind": "latency", "threshold": 10}]},
        {"id": "sure", "rule": "It is sure.", "checks": [{"kind": "perplexity", "threshold": 2}]},
        {"id": "kind", "rule": "It is kind."},
        {"id": "old", "rule": "It is old.", "stale": True, "checks": [{"kind": "is-json"}]},
    ]
    checks = RuleChecks(rules)
    good = checks("{}", expected="{}", latency_ms=5, logprobs=[-0.1])
    assert {rule: verdict.status for rule, verdict in good.items()} == dict.fromkeys(
        ("json", "short", "right", "fast", "sure"), "pass"
    )
    bad = checks("not JSON")
    assert {rule: (verdict.status, verdict.unscored) for rule, verdict in bad.items()} == {
        "json": ("fail", None), "short": ("unscored", "after"), "right": ("unscored", "no-expected"),
        "fast": ("unscored", "no-latency"), "sure": ("unscored", "no-logprobs"),
    }  # fmt: skip
