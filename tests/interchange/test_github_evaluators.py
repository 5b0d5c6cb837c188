"""GitHub's evaluators decide here as its own command does (``runStringEvaluator`` of gh-models)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptpex.assertions import check
from promptpex.core.records import Check
from promptpex.interchange import github_prompt
from promptpex.interchange.format import Imported

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
