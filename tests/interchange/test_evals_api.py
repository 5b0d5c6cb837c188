"""A project as bodies for OpenAI's Evals API: what means the same there is said, and the rest is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptpex.core.records import Case, Check, Rule, Spec, Suite
from promptpex.interchange.format import Project
from promptpex.interchange.openai_evals_api import write
from promptpex.promptfile import parse, renderer
from tests.interchange.foreign.imported import ProjectSource

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
