"""The hosted Evals API: graders as rules, a run's prompt and items, and all of it back."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Check, Rule, Spec, Suite
from promptpex.interchange.format import Project
from promptpex.interchange.openai_evals_api.formulas import greatest_of, product_of, sums_of
from promptpex.interchange.openai_evals_api.write import write
from promptpex.interchange.reading.chats import Unfit
from promptpex.promptfile import parse, renderer
from tests.interchange.foreign.imported import ProjectSource, imported, left_out, read, written

Capture = pytest.CaptureFixture[str]
OUTPUT = "{{ sample.output_text }}"
CRITERIA: list[Mapping[str, Any]] = [
    {"type": "string_check", "name": "right", "input": OUTPUT, "operation": "eq", "reference": "{{item.label}}"},
    {"type": "string_check", "name": "other way", "input": "{{item.label}}", "operation": "ne", "reference": OUTPUT},
    {"type": "string_check", "name": "like", "input": OUTPUT, "operation": "like", "reference": "{{item.a.b}} {% x"},
    {"type": "string_check", "name": "field", "input": "{{sample.output_json.x.y}}", "operation": "ilike",
     "reference": "Z"},
    {"type": "string_check", "name": "swapped", "input": "{{item.label}}", "operation": "like", "reference": OUTPUT},
    {"type": "string_check", "name": "tools", "input": OUTPUT, "operation": "eq", "reference": "{{sample.tools}}"},
    {"type": "text_similarity", "name": "rouge", "input": OUTPUT, "reference": "{{item.label}}",
     "evaluation_metric": "rouge_2", "pass_threshold": 0.5},
    {"type": "text_similarity", "name": "cosine", "input": OUTPUT, "reference": "x", "evaluation_metric": "cosine",
     "pass_threshold": 0.5},
    {"type": "label_model", "name": "tone", "model": "gpt-4o", "labels": ["kind", "rude"], "passing_labels": ["kind"],
     "input": [{"role": "developer", "content": "How is it?"},
               {"type": "message", "role": "user", "content": {"type": "input_text", "text": OUTPUT}}]},
    {"type": "score_model", "name": "score", "model": "gpt-4o", "range": [1, 5], "pass_threshold": 4,
     "input": [{"role": "user", "content": f"Rate {OUTPUT} for {{{{item.question}}}}"}]},
    {"type": "score_model", "name": "seen", "model": "gpt-4o", "pass_threshold": 1,
     "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "file:///etc/passwd"}]}]},
    {"type": "python", "name": "code", "pass_threshold": 0.5,
     "source": "def grade(sample, item):\n    return 1.0 if item['label'] in sample['output_text'] else 0.0\n"},
    {"type": "multi", "name": "both", "calculate_output": "0.5 * one + 0.5 * two", "graders": {
        "one": {"type": "string_check", "input": OUTPUT, "operation": "like", "reference": "."},
        "two": {"type": "other"}}},
]  # fmt: skip
EVAL = {
    "name": "Tickets",
    "data_source_config": {"type": "custom", "item_schema": {}},
    "testing_criteria": CRITERIA,
    "data_source": {
        "type": "responses",
        "model": "gpt-4o-mini",
        "sampling_params": {"temperature": 0},
        "input_messages": {"type": "template", "template": [
            {"role": "developer", "content": "Sort {% it"}, {"role": "user", "content": "{{ item.question }}"}]},
        "source": {"type": "file_content", "content": [
            {"item": {"question": "Screen?", "label": "hardware", "a": {"b": "c"}}},
            {"item": {"question": "Vim?", "label": "software"}}]},
    },
}  # fmt: skip


def test_an_eval_with_its_run_is_a_project(tmp_path: Path, capsys: Capture) -> None:
    made = imported(capsys, written(tmp_path / "e.json", json.dumps(EVAL, indent=1)), "openai-evals-api")
    question = "(the response)\n\nOf the labels kind, rude, is the right one among these: kind?"
    assert [(rule.id, rule.checks[0].kind, rule.checks[0].value, rule.checks[0].path) for rule in made.spec.rules] == [
        ("right", "equals", "{{label}}", None),
        ("other-way", "not-equals", "{{label}}", None),
        ("like", "contains", '{{a.b}}{{ " {% x" }}', None),
        ("field", "icontains", "Z", "x.y"),
        ("rouge", "rouge-n", "{{label}}", None),
        ("tone", "question", f"How is it?\n\n{question}", None),
        ("score", "question",
         "Rate (the response) for {{question}}\n\nOn a scale from 1 to 5, is the score 4.0 or higher?", None),
        ("code", "python", made.spec.rules[7].checks[0].value, None),
        ("one", "contains", ".", None),
    ]  # fmt: skip
    left = [note["name"] for note in made.answer["left_out"]]
    assert left == [f"testing_criteria[{n}]" for n in (4, 5, 7, 10)] + ["testing_criteria[12].graders.two",
                                                                        "data_source.sampling_params"]  # fmt: skip
    lines = (tmp_path / "e.json").read_text(encoding="utf-8").splitlines()
    assert all(note["line"] is not None for note in made.answer["left_out"])
    assert '"sampling_params"' in lines[made.answer["left_out"][-1]["line"] - 1]
    assert [(case.inputs["question"], case.expected) for case in made.suite.cases] == [
        ("Screen?", "hardware"), ("Vim?", "software")
    ]  # fmt: skip
    assert 'under_test = ["gpt-4o-mini"]' in (made.folder / "promptpex.toml").read_text(encoding="utf-8")


def test_code_that_came_over_decides(tmp_path: Path, capsys: Capture) -> None:
    few = {**EVAL, "testing_criteria": [CRITERIA[0], CRITERIA[11]]}
    made = imported(capsys, written(tmp_path / "e.json", json.dumps(few)), "openai-evals-api")
    case = made.suite.cases[0]
    assert [made.verdict(case, output) for output in ("hardware", "hardware ", "software")] == [True, False, False]


def test_items_with_samples_are_outputs(tmp_path: Path, capsys: Capture) -> None:
    rows = [
        {"item": {"question": "A?", "expected": "x"}, "sample": {"output_text": "yes", "model": "m"}},
        {"item": {"question": "B?"}, "sample": {"outputs": [{"role": "assistant", "content": "no"}]}},
        {"item": {"question": "C?"}},
    ]
    path = written(tmp_path / "items.jsonl", rows)
    alone = read("openai-evals-api", path)
    assert (alone.is_suite, alone.outputs) == (True, ())
    assert left_out(alone) == [("[0].output", 1), ("[1].output", 2)]
    written(tmp_path / "p.md", "Answer {{question}}\n")
    made = imported(capsys, path, "openai-evals-api", "--prompt", str(tmp_path / "p.md"))
    outputs = [(output.model, output.text) for output in made.run().outputs]
    assert outputs == [("m", "yes"), ("unknown", "no")]


def test_items_of_an_eval_may_lie_in_a_file(tmp_path: Path) -> None:
    source = {**EVAL["data_source"], "source": {"type": "file_id", "id": "file-1"}}  # type: ignore[dict-item]
    path = written(tmp_path / "e.json", json.dumps({"eval": EVAL, "run": {"data_source": source}}))
    assert ("run.data_source.source", 1) in left_out(read("openai-evals-api", path))
    written(tmp_path / "i.jsonl", [{"item": {"question": "A?", "label": "x"}}])
    made = read("openai-evals-api", path, items=str(tmp_path / "i.jsonl"))
    assert made.suite is not None
    assert [case.expected for case in made.suite.cases] == ["x"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"testing_criteria": 3}', "must be a list, not a number"),
        ('{"testing_criteria": [3]}', "a grader must be a mapping"),
        ('{"testing_criteria": []}', "neither graders nor items"),
        ('{"testing_criteria": [], "data_source": []}', "data_source must be a mapping"),
        ("[]", "must be a mapping, not a list"),
        ("\0", "binary"),
    ],
)
def test_damage_is_one_sentence(tmp_path: Path, text: str, says: str, capsys: Capture) -> None:
    path = written(tmp_path / "e.json", text)
    assert run_cli(["import", "openai-evals-api", str(path), "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert len(message.strip().splitlines()) == 1
    with pytest.raises(InputError):
        read("openai-evals-api", path)


_WORDS = st.text(st.sampled_from('ab {}%#"\\\né'), max_size=6)
_CHECKS = st.one_of(
    st.builds(Check, kind=st.sampled_from(["equals", "not-equals", "contains", "icontains"]),
              value=st.sampled_from(["x", "{{input}}", "is {{ input }}", "{{expected}}"]),
              path=st.sampled_from([None, "a.b"])),
    st.builds(Check, kind=st.sampled_from(["bleu", "gleu", "rouge-l"]), value=st.just("{{input}}"),
              threshold=st.sampled_from([0.25, 0.5])),
    st.builds(Check, kind=st.just("rouge-n"), value=st.just("x"), threshold=st.just(0.5), n=st.integers(1, 5)),
    st.builds(Check, kind=st.just("question"), value=st.just("Is it kind to {{input}}?")),
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(_CHECKS, min_size=1, max_size=4), st.lists(_WORDS, min_size=1, max_size=3, unique=True),
       st.sampled_from(["system:\nSay it.\n\nuser:\n{{input}}\n", "Answer.\n", "user:\n{{input|trim}}\n"]))  # fmt: skip
def test_what_goes_out_comes_back(checks: list[Check], texts: list[str], text: str) -> None:
    import tempfile

    prompt = parse(f"---\nname: p\n---\n{text}")
    rules = tuple(Rule(id=f"r{n}", rule="x", checks=(check,)) for n, check in enumerate(checks))
    suite = Suite(cases=tuple(Case(id=f"c{n}", inputs={"input": one}, expected=f"e{n}") for n, one in enumerate(texts)))
    render = renderer(prompt)
    exported = write(
        ProjectSource(Project(prompt, Spec(rules=rules), suite, rendered=render)), model="m", judge_model="j"
    )
    with tempfile.TemporaryDirectory() as folder:
        made = read("openai-evals-api", written(Path(folder) / "e.json", exported.text))
    assert made.spec is not None
    assert [rule.checks for rule in made.spec.rules] == [
        tuple(Check.model_validate({**check.to_dict(), "value": str(check.value).replace("{{ input }}", "{{input}}")})
              for check in rule.checks) for rule in rules
    ]  # fmt: skip
    if "|" not in text:
        assert made.suite is not None
        assert [(case.inputs["input"], case.expected) for case in made.suite.cases] == [
            (case.inputs["input"], case.expected) for case in suite.cases
        ]


def _multi(formula: object, **graders: Any) -> dict[str, Any]:
    return {"type": "multi", "name": "both", "calculate_output": formula, "pass_threshold": 0.6, "graders": graders}


_RIGHT = {"type": "string_check", "input": OUTPUT, "operation": "eq", "reference": "a cat sat"}
_LIKE = {"type": "string_check", "input": OUTPUT, "operation": "like", "reference": "cat"}
_NEAR = {"type": "text_similarity", "input": OUTPUT, "reference": "a cat sat", "evaluation_metric": "rouge_1"}


@pytest.mark.parametrize(
    ("formula", "verdicts"),
    [
        ("0.5 * right + 0.5 * like", [True, False, False]),
        ("(right + like) / 2.0", [True, False, False]),
        ("0.2 + like * 0.4", [True, True, False]),
        ("right + like + like", [True, True, False]),
        ("2 * (near + like) / 3 - 0.1", [True, True, False]),
        ("min(near, like)", [True, True, False]),
        ("min(near, 0.5 * right + 0.1 * near)", [True, False, False]),
        ("max(right, like)", [True, True, False]),
        ("right * like * right", [True, False, False]),
    ],
)
def test_a_weighted_sum_of_graders_is_one_rule(
    formula: str, verdicts: list[bool], tmp_path: Path, capsys: Capture
) -> None:
    multi = _multi(formula, right=_RIGHT, like=_LIKE, near=_NEAR)
    body = {**EVAL, "testing_criteria": [multi]}
    made = imported(capsys, written(tmp_path / "e.json", json.dumps(body)), "openai-evals-api")
    assert [rule.id for rule in made.spec.rules] == ["both"]
    case = made.suite.cases[0]
    assert [made.verdict(case, output) for output in ("a cat sat", "cat sat", "a dog")] == verdicts


@pytest.mark.parametrize(
    ("multi", "why", "rules"),
    [
        (_multi("max(right, like - 1)", right=_RIGHT, like=_LIKE), "not a weighted sum", ["right", "like"]),
        (
            _multi("max(near, like)", near={**_NEAR, "pass_threshold": 1}, like=_LIKE),
            "not a weighted sum",
            ["near", "like"],
        ),
        (_multi("right * (like + 1)", right=_RIGHT, like=_LIKE), "not a weighted sum", ["right", "like"]),
        ({**_multi("max(right)", right=_RIGHT), "pass_threshold": 0}, "not a weighted sum", ["right"]),
        (_multi("right - like", right=_RIGHT, like=_LIKE), "not a weighted sum", ["right", "like"]),
        (_multi("right ^ 2", right=_RIGHT), "not a weighted sum", ["right"]),
        (_multi("__import__('os').system('x')", right=_RIGHT), "not a weighted sum", ["right"]),
        (_multi("(" * 3000, right=_RIGHT), "no formula", ["right"]),
        (_multi("-" * 1500 + "right", right=_RIGHT), "not a weighted sum", ["right"]),
        (_multi("right + 1e999", right=_RIGHT), "not a weighted sum", ["right"]),
        (_multi(None, right=_RIGHT), "no formula", ["right"]),
        (_multi("right + gone", right=_RIGHT), "something that is not one of its graders: gone", ["right"]),
        ({**_multi("right", right=_RIGHT), "pass_threshold": None}, "it has no pass_threshold", ["right"]),
        (_multi("right + score", right=_RIGHT, score=CRITERIA[10]), "a judge answers yes or no", ["right"]),
    ],
)
def test_a_formula_that_checks_cannot_say_is_named(
    multi: dict[str, Any], why: str, rules: list[str], tmp_path: Path
) -> None:
    path = written(tmp_path / "e.json", json.dumps({**EVAL, "testing_criteria": [multi]}))
    made = read("openai-evals-api", path)
    assert made.spec is not None
    assert [rule.id for rule in made.spec.rules] == rules
    assert why in next(note.why for note in made.notes if note.became == "changed")


_FORMULAS = st.recursive(
    st.sampled_from(["a", "b", "1", "0.25", "1e308", "-3", "0"]),
    lambda inner: st.tuples(inner, st.sampled_from([" + ", " - ", " * ", " / ", " ** "]), inner).map(
        lambda parts: f"({''.join(parts)})") | inner.map("min({0}, 1)".format) | inner.map("max({0})".format),
    max_leaves=8,
)  # fmt: skip


@given(_FORMULAS | st.text(max_size=20))
def test_any_formula_is_a_sum_or_unfit(formula: str) -> None:
    with contextlib.suppress(Unfit):
        for one in sums_of(formula):
            weights, share = one.shares(0.5)
            assert all(math.isfinite(number) for number in (*weights.values(), share))
    with contextlib.suppress(Unfit):
        assert all(name.isidentifier() for name in (*greatest_of(formula), *product_of(formula)))
