"""Foreign files that are made to take long, or to make much of little: work grows with the file, or is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptpex import interchange
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Suite
from promptpex.interchange.format import Imported, formats
from promptpex.workflow.importing.write_import import write_imported
from tests.work import calls

FORMATS = formats(interchange)


def _read(name: str, path: Path, **options: Any) -> Imported:
    defaults = {option.name: option.default for option in FORMATS[name].read_options}
    read = FORMATS[name].read
    assert read is not None
    return read(path, **(defaults | options))


def _lines(rows: list[Any]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def _config(tests: list[Any], **more: Any) -> str:
    return json.dumps({"prompts": ["{{x}}"], "tests": tests, **more})


EQUAL: dict[str, tuple[str, str, Callable[[int], str], dict[str, Any]]] = {
    "equal ids in a column": (
        "jsonl", "a.jsonl", lambda n: _lines([{"k": "a", "q": f"x{i}"} for i in range(n)]),
        {"columns": "k=id,q=inputs.q"},
    ),
    "assertions of one kind": (
        "promptfoo", "promptfooconfig.json",
        lambda n: _config([{"vars": {"x": f"v{i}"}, "assert": [{"type": "equals", "value": f"v{i}"}]}
                           for i in range(n)]),
        {},
    ),
    "tests that many variables tell apart": (
        "promptfoo", "promptfooconfig.json",
        lambda n: _config([{"vars": {"z": str(i)}, "assert": [{"type": "equals", "value": f"a{i % 2}"}]}
                           for i in range(10)], defaultTest={"vars": {f"y{i}": "same" for i in range(n)}}),
        {},
    ),
    "evaluators of one name": (
        "github-prompt", "a.prompt.yml",
        lambda n: json.dumps({"messages": [{"role": "user", "content": "x"}],
                              "evaluators": [{"name": "a", "string": {"contains": "x"}}] * n}),
        {},
    ),
    "tests of one id": (
        "promptpex-tests", "tests.csv",
        lambda n: "ruleid,testid,testinput,expectedoutput,reasoning\n" + "1,1,a,b,c\n" * n,
        {},
    ),
    "tests of one id in JSON": (
        "promptpex-json", "tests.json",
        lambda n: json.dumps([{"ruleid": 1, "testid": 1, "testinput": f"x{i}", "expectedoutput": "y"}
                              for i in range(n)]),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", list(EQUAL))
def test_what_is_alike_a_thousand_times_takes_no_square_of_it(what: str, tmp_path: Path) -> None:
    name, file, text, options = EQUAL[what]
    counted = []
    for size in (60, 480):
        path = tmp_path / file
        path.write_text(text(size), encoding="utf-8")
        _read(name, path, **options)  # what is loaded or compiled once
        counted.append(calls(lambda path=path: _read(name, path, **options)))
    assert counted[1] < 16 * counted[0], counted


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"scenarios": [{"config": [{}] * 400, "tests": [{}] * 400}]}, "make more than 100,000 tests"),
        ({"tests": [{}] * 110, "defaultTest": {"vars": {"y": "a" * 1_000_000}}}, "more than 100,000,000 characters in"),
        ({"tests": [{}] * 900, "defaultTest": {"assert": [{"type": "is-json"}] * 600}}, "more than 500,000 assertions"),
    ],
)
def test_defaults_that_multiply_are_refused(config: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": ["{{x}}"], **config}), encoding="utf-8")
    with pytest.raises(InputError, match=says):
        _read("promptfoo", path)


@pytest.mark.parametrize("text", ["{{" * 40_000 + "}", "{%" * 40_000, "{{" + " " * 40_000, "{#" * 40_000 + "#"])
def test_braces_without_end_are_read_in_one_go(text: str, tmp_path: Path) -> None:
    path = tmp_path / "promptfooconfig.json"
    path.write_text(json.dumps({"prompts": [f"x{text}"], "tests": []}), encoding="utf-8")
    assert _read("promptfoo", path).prompt is not None


def test_merge_keys_fill_in_what_is_not_there_the_first_first(tmp_path: Path) -> None:
    parts = ", ".join(f"{{a{n}: x, b: '{n}'}}" for n in range(300))
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(f"prompts: ['{{{{a0}}}}']\ntests:\n  - vars: {{<<: [{parts}], a0: mine}}\n", encoding="utf-8")
    suite = _read("promptfoo", path).suite
    assert suite is not None
    assert suite.cases[0].inputs == {**{f"a{n}": "x" for n in range(300)}, "a0": "mine", "b": "0"}


def test_cases_that_no_case_file_could_be_read_back_from_are_refused(tmp_path: Path) -> None:
    suite = Suite(cases=tuple(Case(id=f"c{n}", inputs={"x": "a" * 2_100_000}) for n in range(10)))
    with pytest.raises(InputError, match="write only the cases, as JSON lines: --cases-only"):
        write_imported(Imported(suite=suite), tmp_path / "x.cases.yaml")
    write_imported(Imported(suite=suite), tmp_path / "x.cases.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["x.cases.jsonl"]
