"""openai/evals: samples and the registry's YAML come in, and go out as they came."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.assertions import check
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Message, Rule, Spec, Suite
from promptpex.interchange.format import Imported, Project
from promptpex.interchange.openai_evals.classes import TEMPLATES
from promptpex.interchange.openai_evals.write import write
from promptpex.promptfile import file_of, parse, render, renderer
from tests.interchange.foreign.imported import ProjectSource, imported, left_out, read, written

Capture = pytest.CaptureFixture[str]
SYSTEM = {"role": "system", "content": "Add. {{not}} a template"}


def _sample(question: str, ideal: Any, **more: Any) -> dict[str, Any]:
    return {"input": [SYSTEM, {"role": "user", "content": question}], "ideal": ideal, **more}


REGISTRY = """
sums:
  id: sums.dev.v0
  description: Sums.
  metrics: [accuracy]
sums.dev.v0:
  class: evals.elsuite.basic.match:Match
  args: {samples_jsonl: sums/samples.jsonl, num_few_shot: 2}
sums-includes.dev.v0:
  class: evals.elsuite.basic.includes:Includes
  args: {samples_jsonl: sums/samples.jsonl, ignore_case: true}
sums-fact.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: sums/samples.jsonl, modelgraded_spec: fact, eval_type: cot_classify}
sums-closed.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args:
    {samples_jsonl: sums/samples.jsonl, modelgraded_spec: closedqa, modelgraded_spec_args: {criteria: "Is it {{x}}?"}}
sums-funny.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: sums/samples.jsonl, modelgraded_spec: funny}
sums-best.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: sums/samples.jsonl, modelgraded_spec: best}
other.dev.v0:
  class: evals.elsuite.mmmu.eval:MMMU
  args: {samples_jsonl: https://example.org/x.jsonl}
"""
FUNNY = """
funny:
  prompt: "Is {completion} to {input} funny, as {ideal} {{is}}?"
  choice_scores: {'Yes': 1.0, 'No': 0.0}
  choice_strings: ['Yes', 'No']
"""


def test_samples_are_a_prompt_and_cases(tmp_path: Path, capsys: Capture) -> None:
    rows = [_sample("2+2?", "4", id="two"), _sample("3+3?", ["6", "six"], level=3)]
    made = imported(capsys, written(tmp_path / "s.jsonl", rows), "openai-evals", "--template", "match")
    assert [message.role for message in made.prompt.messages] == ["system", "user"]
    assert [[turn.content for turn in render(made.prompt, case.inputs)] for case in made.suite.cases] == [
        [SYSTEM["content"], "2+2?"], [SYSTEM["content"], "3+3?"]
    ]  # fmt: skip
    assert [(case.id, case.expected, case.also_right) for case in made.suite.cases] == [
        ("two", "4", ()), ("t2", "6", ("six",))
    ]  # fmt: skip
    assert made.suite.cases[1].inputs["level"] == 3
    assert [made.verdict(made.suite.cases[1], output) for output in ("six.", "It is 6", "6")] == [True, False, True]


@pytest.mark.parametrize(
    ("template", "right", "wrong"),
    [
        ("match", ["Paris.", "ParisX"], ["paris", "In Paris"]),
        ("includes", ["In Paris."], ["paris"]),
        ("includes-ignore-case", ["In PARIS."], ["Pari"]),
        ("fuzzy-match", ["the paris!", "Par is the city", "ris"], ["", "London"]),
    ],
)
@pytest.mark.parametrize("ideal", ["Paris", ["Paris", "Par is the city"]])
def test_templates_decide_as_their_classes(
    template: str, right: list[str], wrong: list[str], ideal: Any, tmp_path: Path
) -> None:
    path = written(tmp_path / "s.jsonl", [_sample("Where?", ideal)])
    made = read("openai-evals", path, template=template)
    assert made.spec is not None
    assert made.suite is not None
    [case] = made.suite.cases
    wanted = {**dict.fromkeys(right, True), **dict.fromkeys(wrong, False)}
    if ideal == "Paris":
        wanted.pop("Par is the city", None)
    checks = made.spec.rules[0].checks
    verdicts = {
        output: check(output, checks, vars=case.inputs, expected=case.expected).status == "pass" for output in wanted
    }
    assert verdicts == wanted


def test_json_is_compared_by_its_parts(tmp_path: Path) -> None:
    path = written(tmp_path / "s.jsonl", [_sample("?", ['{"a": [1, {"b": "x"}]}', "null"])])
    made = read("openai-evals", path, template="json-match")
    assert made.spec is not None
    assert made.suite is not None
    assert made.suite.match == "json"
    [case] = made.suite.cases
    outputs = {' {"a": [1.0, {"b": "x"}]}\n': True, '{"a": [1, {"b": "y"}]}': False, "null": False, '{"a": [1]}': False,
               "no JSON": False, '{"a": [1, {"b": "x"}], "c": null}': False}  # fmt: skip
    verdicts = {
        output: check(output, made.spec.rules[0].checks, vars=case.inputs).status == "pass" for output in outputs
    }
    assert verdicts == outputs


def test_evals_of_a_registry_are_the_rules_of_their_samples(tmp_path: Path, capsys: Capture) -> None:
    for folder in ("evals", "data/sums", "modelgraded"):
        (tmp_path / "registry" / folder).mkdir(parents=True)
    registry = tmp_path / "registry"
    written(registry / "data/sums/samples.jsonl", [_sample("2+2?", "4")])
    written(registry / "modelgraded/funny.yaml", FUNNY)
    made = imported(capsys, written(registry / "evals/sums.yaml", REGISTRY), "openai-evals")
    assert [(rule.id, [(check.kind, check.value) for check in rule.checks]) for rule in made.spec.rules] == [
        ("sums.dev.v0", [("starts-with", "{{expected}}")]),
        ("sums-includes.dev.v0", [("icontains", "{{expected}}")]),
        ("sums-fact.dev.v0", [("question", "Does the response agree in its facts with this: {{expected}}")]),
        ("sums-closed.dev.v0", [("question", 'Does the response meet this criterion: {{ "Is it {{x}}?" }}')]),
        ("sums-funny.dev.v0", [("question",
            "Is (the response) to (what the model was asked) funny, as {{expected}} {is}?\n"
            "Is one of these the right choice: Yes?")]),
    ]  # fmt: skip
    assert [(note["name"], note["line"]) for note in made.answer["left_out"]] == [
        ("sums.dev.v0.args.num_few_shot", 8),
        ("sums-best.dev.v0.args.modelgraded_spec", 24),
        ("other.dev.v0", 26),
    ]


def test_samples_that_a_registry_names_elsewhere_stay_there(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    written(tmp_path / "secret.jsonl", [_sample("2+2?", "4")])
    entry = "x.dev.v0:\n  class: evals.elsuite.basic.match:Match\n  args: {samples_jsonl: %s}\n"
    with pytest.raises(InputError, match="outside the folder"):
        read("openai-evals", written(tmp_path / "in/x.yaml", entry % "../secret.jsonl"))
    made = read("openai-evals", written(tmp_path / "in/x.yaml", entry % "gs://bucket/secret.jsonl"))
    assert (made.suite, left_out(made)) == (None, [("x.dev.v0.args.samples_jsonl", 3)])
    assert made.spec is not None


def test_what_is_no_text_is_named(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/x.png"}}
    rows = [
        _sample("2+2?", "4"),
        {"input": [{"role": "user", "content": [image]}], "ideal": "x"},
        {"input": [{"role": "tool", "content": "x"}], "ideal": "x"},
        {"input": 3, "ideal": "x"},
        {"ideal": "x"},
        {"input": "x", "ideal": [["x"]]},
    ]
    made = read("openai-evals", written(tmp_path / "s.jsonl", rows))
    assert left_out(made) == [(f"[{number}]", number + 1) for number in range(1, 6)]
    with pytest.raises(InputError, match="nothing in this file can be imported"):
        read("openai-evals", written(tmp_path / "s.jsonl", rows[1:]))


_TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('\n\r\t{}%#"\\'), min_size=1, max_size=12
).filter(str.strip)
_ROLES = st.lists(st.sampled_from(["system", "user", "assistant"]), min_size=1, max_size=4)


@settings(max_examples=40)
@given(_ROLES, st.data())
def test_samples_come_back_as_they_were(roles: list[str], data: st.DataObject) -> None:
    chats = data.draw(st.lists(st.tuples(st.tuples(*(_TEXTS for _ in roles)), st.lists(_TEXTS, min_size=1, max_size=3)),
                               min_size=1, max_size=4, unique_by=repr))  # fmt: skip
    rows = [{"id": f"s{n}", "input": [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)],
             "ideal": ideal if len(ideal) > 1 else ideal[0]} for n, (texts, ideal) in enumerate(chats)]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        made = read("openai-evals", written(Path(folder) / "s.jsonl", rows), template="match")
        again = read("openai-evals", written(Path(folder) / "again.jsonl", write(_source(made), registry=None).text))
    assert _chats(again) == _chats(made) == [
        (row["id"], [(turn["role"], turn["content"]) for turn in row["input"]],
         row["ideal"] if isinstance(row["ideal"], list) else [row["ideal"]])
        for row in rows
    ]  # fmt: skip


def _source(made: Imported) -> ProjectSource:
    assert made.prompt is not None
    name, text = file_of(made.prompt.name, made.prompt.messages)
    prompt = parse(text, name)
    return ProjectSource(Project(prompt, made.spec or Spec(), made.suite or Suite(), rendered=renderer(prompt)))


def _chats(made: Imported) -> list[tuple[str, list[tuple[str, str]], list[str | None]]]:
    project = _source(made).project()
    return [
        (
            case.id,
            [(turn.role, turn.content) for turn in project.rendered(case.inputs)],
            [case.expected, *case.also_right],
        )
        for case in project.suite.cases
    ]


def test_rules_go_out_as_a_registry_and_come_back(tmp_path: Path, capsys: Capture) -> None:
    rules = [grading.rule(name, []) for name, grading in TEMPLATES.items()]
    rules.append(Rule(id="polite", rule="It is polite."))
    prompt = parse("user:\n{{input}}\n")
    suite = Suite(cases=(Case(id="c1", inputs={"input": "x"}, expected="y"), Case(id="c2", inputs={"input": "z"})))
    source = ProjectSource(Project(prompt, Spec(rules=tuple(rules)), suite, rendered=renderer(prompt)))
    registry, samples = write(source, registry="mine"), write(source, registry=None)
    assert [note for note in registry.left_out if "polite" in note]
    assert [note for note in samples.left_out if "c2" in note]
    (tmp_path / "mine").mkdir()
    written(tmp_path / "mine/samples.jsonl", samples.text)
    made = imported(capsys, written(tmp_path / "mine.yaml", registry.text), "openai-evals")
    assert [rule.rule for rule in made.spec.rules] == [rule.rule for rule in rules[:-1]]
    assert [[check.kind for check in rule.checks] for rule in made.spec.rules] == [
        [check.kind for check in rule.checks] for rule in rules[:-1]
    ]
    assert [(case.id, case.expected) for case in made.suite.cases] == [("c1", "y")]
    assert made.prompt.messages == (Message(role="user", content="{{input}}"),)


_TEMPLATE_NAMES = st.lists(st.sampled_from([*TEMPLATES]), min_size=1, max_size=4, unique=True)
_QUESTIONS = st.lists(st.tuples(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=3)), min_size=1, max_size=4,
                      unique_by=lambda pair: pair[0])  # fmt: skip


@settings(max_examples=20)
@given(_TEMPLATE_NAMES, _QUESTIONS)
def test_a_registry_comes_back_as_it_went_out(names: list[str], questions: list[tuple[str, list[str]]]) -> None:
    rows = [{"id": f"s{n}", "input": [{"role": "user", "content": text}], "ideal": ideal}
            for n, (text, ideal) in enumerate(questions)]  # fmt: skip
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made = read("openai-evals", written(folder / "s.jsonl", rows))
        assert made.recorded is not None
        rules = tuple(TEMPLATES[name].rule(name, made.recorded.exchanges) for name in names)
        source = _source(replace(made, spec=Spec(rules=rules)))
        (folder / "mine").mkdir()
        written(folder / "mine/samples.jsonl", write(source, registry=None).text)
        again = read("openai-evals", written(folder / "mine.yaml", write(source, registry="mine").text))
        third = write(_source(again), registry="mine").text
    assert again.spec is not None
    assert [(rule.rule, rule.checks) for rule in again.spec.rules] == [(rule.rule, rule.checks) for rule in rules]
    assert _chats(again) == _chats(made)
    assert [line.split(": ")[1].strip("'") for line in third.splitlines() if "  class:" in line] == [
        TEMPLATES[name].theirs for name in names
    ]
