"""A spec as Python: what the modules say is what a run says, and nothing that people wrote is run as code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex import RuleChecks
from promptpex.config import load
from promptpex.core.records import Case, Check, InputCheck, Manifest, Output, Rule, Run, Suite
from promptpex.interchange import markdown_spec, pytest_module, python_checks
from promptpex.interchange.format import Project
from promptpex.interchange.reading.python_literals import comment, docstring, literal, names
from promptpex.llm.fake import FakeClient
from promptpex.workflow.execution import run_records
from promptpex.workflow.importing.exchange import FileSource
from promptpex.workflow.session import open_session
from tests.pytest_plugin.project import outcomes, with_plugin, write_project
from tests.samples import prompt, spec, suite

pytest_plugins = ["pytester"]

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FOLDERS = sorted(path.parent for path in BENCHMARKS.glob("*/prompt.cases.yaml"))
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


def module(text: str) -> ModuleType:
    made = ModuleType("made")
    exec(compile(text, "made.py", "exec"), made.__dict__)  # it is what we wrote
    return made


def answers(given: Suite) -> Iterator[str]:
    """Texts that some checks pass and some fail: the expected outputs, and odd ones."""
    odd = [
        "",
        "NN",
        "No.",
        '{"a": 1}',
        "[]",
        "Thank you. " * 40,
        "```json\n{}\n```",
        HOSTILE.encode("ascii", "ignore").decode(),
    ]
    return cycle([*(case.expected for case in given.cases[:6] if case.expected), *(text for text in odd if text)])


async def verdicts_of_run(folder: Path, project: Project, outputs: tuple[Output, ...]) -> Run:
    """What ``judge`` says of these outputs where no judge is asked."""
    settings = {"judge": ["none"], "models": ["fake/a"], "store": str(folder / "store.db")}
    manifest = Manifest(
        run="x", prompt="p", prompt_fingerprint="f", spec_digest="s", suite_digest="u", models=("fake/a",)
    )
    begun = Run(manifest=manifest, prompt=project.prompt, spec=project.spec, suite=project.suite, outputs=outputs)
    async with open_session(load(settings, start=folder, env={}), provider=FakeClient([])) as session:
        return await run_records.judge(session, begun)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_the_checks_of_every_benchmark_give_the_verdicts_of_a_run(folder: Path, tmp_path: Path) -> None:
    source = FileSource(folder / "prompt.cases.yaml", lambda: tmp_path)
    project = source.project()
    made = module(python_checks.write(source).text)
    cases = project.suite.usable()[:12]
    outputs = tuple(
        Output(case=case.id, model="fake/a", text=text)
        for case, text in zip(cases, answers(project.suite), strict=False)
    )
    run = await verdicts_of_run(tmp_path, project, outputs)
    of_run = {(one.case, one.rule): one for one in run.verdicts}
    functions = {rule.id: getattr(made, f"check_{rule.id.lower().replace('-', '_')}") for rule in made.CHECKS.rules}
    compared = 0
    for case, output in zip(cases, outputs, strict=False):
        match = project.suite.match_of(case)
        given = {"expected": case.expected, "match": match} if isinstance(match, str) else {}
        for rule, verdict in made.CHECKS(output.text, case.inputs, prompt=" ", **given).items():
            theirs = of_run[case.id, rule]
            assert (verdict.status, verdict.reason) == (theirs.status, theirs.reason), (case.id, rule)
            compared += 1
        name, function = next(iter(functions.items()))
        assert (
            function(output.text, case.inputs, **given).status
            == made.CHECKS(output.text, case.inputs, **given)[name].status
        )
    assert compared > len(cases), "there is something to compare"


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


def test_hostile_texts_are_data_of_the_modules() -> None:
    source = Source(hostile_project())
    made = module(python_checks.write(source).text)
    assert made.CHECKS.rules[0].checks[0].value == HOSTILE
    assert made.check_r1(HOSTILE, {}).status == "pass"
    assert made.check_import("x", {"thing": "x"}).status == "not_concerned"
    assert not hasattr(made, "os")
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


def test_the_page_of_a_spec_has_all_of_it_and_no_markup_of_others() -> None:
    from markdown_it import MarkdownIt

    shown = MarkdownIt("commonmark").enable("table").render(markdown_spec.write(Source(hostile_project())).text)
    assert not {"<b>", "<a ", "<img", "<script"} & {tag for tag in ("<b>", "<a ", "<img", "<script") if tag in shown}
    assert shown.count("<h3>") == 1 + 3 + 1, "one input, three rules, one case"
    page = markdown_spec.write(Source(Project(prompt(), spec(), suite())))
    for words in (
        "The output is one word\\.",
        "Broken by: The output has several words",
        "word-count",
        "### c4",
        "t4",
        "Tests what breaks r2",
        "A judge decides it.",
        "The thing is an object",
        "## 2 rules",
        "## 4 cases",
    ):
        assert words.replace("\\.", ".") in page.text


def test_what_is_not_on_the_page_is_said() -> None:
    rules = (*spec().rules, Rule(id="r3", rule="Gone.", stale=True))
    cases = tuple(case.replace(aside="rated low") if case.id == "c1" else case for case in suite().cases)
    page = markdown_spec.write(Source(Project(prompt(), spec().replace(rules=rules), suite().replace(cases=cases))))
    assert page.left_out == ("cases that are not run, and are left out: 1", "stale rules, which are left out: 1")
    assert "Gone" not in page.text
