"""GitHub's ``.prompt.yml``, ``.prompty`` and PromptPex's own files: what comes in, and what comes back."""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptpex.assertions import check
from promptpex.cases.file import read_suite
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Check, Message, Prompt, Rule, Spec, Suite
from promptpex.interchange import github_prompt, promptpex_files, prompty
from promptpex.interchange.format import Imported, Project
from promptpex.llm.named_models import check_name, free_name
from promptpex.promptfile import parse
from promptpex.promptfile import read as read_prompt
from promptpex.specs.file import read_spec
from tests.reproduce import recordings

Capture = pytest.CaptureFixture[str]

GITHUB = """name: Summarizer
description: Sums things up.
model: openai/gpt-4o-mini
modelParameters: {temperature: 0.5, topK: 3}
messages:
  - {role: system, content: You sum things up.}
  - role: user
    content: |
      Sum up: {{input}}
testData:
  - input: The quick brown fox.
    expected: A fox.
  - {input: Dogs., expected: Dogs}
evaluators:
  - {name: Has fox, string: {contains: fox}}
  - {name: As expected, string: {equals: '{{expected}}'}}
  - name: short
    llm:
      modelId: openai/gpt-4o
      prompt: 'Is {{completion}} shorter than the input?'
      choices: [{choice: 'yes', score: 1}]
  - {name: similar, uses: github/similarity}
responseFormat: text
"""
PROMPTY = """---
name: Basic
description: Helps.
authors: [me]
model:
  api: chat
  configuration: {type: azure_openai, azure_deployment: gpt-35, api_key: abc}
  parameters: {max_tokens: 128, temperature: 0.2, tools: x}
inputs: {question: {type: string, default: 'Why?'}}
sample: {name: Ann}
---
system:
You help {{name}}.

user:
{{question}}
"""


class _Project:
    """A project as a source of exports."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def suite(self) -> Suite:
        return self._project.suite

    def project(self) -> Project:
        return self._project

    def run(self) -> Any:
        raise AssertionError("no format here writes runs")


def _notes(imported: Imported) -> tuple[set[str], set[str]]:
    kinds = ("left out", "changed")
    left_out, changed = ({note.name for note in imported.notes if note.became == kind} for kind in kinds)
    return left_out, changed


def test_a_prompt_of_github_is_a_project(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "s.prompt.yml").write_text(GITHUB, encoding="utf-8")
    assert run_cli(["import", str(tmp_path / "s.prompt.yml"), "--out", str(tmp_path / "out")]) == 0
    out = tmp_path / "out"
    prompt, spec = read_prompt(out / "prompt.md"), read_spec(out / "prompt.spec.yaml")
    assert (prompt.name, prompt.description, prompt.variables) == ("Summarizer", "Sums things up.", ("input",))
    assert [(rule.id, rule.rule, [each.kind for each in rule.checks]) for rule in spec.rules] == [
        ("Has-fox", 'The output holds "fox", in any case.', ["icontains"]),
        ("As-expected", 'The output is "{{expected}}".', ["equals"]),
        ("short", "Is the output shorter than the input?", []),
    ]
    suite = read_suite(out / "prompt.cases.yaml", spec, prompt)
    assert [(case.inputs, case.expected) for case in suite.cases] == [
        ({"input": "The quick brown fox."}, "A fox."), ({"input": "Dogs."}, "Dogs")
    ]  # fmt: skip
    settings = tomllib.loads((out / "promptpex.toml").read_text(encoding="utf-8"))
    assert settings["models"] == {
        "under_test": ["my-gpt-4o-mini"], "my-gpt-4o-mini": {"model": "github/gpt-4o-mini", "temperature": 0.5}
    }  # fmt: skip
    printed = capsys.readouterr().out
    assert "github/similarity exists on GitHub only" in printed
    assert "modelParameters.topK" in printed


def test_a_prompty_file_is_a_project(tmp_path: Path) -> None:
    path = tmp_path / "basic.prompty"
    path.write_text(PROMPTY, encoding="utf-8")
    made = prompty.read(path)
    assert made.prompt is not None
    assert [(turn.role, turn.content) for turn in made.prompt.messages] == [
        ("system", "You help {{name}}."), ("user", "{{question}}")
    ]  # fmt: skip
    assert made.suite is not None
    assert made.suite.cases[0].inputs == {"name": "Ann", "question": "Why?"}
    assert made.settings == {
        "models": {
            "under_test": ["my-gpt-35"],
            "my-gpt-35": {"model": "azure/gpt-35", "max_tokens": 128, "temperature": 0.2},
        }
    }
    assert _notes(made)[0] == {"authors", "model.api_key", "model parameter tools"}
    assert "abc" not in str(made.settings) + str(made.notes)
    path.write_text("---\nmodel: {id: gpt-4o, provider: openai, options: {maxOutputTokens: 9}}\n---\nHi {{x}}\n")
    second = prompty.read(path)
    assert second.settings == {
        "models": {"under_test": ["my-gpt-4o"], "my-gpt-4o": {"model": "openai/gpt-4o", "max_tokens": 9}}
    }


_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip()) and not any(mark in text for mark in ("{{", "{%", "{#"))
)
_TEXTS = st.lists(_WORDS | st.sampled_from(["user:", "system:", "---", "a: b"]), min_size=1, max_size=3).map("\n".join)


def _project(texts: list[str], inputs: list[str], expected: str | None) -> Project:
    turns = [Message(role="system", content=text.strip()) for text in texts if text.strip()]
    messages = (*turns, Message(role="user", content="Say {{word}}."))
    prompt = Prompt(name="p", messages=messages, variables=("word",), fingerprint="f")
    cases = tuple(
        Case(id=f"t{n}", inputs={"word": text}, expected=expected, origin="added") for n, text in enumerate(inputs, 1)
    )
    rules = (
        Rule(
            id="r1",
            rule='The output holds "x", in any case.',
            checks=(Check(kind="icontains", value="x"),),
            origin="added",
        ),
    )
    return Project(prompt, Spec(rules=rules), Suite(cases=cases), models=("github/gpt-4o?temperature=0.5",))


@given(st.lists(_TEXTS, max_size=2), st.lists(_WORDS, min_size=1, max_size=3, unique=True), st.none() | _WORDS)
def test_a_project_comes_back_from_github(texts: list[str], inputs: list[str], expected: str | None) -> None:
    project = _project(texts, inputs, expected)
    made = github_prompt.write(_Project(project), model=None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.prompt.yml"
        path.write_text(made.text, encoding="utf-8")
        back = github_prompt.read(path)
    assert back.prompt is not None
    assert back.suite is not None
    assert back.spec is not None
    assert back.prompt.messages == project.prompt.messages
    assert [(case.inputs, case.expected) for case in back.suite.cases] == [
        (case.inputs, case.expected) for case in project.suite.cases
    ]
    assert back.spec.rules == project.spec.rules
    assert back.settings["models"] == {
        "under_test": ["my-gpt-4o"],
        "my-gpt-4o": {"model": "github/gpt-4o", "temperature": 0.5},
    }


@given(st.lists(_TEXTS, max_size=2), st.lists(_WORDS, min_size=1, max_size=2, unique=True))
def test_a_prompt_comes_back_from_prompty(texts: list[str], inputs: list[str]) -> None:
    project = _project(texts, inputs, None)
    made = prompty.write(_Project(project), model=None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "p.prompty"
        path.write_text(made.text, encoding="utf-8")
        back = prompty.read(path)
    assert back.prompt is not None
    assert back.suite is not None
    sent = [(turn.role, turn.content.replace('{{ "user:" }}', "user:").replace('{{ "system:" }}', "system:"))
            for turn in back.prompt.messages]  # fmt: skip
    assert sent == [(turn.role, turn.content) for turn in project.prompt.messages]
    assert back.suite.cases[0].inputs == project.suite.cases[0].inputs
    assert parse(made.text, "p.prompty").messages == back.prompt.messages, "as it is read in place"


@given(st.lists(st.tuples(_WORDS, st.none() | _WORDS, st.booleans()), min_size=1, max_size=4, unique=True))
def test_cases_come_back_from_promptpex(rows: list[tuple[str, str | None, bool]]) -> None:
    cases = tuple(
        Case(id=f"r{n}-x", rule=f"r{n}", inverse=inverse, inputs={"a": text, "b": "2"},
             expected=expected.strip() if expected else None, reasoning="why")
        for n, (text, expected, inverse) in enumerate(rows, 1)
    )  # fmt: skip
    made = promptpex_files.write_json(_Project(Project(_project([], ["x"], None).prompt, Spec(), Suite(cases=cases))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tests.json"
        path.write_text(made.text, encoding="utf-8")
        back = promptpex_files.read_json(path, variable=None)
    assert back.suite is not None
    kept = [(case.rule, case.inverse, case.inputs, case.expected, case.reasoning) for case in back.suite.cases]
    assert kept == [(case.rule, case.inverse, case.inputs, case.expected, case.reasoning) for case in cases]
    assert not made.left_out


def test_a_folder_of_promptpex_is_a_spec_and_cases(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "rules.txt").write_text("1. It is short.\n2. It is true.\n", encoding="utf-8")
    (folder / "inverse_rules.txt").write_text("It is long.\nIt is false.\n", encoding="utf-8")
    (folder / "intent.txt").write_text("Answers.\n", encoding="utf-8")
    (folder / "input_spec.txt").write_text("A question.\nIn English.\n", encoding="utf-8")
    tests = [
        {"ruleid": "1", "testid": "1", "testinput": "Why?", "question": "Why?", "expectedoutput": "So.",
         "inverse": True},
        {"ruleid": "2", "testid": 1, "testinput": "How?", "question": "How?", "groundtruth": "Thus.",
         "groundtruthScore": 90, "groundtruthModel": "m", "scenario": "odd"},
        {"testinput": "x", "question": "x", "baseline": True, "groundtruth": "?", "groundtruthScore": -1},
    ]  # fmt: skip
    (folder / "tests.json").write_text(json.dumps(tests), encoding="utf-8")
    (folder / "overview.csv").write_text("x\n", encoding="utf-8")
    assert run_cli(["import", str(folder), "--out", str(tmp_path / "out")]) == 0
    spec = read_spec(tmp_path / "out" / "prompt.spec.yaml")
    suite = read_suite(tmp_path / "out" / "prompt.cases.yaml", spec)
    assert [(rule.id, rule.rule, rule.inverse) for rule in spec.rules] == [
        ("r1", "It is short.", "It is long."), ("r2", "It is true.", "It is false.")
    ]  # fmt: skip
    assert (spec.intent, spec.inputs["question"].constraints) == ("Answers.", ("A question.", "In English."))
    assert [(case.id, case.rule, case.inverse, case.expected, case.scenario) for case in suite.cases] == [
        ("r1-inverse-1", "r1", True, "So.", None),
        ("r2-1", "r2", False, "Thus.", "odd"),
        ("t3", None, False, None, None),
    ]
    printed = capsys.readouterr().out
    assert "overview.csv" in printed
    assert "[2].groundtruth" in printed


def test_a_folder_of_2024_has_its_tests_in_a_table(tmp_path: Path) -> None:
    for name, text in (("rules.txt", "a\nb\n"), ("inverse_rules.txt", "not a\n"), ("tests.csv", recordings.TESTS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = promptpex_files.read_folder(tmp_path, variable="thing")
    assert made.suite is not None
    assert [case.rule for case in made.suite.cases] == ["r1", "r2", "r1", "r2"]
    assert "inverse_rules.txt" in _notes(made)[1]


def test_every_published_folder_is_read(shared: Path) -> None:
    folders = sorted((shared / "published" / "evals" / "v7").glob("*"))
    if not folders:
        pytest.skip("the published recordings are not beside the repository")
    for folder in folders:
        made = promptpex_files.read_folder(folder, variable=None)
        assert made.spec is not None
        assert made.spec.rules
        assert made.suite is not None
        assert made.suite.cases


@pytest.mark.parametrize(
    ("name", "text", "says", "line"),
    [
        ("a.prompt.yml", "messages: 3\n", "a prompt needs messages", 1),
        ("a.prompt.yml", "messages: [{role: system}]\n", "a message needs a role", 1),
        ("a.prompt.yml", "messages: [{role: system, content: x}]\ntestData: 3\n", "testData must be a list", 2),
        ("a.prompt.yml", "messages: [{role: system, content: x}]\nevaluators: [{string: {has: x}}]\n", "contains", 2),
        ("a.prompt.yml", "\0", "binary", None),
        ("a.prompty", "---\nname: x\n", "never ends", 1),
        ("a.prompty", "---\nname: x\n---\n\n", "there is no text", 4),
        ("a.prompty", "---\nmodel: 3\n---\nx\n", "model must be a mapping", 2),
        ("a.json", '[\n {"ruleid": 1}]', "a test needs a testinput", 2),
        ("a.json", "{}", "must be a list", 1),
        ("a.json", "[3]", "a test must be a mapping", 1),
    ],
)
def test_damage_is_one_sentence_with_its_line(
    tmp_path: Path, name: str, text: str, says: str, line: int | None
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    of_json = partial(promptpex_files.read_json, variable=None)
    readers: dict[str, Any] = {".yml": github_prompt.read, ".prompty": prompty.read, ".json": of_json}
    with pytest.raises(InputError, match=says) as caught:
        readers[path.suffix](path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["gpt-4o", "none", "openai", "ä b", "", "x" * 60, "-._", "llama3.2:1b"])
def test_what_a_model_is_called_after_an_import_is_accepted_by_settings(name: str) -> None:
    first = free_name(name)
    check_name(first)
    second = free_name(name, (first,))
    check_name(second)
    assert first != second


FILE = "messages: [{role: user, content: 'Say {{input}}'}]\ntestData: [{input: hi, expected: Hi}]\n"


def _read(folder: Path, *evaluators: Mapping[str, object]) -> Imported:
    path = folder / "my.prompt.yml"
    path.write_text(FILE + yaml.safe_dump({"evaluators": list(evaluators)}), encoding="utf-8")
    return github_prompt.read(path)


def _checks(folder: Path, evaluator: Mapping[str, object]) -> tuple[Check, ...]:
    spec = _read(folder, evaluator).spec
    assert spec is not None
    return spec.rules[0].checks


@pytest.mark.parametrize(
    ("string", "passes", "fails"),
    [
        ({"contains": "Fox"}, "a FOX.", "a dog"),
        ({"startsWith": "Summary - (a.b)"}, "summary - (A.B) c", "Summary - (axb)"),
        ({"endsWith": "the end?"}, "It is THE END?", "the end? no"),
        ({"equals": "Fox"}, "Fox", "fox"),
    ],
)
def test_only_equals_heeds_the_case(tmp_path: Path, string: dict[str, str], passes: str, fails: str) -> None:
    checks = _checks(tmp_path, {"name": "x", "string": string})
    assert [check(output, checks).status for output in (passes, fails)] == ["pass", "fail"]


def test_of_several_keys_the_first_counts_as_there(tmp_path: Path) -> None:
    imported = _read(tmp_path, {"name": "x", "string": {"startsWith": "a", "equals": "b"}})
    assert imported.spec is not None
    assert [each.kind for each in imported.spec.rules[0].checks] == ["equals"]
    assert [note.name for note in imported.notes] == ["evaluators[0].string.startsWith"]


def test_a_beginning_that_is_a_template_is_named_where_its_case_counts(tmp_path: Path) -> None:
    imported = _read(tmp_path, {"name": "x", "string": {"startsWith": "{{expected}}"}})
    assert [(note.became, note.name) for note in imported.notes] == [("changed", "evaluators[0].string")]


def test_a_judge_s_prompt_with_inputs_is_filled_in(tmp_path: Path) -> None:
    llm = {"systemPrompt": "You grade.", "prompt": "Is {{completion}} like {{expected}} for {{input}}?"}
    imported = _read(tmp_path, {"name": "x", "llm": llm})
    assert imported.spec is not None
    report = check("Hi", imported.spec.rules[0].checks, vars={"input": "hi"}, expected="Hi")
    assert report.results[0].questions == ("Is the output like Hi for hi?",)
    assert "evaluators[0].llm.systemPrompt" in {note.name for note in imported.notes}


@given(st.sampled_from(("startsWith", "endsWith")), st.text(min_size=1, max_size=20))
def test_a_beginning_or_an_end_comes_back_as_it_was(key: str, text: str) -> None:
    made = github_prompt.check_of_text({key: text})
    assert github_prompt.as_evaluator(made) == (key, text)
