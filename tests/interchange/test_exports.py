"""Runs and suites in the formats of other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from promptpex.assertions import check
from promptpex.assertions.javascript import value_templates
from promptpex.cases.file import write_suite
from promptpex.cli.main import run_cli
from promptpex.core.records import Case, Check, InputCheck, Manifest, Output, Rule, Run, Spec, Suite, Verdict
from promptpex.interchange import junit, promptfoo
from promptpex.interchange.format import Exported, Project
from promptpex.interchange.openai_evals_api import write
from promptpex.promptfile import parse, renderer
from promptpex.report import runs
from promptpex.specs.file import write_spec
from promptpex.workflow.importing.exchange import FileSource
from tests.interchange.foreign.imported import ProjectSource
from tests.samples import prompt, spec, suite


def _run(text: str = "RED", **changes: Any) -> Run:
    outputs = (
        Output(case="c1", model="m", text=text, latency_ms=1500.0),
        Output(case="c2", model="m", text="red <b>&", repeat=1),
        Output(case="c3", model="m", error="timed-out", message="no answer"),
        Output(case="c4", model="m", text="RED"),
    )
    verdicts = (
        Verdict(case="c1", model="m", rule="r1", status="pass", source="check:word-count"),
        Verdict(case="c1", model="m", rule="r2", status="fail", source="judge:x", counts=False),
        Verdict(case="c2", model="m", repeat=1, rule="r1", status="fail", reason="two\x00 words", source="check:x"),
        Verdict(case="c3", model="m", rule="r1", status="unscored", unscored="timed-out", source="none"),
    )
    manifest = Manifest(run="x", prompt="p", prompt_fingerprint="f", spec_digest="s", suite_digest="u", models=("m",))
    run = Run(manifest=manifest, prompt=prompt(), spec=spec(), suite=suite(), outputs=outputs, verdicts=verdicts)
    return run.replace(**changes)


def test_junit_tells_failures_from_errors_and_passes() -> None:
    root = ElementTree.fromstring(junit.text(_run()))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("4", "1", "2")
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert list(cases["c1"]) == []
    assert cases["c1"].get("time") == "1.500"
    failure = cases["c2 (repeat 1)"].find("failure")
    assert failure is not None
    assert failure.get("message") == "r1"
    assert "red <b>&" in (failure.text or "")
    error = cases["c3"].find("error")
    assert error is not None
    assert error.get("type") == "timed-out"
    nobody = cases["c4"].find("error")
    assert nobody is not None
    assert nobody.get("type") == "no-judge"


@given(st.text())
def test_junit_is_xml_whatever_a_model_wrote(text: str) -> None:
    run = _run()
    outputs = (run.outputs[1].replace(text=text.encode("utf-8", "replace").decode()), *run.outputs[2:])
    verdicts = tuple(verdict.replace(reason=text) if verdict.status == "fail" else verdict for verdict in run.verdicts)
    ElementTree.fromstring(junit.text(run.replace(outputs=outputs, verdicts=verdicts)))


def _config(made: Exported) -> Any:
    return YAML(typ="safe").load(made.text)


def test_promptfoo_gets_the_rules_of_some_cases_in_the_tests_of_these() -> None:
    when = (InputCheck(variable="thing", kind="equals", value="t1"),)
    short = Rule(id="r1", rule="It is short.", when=when, checks=(Check(kind="word-count", value=1),))
    true = Rule(id="r2", rule="It fits the thing.", needs="input")
    conditional = spec().replace(rules=(short, true))
    made = promptfoo.config(prompt(), conditional, suite(), rubrics=True, concerned={"r1": {"c1"}})
    config = _config(made)
    assert "defaultTest" not in config
    word_count = {"type": "word-count", "value": 1, "metric": "r1"}
    assert [word_count in test["assert"] for test in config["tests"]] == [True, False, False, False]
    rubric = config["tests"][1]["assert"][-1]
    assert (rubric["type"], rubric["metric"]) == ("llm-rubric", "r2")
    assert rubric["value"] == "It fits the thing.\nThe input was:\nthing:\nt2\n\nplace:\nhere"
    unknown = promptfoo.config(prompt(), conditional, suite(), models=["gpt-4o"], rubrics=True)
    assert unknown.left_out == ("rule r1 is left out: it is not known which cases its 'when' applies to",)


async def test_a_case_file_tells_promptfoo_whom_its_rules_concern(tmp_path: Path) -> None:
    when = (InputCheck(variable="thing", kind="equals", value="t2"),)
    (tmp_path / "prompt.md").write_text("Name {{thing}} in {{place}}.", encoding="utf-8")
    write_spec(tmp_path / "prompt.spec.yaml", spec().replace(rules=(spec().rules[0].replace(when=when),)))
    write_suite(tmp_path / "prompt.cases.yaml", suite())
    exported = promptfoo.write(FileSource(tmp_path / "prompt.cases.yaml", lambda: tmp_path), models=None, rubrics=False)
    assert ["assert" in test for test in _config(exported)["tests"]] == [False, True, False, False]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("gpt-4o-mini", "openai:chat:gpt-4o-mini"),
        ("openai/m", "openai:chat:m"),
        ("anthropic/claude-3-haiku-20240307", "anthropic:messages:claude-3-haiku-20240307"),
        ("llama3.2:1b", "ollama:chat:llama3.2:1b"),
        ("ollama/x", "ollama:chat:x"),
        ("gemini/gemini-2.0-flash", "google:gemini-2.0-flash"),
        ("openrouter/a/b", "openrouter:a/b"),
        ("openai:gpt-4o-mini", "openai:gpt-4o-mini"),
        ("anthropic:messages:claude-3", "anthropic:messages:claude-3"),
        ("file://mine.js", "file://mine.js"),
        (
            "openai/m?api_base=http://127.0.0.1:1/v1&temperature=0.5",
            {"id": "openai:chat:m", "config": {"temperature": 0.5, "apiBaseUrl": "http://127.0.0.1:1/v1"}},
        ),
    ],
)
def test_promptfoo_gets_the_models_by_its_own_ids(ours: str, theirs: Any) -> None:
    assert _config(promptfoo.config(prompt(), spec(), suite(), models=[ours]))["providers"] == [theirs]


def test_a_model_that_promptfoo_knows_otherwise_is_named() -> None:
    made = promptfoo.config(prompt(), spec(), suite(), models=["watsonx/ibm/granite"], rubrics=True)
    assert _config(made)["providers"] == ["watsonx/ibm/granite"]
    assert made.left_out == (
        "the model watsonx/ibm/granite keeps promptpex's name; write promptfoo's provider id instead",
    )


@pytest.mark.parametrize("negated", ["", "not-"])
def test_a_pattern_with_flags_reaches_promptfoo_as_a_script(negated: str) -> None:
    pattern = Check(kind=f"{negated}regex", value='^"\\p{Lu}+"$', dialect="unicode", ignore_case=True)
    rules = (Rule(id="r1", rule="x", checks=(pattern,)),)
    made = _config(promptfoo.config(prompt(), spec().replace(rules=rules), suite()))
    (script,) = made["defaultTest"]["assert"]
    assert script["type"] == "javascript"
    for output in ('"Ünö"', "Ünö", '"1"'):
        assert check(output, [script]).status == check(output, [pattern]).status


@pytest.mark.parametrize(
    "check",
    [
        Check(kind="ends-with", value="."),
        Check(kind="not-language", value="en"),
        Check(kind="word-count", value=1, unit="lines"),
        Check(kind="regex", value="a", dialect="python"),
        Check(kind="regex", value="{{topic}}", dialect="unicode"),
        Check(kind="is-json", value={"multipleOf": 0.01}, exact=True),
        Check(kind="word-any", value=["a"]),
        Check(kind="contains", value="a", path="reply"),
        Check(kind="rouge-n", value="a", n=2),
        Check(kind="assert-set", asserts=(Check(kind="rouge-l", value="a"),)),
    ],
)
def test_promptfoo_is_not_given_what_it_lacks(check: Check) -> None:
    rules = (Rule(id="r1", rule="x", checks=(check,)),)
    made = promptfoo.config(prompt(), spec().replace(rules=rules), suite())
    assert "defaultTest" not in _config(made)
    assert made.left_out[0].startswith("a check of rule r1 is left out")


def test_promptfoo_gets_inputs_as_they_are_and_not_those_that_it_reads_otherwise() -> None:
    plain = ("{{7*7}}", "{% for x in y %}", "a {% endraw %} b", "{# c #}", "{{ unknown }}", "see file://x")
    otherwise = ("file://secret.txt", "package:x", "a {{ n }}", "{{expected}}")
    cases = tuple(
        Case(id=f"c{n}", inputs={"thing": text, "n": 3, "list": [1]}) for n, text in enumerate((*plain, *otherwise))
    )
    made = promptfoo.config(prompt(), spec(), Suite(prompt="p", cases=cases))
    assert [test["vars"] for test in _config(made)["tests"]] == [
        {"thing": text, "n": 3, "list": "[1]"} for text in plain
    ]
    assert len([line for line in made.left_out if "is left out: its input thing contains" in line]) == len(otherwise)
    lines = Suite(prompt="p", cases=(Case(id="c", inputs={"thing": "a\n"}),))
    (test,) = _config(promptfoo.config(prompt(), spec(), lines))["tests"]
    assert test["vars"] == {"thing": "a\n\n"}, "promptfoo cuts one"


def test_the_prompt_is_never_taken_for_the_name_of_a_file() -> None:
    made = _config(promptfoo.config(prompt("Say a/b.txt {{ thing | tojson }}"), spec(), suite()))
    (chat,) = made["prompts"]
    assert "\n" in chat
    assert json.loads(chat)[0]["content"].startswith("Say a/b.txt {{ thing | dump }}")


@given(text=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]) | st.sampled_from("\n{}%#\\\"'")))
@example(text="a {% endraw %} {{7*7}} \\n }}")
def test_a_rubric_renders_as_the_rule_was(text: str) -> None:
    rules = (Rule(id="r1", rule="{{" + text),)
    config = _config(promptfoo.config(prompt(), spec().replace(rules=rules), suite(), rubrics=True))
    (rubric,) = config["defaultTest"]["assert"]
    report = check("RED", [{"type": "contains", "value": rubric["value"]}])
    assert report.results[0].reason.startswith('the output does not hold "{{')
    assert value_templates.render(rubric["value"], {}) == "{{" + text


def test_the_command_takes_a_run_or_what_stands_beside_a_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = "\n\n".join(f"{message.role}:\n{message.content}" for message in prompt().messages)
    (tmp_path / "prompt.md").write_text(body + "\n", encoding="utf-8")
    write_spec(tmp_path / "prompt.spec.yaml", spec())
    write_suite(tmp_path / "prompt.cases.yaml", suite())
    runs.finish(tmp_path / "run", _run())
    assert run_cli(["export", "promptfoo", str(tmp_path / "prompt.cases.yaml")]) == 0
    beside = capsys.readouterr()
    assert "note: rule r2" in beside.err
    assert run_cli(["export", "promptfoo", str(tmp_path / "run"), "-q"]) == 0
    own = YAML(typ="safe").load(capsys.readouterr().out)
    assert own["tests"] == YAML(typ="safe").load(beside.out)["tests"]
    assert own["providers"] == ["m"]
    out = tmp_path / "report.xml"
    assert run_cli(["export", "junit", str(tmp_path / "run"), "--out", str(out), "--json"]) == 0
    assert ElementTree.parse(out).getroot().get("tests") == "4"
    assert run_cli(["export", "junit", str(tmp_path / "nothing")]) == 2


@pytest.mark.parametrize(
    "code",
    [
        "len(output) > 3",
        "import re\nreturn re.search('R', output) is not None",
        "def told(example, prompt, response):\n    return response == 'RED' and example['thing'] == 't1'",
        "async def told(example: dict, prompt: str, response: str) -> bool:\n    return f'{{{response}}}' == '{RED}'",
        "def get_assert(output, context):\n    return {'pass': output == 'RED', 'score': 0.5}",
        "def first(output):\n    return True\n\ndef other(output):\n    return output == 'RED'",
        "def mask(text):\n    return text.lower()\n\ndef other(output):\n    return mask(output) == 'red'",
    ],
)
def test_python_reaches_promptfoo_as_a_body_that_decides_the_same(code: str) -> None:
    rules = (Rule(id="r1", rule="x", checks=(Check(kind="python", value=code),)),)
    made = _config(promptfoo.config(prompt(), spec().replace(rules=rules), suite()))
    (exported,) = made["defaultTest"]["assert"]
    assert exported["type"] == "python"
    for output in ("RED", "BLUE"):
        here, there = (
            check(output, [each], vars={"thing": "t1"}, prompt="p").results[0]
            for each in (rules[0].checks[0], exported)
        )
        assert (here.status, here.unscored) == (there.status, there.unscored), there.reason


def test_python_that_asks_is_left_out_of_promptfoo() -> None:
    rules = (Rule(id="r1", rule="x", checks=(Check(kind="python", value="ask('Is it red?')"),)),)
    made = promptfoo.config(prompt(), spec().replace(rules=rules), suite(), models=["gpt-4o"])
    assert made.left_out == ("a check of rule r1 is left out: promptfoo's Python has no judge to ask",)


@pytest.mark.parametrize("kind", ["question", "not-question"])
def test_a_question_reaches_promptfoo_as_a_rubric_and_comes_back(kind: str) -> None:
    question = Check(kind=kind, value="Is {{thing}} named?")
    rules = (Rule(id="r1", rule="x", checks=(question,)),)
    made = _config(promptfoo.config(prompt(), spec().replace(rules=rules), suite()))
    (rubric,) = made["defaultTest"]["assert"]
    assert rubric["type"] == "llm-rubric"
    assert rubric["value"].endswith("Is {{thing}} named?")
    back = check("RED", [rubric], vars={"thing": "t1"}).results[0]
    assert (back.kind, back.questions) == (kind, ("Is t1 named?",))


OUTPUT = "{{sample.output_text}}"
SUITE = Suite(cases=(Case(id="a", inputs={"word": "fox {{x}}"}, expected="NN"), Case(id="b", inputs={"word": "run"})))


def exported(text: str, *checks: Check, judge_model: str | None = None) -> tuple[dict[str, Any], tuple[str, ...]]:
    prompt = parse(f"---\nname: p\n---\n{text}")
    rules = tuple(Rule(id=f"r{n}", rule="x", checks=(check,)) for n, check in enumerate(checks))
    project = Project(prompt, Spec(rules=rules), SUITE, models=("small=openai/m?seed=1",), rendered=renderer(prompt))
    made = write(ProjectSource(project), model=None, judge_model=judge_model)
    content = json.loads(made.text)
    assert isinstance(content, dict)
    return content, made.left_out


def test_prompt_and_cases_are_the_template_and_the_items_of_a_run() -> None:
    content, left_out = exported("system:\nTag it.\n\nuser:\n{{ word }}\n")
    source = content["run"]["data_source"]
    assert source["model"] == "m"
    turns = [{"role": "system", "content": "Tag it."}, {"role": "user", "content": "{{item.word}}"}]
    assert source["input_messages"] == {"type": "template", "template": turns}
    rows = [{"word": "fox {{x}}", "expected": "NN"}, {"word": "run"}]
    assert [row["item"] for row in source["source"]["content"]] == rows
    schema = content["eval"]["data_source_config"]["item_schema"]
    assert schema["properties"] == {"word": {"type": "string"}, "expected": {"type": "string"}}
    assert schema["required"] == ["word"]
    assert left_out == ()


def test_a_prompt_that_is_more_than_a_template_there_comes_as_whole_chats() -> None:
    content, left_out = exported("user:\n{{ word | upper }}\n")
    source = content["run"]["data_source"]
    assert source["input_messages"] == {"type": "item_reference", "item_reference": "item.input"}
    chats = [row["item"]["input"] for row in source["source"]["content"]]
    assert chats == [[{"role": "user", "content": "FOX {{X}}"}], [{"role": "user", "content": "RUN"}]]
    assert "each item has the whole chat" in left_out[0]


@pytest.mark.parametrize(
    ("check", "grader"),
    [
        (Check(kind="equals", value="{{word}}!"),
         {"type": "string_check", "input": OUTPUT, "reference": "{{item.word}}!", "operation": "eq"}),
        (Check(kind="icontains", value="x", path="a.b"),
         {"type": "string_check", "input": "{{sample.output_json.a.b}}", "reference": "x", "operation": "ilike"}),
        (Check(kind="rouge-n", value="x", n=2, threshold=0.5),
         {"type": "text_similarity", "input": OUTPUT, "reference": "x", "pass_threshold": 0.5,
          "evaluation_metric": "rouge_2"}),
    ],
)  # fmt: skip
def test_a_check_is_the_grader_that_means_the_same(check: Check, grader: dict[str, Any]) -> None:
    content, left_out = exported("{{word}}\n", check)
    assert content["eval"]["testing_criteria"] == [{"name": "r0", **grader}]
    assert left_out == ()


@pytest.mark.parametrize(
    "check",
    [Check(kind="regex", value="x"), Check(kind="equals", value="{{ word | upper }}"),
     Check(kind="contains", value="x", transform="output.trim()"), Check(kind="question", value="Is it kind?")],
)  # fmt: skip
def test_what_no_grader_says_is_named(check: Check) -> None:
    content, left_out = exported("{{word}}\n", check)
    assert content["eval"]["testing_criteria"] == []
    assert "rule r0" in left_out[0]


def test_a_judge_model_answers_questions() -> None:
    content, _ = exported("{{word}}\n", Check(kind="question", value="Is it kind to {{word}}?"), judge_model="j")
    (grader,) = content["eval"]["testing_criteria"]
    assert (grader["type"], grader["model"], grader["passing_labels"]) == ("label_model", "j", ["yes"])
    asked = f"Is it kind to {{{{item.word}}}}?\n\nAnswer yes or no. The response is:\n{OUTPUT}"
    assert grader["input"] == [{"role": "user", "content": asked}]
