"""PromptPex's own files: a context, and tests as a table."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.cases.file import read_suite
from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError, SuiteError
from promptpex.core.records import METRIC_NAME
from promptpex.interchange import promptpex_context, promptpex_files
from promptpex.interchange.format import Imported
from promptpex.promptfile import read as read_prompt
from promptpex.promptfile.metric_files import examine_metric, metrics_beside
from promptpex.report import runs
from promptpex.specs.file import read_spec
from promptpex.workflow.validation.validate import validate
from tests.reproduce.recordings import RULES, TESTS, lines

Capture = pytest.CaptureFixture[str]

PROMPT = """---
name: Joker
inputs:
  joke: {type: string}
---
system:
You rate jokes.

user:
{{joke}}
"""


METRIC = """---
description: Is it kind?
tags: [scorer]
---
system:
Give a score from 0 to 100. The rules: {{rules}} {{inputSpec}}

user:
{{output}}
"""


def file(name: str, content: str = "") -> dict[str, str]:
    return {"filename": f"out/joker/{name}", "content": content}


def context(**more: Any) -> dict[str, Any]:
    tests = [
        {"ruleid": 1, "testid": 1, "testinput": "A horse walks in.", "expectedoutput": "funny", "reasoning": "why"},
        {"ruleid": 3, "testid": 1, "testinput": "A cow.", "scenario": "farm"},
        {"baseline": True, "testinput": "A hen."},
    ]
    results = [
        {"id": "a", "model": "ollama:x", "testinput": "A cow.", "output": "dull", "compliance": "ok", "metrics": {}},
        {"id": "b", "model": "ollama:x", "testinput": "A cow.", "output": "dull too"},
        {"id": "c", "model": "ollama:x", "testinput": "gone", "output": "x"},
        {"id": "d", "model": "ollama:x", "testinput": "A hen.", "output": "", "error": "no"},
    ]
    return {
        "runId": "k3", "writeResults": True, "dir": "out/joker", "name": "joker",
        "frontmatter": {
            "name": "Joker", "description": "Rates jokes.", "tags": ["unlisted"],
            "model": {"parameters": {"temperature": 0.5}, "configuration": {"type": "openai", "name": "gpt-4o-mini"}},
            "scenarios": [{"name": "farm", "instructions": "It is set on a farm."}],
            "instructions": {"outputRules": "Few."},
        },
        "inputs": {"joke": {"type": "string", "description": "A joke."}},
        "messages": [{"role": "system", "content": "ignored"}],
        "prompt": file("joker.prompty", PROMPT),
        "intent": file("intent.txt", "Rates jokes."), "inputSpec": file("input_spec.txt", "One sentence.\n"),
        "rules": file("rules.txt", "1. It is one word.\n2. It is kind.\n"),
        "inverseRules": file("inverse_rules.txt", "It is long.\nIt is rude.\n"),
        "tests": file("tests.json", json.dumps(tests)), "promptPexTests": tests,
        "testOutputs": file("test_results.json", json.dumps(results)),
        "testEvals": file("test_evals.json", "[1]"), "ruleEvals": file("rule_evals.json", "[1]"),
        "baselineTests": file("baseline_tests.txt", "A test."), "rateTests": file("review.md"),
        "metrics": [file("tone.metric.prompty", METRIC)], "testSamples": [{"joke": "A pig."}],
        "options": {"effort": "low"}, "versions": {"promptpex": "0.0.18", "node": "v22"},
        **more,
    }  # fmt: skip


def written(folder: Path, data: Any, name: str = "promptpex_context.json") -> Path:
    (folder / name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return folder / name


def read(folder: Path, **more: Any) -> Imported:
    return promptpex_context.read(written(folder, context(**more)))


def test_a_context_becomes_a_project_and_a_run(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert run_cli(["import", str(written(tmp_path, context())), "--out", str(out)]) == 0
    prompt, spec = read_prompt(out / "prompt.md"), read_spec(out / "prompt.spec.yaml")
    suite = read_suite(out / "prompt.cases.yaml", spec, prompt)
    assert (prompt.name, prompt.description, prompt.variables) == ("Joker", "Rates jokes.", ("joke",))
    assert [turn.role for turn in prompt.messages] == ["system", "user"]
    assert prompt.meta["scenarios"] == [{"name": "farm", "constraints": "It is set on a farm."}]
    assert prompt.meta["instructions"] == {"rules": "Few."}
    assert prompt.meta["samples"] == [{"joke": "A pig."}]
    assert prompt.description_of("joke") == "A joke."
    assert [(rule.rule, rule.inverse) for rule in spec.rules] == [
        ("It is one word.", "It is long."), ("It is kind.", "It is rude.")
    ]  # fmt: skip
    assert (spec.intent, spec.inputs["joke"].constraints) == ("Rates jokes.", ("One sentence.",))
    assert [(case.rule, case.inverse, case.inputs["joke"], case.expected) for case in suite.cases] == [
        ("r1", False, "A horse walks in.", "funny"), ("r1", True, "A cow.", None), (None, False, "A hen.", None)
    ]  # fmt: skip
    assert [one for one in validate([out / "prompt.md"]) if one.severity == "error"] == []
    run = runs.read(runs.latest_of(out, prompt.name) or out)
    assert [(one.case, one.repeat, one.text) for one in run.outputs] == [
        (suite.cases[1].id, 0, "dull"), (suite.cases[1].id, 1, "dull too")
    ]  # fmt: skip
    printed = capsys.readouterr().out
    for name in ("testEvals", "ruleEvals", "baselineTests", "compliance", "options", "[2]", "[3]", "frontmatter.tags"):
        assert name in printed


def test_every_key_comes_over_or_is_named_or_says_nothing(tmp_path: Path) -> None:
    made = read(tmp_path, novelty={"filename": "x", "content": "new"}, empty={"filename": "y", "content": ""})
    named = {note.name.partition(":")[0] for note in made.notes}
    assert "novelty" in named
    assert "empty" not in named
    silent = {key for key in context() if key not in named} - promptpex_context._READ - promptpex_context._OF_THE_RUN
    assert silent == {"rateTests"}, "only a file without text may pass in silence"


def test_messages_are_taken_where_the_text_is_missing(tmp_path: Path) -> None:
    made = read(tmp_path, prompt={}, messages=[{"role": "user", "content": [{"type": "text", "text": "Hi {{joke}}"}]}])
    assert made.prompt is not None
    assert [(turn.role, turn.content) for turn in made.prompt.messages] == [("user", "Hi {{joke}}")]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("[]", "must be a mapping"),
        ("{", "not valid JSON"),
        ("{}", "there is no prompt"),
        (context(promptPexTests=[3]), "a test must be a mapping"),
        (context(promptPexTests=[], tests=file("t", "{")), "not valid JSON"),
        (context(testOutputs=file("t", "[[]]")), "a result must be a mapping"),
        (context(frontmatter=[]), "must be a mapping"),
    ],
)
def test_damage_is_one_sentence(tmp_path: Path, data: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        promptpex_context.read(written(tmp_path, data))
    assert "\n" not in caught.value.message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["content", "role", "joke"]), inner),
    max_leaves=6,
)


@given(st.sampled_from(sorted(context())), JSON)
def test_a_key_that_holds_anything_else_is_read_or_refused(key: str, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), {**context(), key: value})
        with contextlib.suppress(InputError):
            promptpex_context.read(path)


def test_metrics_become_files_by_which_the_run_is_scored(tmp_path: Path, capsys: Capture) -> None:
    path, out = written(tmp_path, context()), tmp_path / "out"
    assert run_cli(["import", str(path), "--out", str(out)]) == 0
    assert "metrics (1)" in capsys.readouterr().out
    (metric,) = metrics_beside(out / "prompt.md")
    assert (metric.name, metric.description, metric.scale) == ("tone", "Is it kind?", "0-100")
    assert runs.read(runs.latest_of(out, "Joker") or out).metrics == (metric,)
    assert run_cli(["import", str(path), "--out", str(out)]) == 2, "a metric of one's own is not replaced"


def test_a_metric_that_cannot_be_one_here_is_named_with_its_line(tmp_path: Path, capsys: Capture) -> None:
    metrics = [
        file("tone.metric.prompty", "old {{output}}"),
        file("tone.metric.prompty", "new {{output}}"),
        file("accuracy with eval.metric.prompty", "right? {{output}}"),
        file("expected.metric.prompty", "as wanted? {{output}}"),
        file("odd.metric.prompty", "---\ndescription: x\n---\n{{output}}\n{{weather}}"),
        file("trial.metric.prompty", "---\ntags: [experimental]\n---\n{{output}}"),
        file("empty.metric.prompty", " "),
        3,
    ]  # fmt: skip
    path = written(tmp_path, json.dumps(context(metrics=metrics[:-1]), indent=2))
    assert run_cli(["import", str(path), "--out", str(tmp_path / "out"), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["came_over"]["metrics"] == 3
    made = {metric.name: metric for metric in metrics_beside(tmp_path / "out" / "prompt.md")}
    assert sorted(made) == ["accuracy-with-eval", "expected-metric", "tone"]
    assert made["tone"].criteria is not None
    assert made["tone"].criteria.messages[0].content == "new {{output}}"
    lines = path.read_text(encoding="utf-8").splitlines()
    left = {note["name"]: note for note in answer["left_out"]}
    odd = left["odd.metric.prompty"]
    assert "odd.metric.prompty" in lines[odd["line"] - 1]
    assert odd["why"].startswith("line 5 of its text: a metric has no 'weather' to show")
    assert "experimental" in left["trial.metric.prompty"]["why"]
    assert "same name" in left["tone.metric.prompty"]["why"]
    assert "metrics[6]" in left
    changed = {note["name"]: note["why"] for note in answer["changed"]}
    assert changed["accuracy with eval.metric.prompty"] == "its name here is accuracy-with-eval"
    with pytest.raises(InputError, match="a metric must be a mapping"):
        read(tmp_path, metrics=metrics)


@given(st.text(max_size=60))
def test_a_name_of_a_metric_never_leads_out_of_the_folder(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = read(Path(folder), metrics=[{"filename": f"../{name}.metric.prompty", "content": "{{output}}"}])
    (metric,) = made.metrics
    assert re.fullmatch(METRIC_NAME, metric.name)
    assert examine_metric(Path(f"{metric.name}.metric.prompty"), metric.text)[0] is not None


def test_tests_as_promptpex_writes_them_aim_at_rules_and_inverses(tmp_path: Path) -> None:
    """Its numbers are texts, and go on after the rules with their inverses; another list of metrics stands beside."""
    numbers = ("1", "2", "3", "4", "9")
    more = {"testid": "1", "generation": 0, "testuid": "u", "baseline": False, "scenario": ""}
    tests = [{"ruleid": number, "testinput": f"x{number}", "joke": f"x{number}", **more} for number in numbers]
    made = read(tmp_path, promptPexTests=tests, groundtruthMetrics=[file("g.metric.prompty", METRIC)])
    assert made.suite is not None
    assert [(case.rule, case.inverse) for case in made.suite.cases] == [
        ("r1", False), ("r2", False), ("r1", True), ("r2", True), ("r9", False)
    ]  # fmt: skip
    assert {note.name: note.why for note in made.notes}["groundtruthMetrics"].startswith("they rate expected outputs")
    assert [metric.name for metric in made.metrics] == ["tone"]


QUICK = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _file(tmp_path: Path, text: str = TESTS) -> Path:
    path = tmp_path / "tests.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_blank_lines_and_blanks_after_commas_are_no_part_of_it(tmp_path: Path) -> None:
    result = promptpex_files.csv_tests(_file(tmp_path), rule_count=2, variable="thing", prompt="p.md")
    assert result.suite.prompt == "p.md"
    assert [(case.id, case.rule, case.inverse) for case in result.suite.cases] == [
        ("r1-1", "r1", False),
        ("r2-1", "r2", False),
        ("r1-inverse-1", "r1", True),
        ("r2-inverse-1", "r2", True),
    ]
    assert result.suite.cases[0].inputs == {"thing": "a red, round apple"}
    assert result.lines == {"r1-1": 2, "r2-1": 4, "r1-inverse-1": 5, "r2-inverse-1": 6}
    assert result.problems == ()


def test_the_number_of_rules_comes_from_the_file_beside_it(tmp_path: Path) -> None:
    path = _file(tmp_path)
    lines(tmp_path / "rules.txt", [*RULES, "A third.", "A fourth."])
    assert not any(case.inverse for case in promptpex_files.csv_tests(path).suite.cases)
    (tmp_path / "rules.txt").unlink()
    assert [case.inverse for case in promptpex_files.csv_tests(path).suite.cases] == [False, False, True, True]


def test_a_row_that_is_too_long_is_kept_and_named(tmp_path: Path) -> None:
    result = promptpex_files.csv_tests(
        _file(tmp_path, TESTS + '4, 2, "x", "Y", "why",\n4, 3, "x", "Y", "why", more\n'), rule_count=2
    )
    assert [(problem.line, problem.message.rpartition("; ")[2]) for problem in result.problems] == [
        (7, "cells beyond the header are blank"),
        (8, "not used: more"),
    ]
    assert len(result.suite.cases) == 6


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("5, 1, x, y, z", "there is no rule 5"),
        ("one, 1, x, y, z", "not a number from 1"),
        ("0, 1, x, y, z", "not a number from 1"),
        ("²,1,x,y,z", "not a number from 1"),
        ("1, 1, x", "has 3 cells"),
        ('1, 1, "x, y, z', "not valid CSV"),
    ],
)
def test_what_cannot_be_read_names_its_line(tmp_path: Path, row: str, message: str) -> None:
    path = _file(tmp_path, f"{TESTS}{row}\n")
    with pytest.raises(SuiteError, match=message) as caught:
        promptpex_files.csv_tests(path, rule_count=2)
    assert (caught.value.path, caught.value.line) == (path, 7)


@QUICK
@given(data=st.binary(max_size=400))
def test_any_bytes_are_a_suite_or_a_named_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tests.csv"
    path.write_bytes(b"ruleid,testid,testinput,expectedoutput,reasoning\n" + data)
    failure: InputError | None = None
    ids: list[str] = []
    try:
        ids = [case.id for case in promptpex_files.csv_tests(path).suite.cases]
    except InputError as error:
        failure = error
    assert failure is None or failure.path == path
    assert len(ids) == len(set(ids))


@QUICK
@given(cells=st.lists(st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)] * 2)))
def test_what_the_csv_module_writes_is_read_back(tmp_path: Path, cells: list[tuple[str, str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("a", "b"), *cells])
    path = tmp_path / "any.csv"
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    result = promptpex_files.table_rows(path, ("a", "b"), what="file", error=InputError)
    wanted = [pair for pair in cells if any(cell.strip() for cell in pair)]
    assert [(row["a"], row["b"]) for row in result] == wanted


def test_a_link_beside_the_file_is_not_read_outside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("a\n" * 40, encoding="utf-8")
    (tmp_path / "in" / "rules.txt").symlink_to(tmp_path / "secret")
    path = tmp_path / "in" / "tests.csv"
    path.write_text("ruleid,testid,testinput,expectedoutput,reasoning\n2,1,a,b,c\n", encoding="utf-8")
    assert promptpex_files.csv_tests(path).suite.cases[0].inverse, (
        "half of the highest id counts, not the lines of the link"
    )
    path.write_text("ruleid,testid,testinput,expectedoutput,reasoning\n" + "9" * 5000 + ",1,a,b,c\n", encoding="utf-8")
    with pytest.raises(SuiteError, match="is not a number from 1"):
        promptpex_files.csv_tests(path)
