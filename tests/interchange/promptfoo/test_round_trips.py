"""What is exported to promptfoo and imported again is what it was, as far as promptfoo has a place for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.assertions import check, check_inputs
from promptpex.core.errors import CheckError, InputError
from promptpex.core.records import Case, Check, InputCheck, Message, Prompt, Rule, Spec, Suite
from promptpex.documents import yaml_reader
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo import config
from promptpex.interchange.promptfoo.files import ConfigFiles
from promptpex.interchange.promptfoo.providers import our_name, their_provider
from promptpex.interchange.promptfoo.read import read_config
from promptpex.interchange.reading.foreign_files import At

CASES = Path(__file__).resolve().parents[4] / "shared" / "assertions" / "cases.jsonl"
needs_cases = pytest.mark.skipif(not CASES.is_file(), reason="the recorded cases are not beside the repository")


def _test(case: dict[str, Any]) -> dict[str, Any]:
    asserts = case["assertion"] if isinstance(case["assertion"], list) else [case["assertion"]]
    test = {"vars": case["vars"], "assert": asserts, "options": {"disableVarExpansion": True}}
    return test if case["test_threshold"] is None else {**test, "threshold": case["test_threshold"]}


def _imported(case: dict[str, Any]) -> list[str] | None:
    """The statuses of the rules on the case's output; None where something was left out, or is for a judge."""
    log = Log()
    config = {"prompts": ["x"], "tests": [_test(case)]}
    made = read_config(ConfigFiles(Path(), log), config, At(Path("config.yaml"))).imported
    if log.notes or made.spec is None or made.suite is None or not all(rule.checks for rule in made.spec.rules):
        return None
    measured = {key: case[key] for key in ("cost", "latency_ms", "logprobs", "finish_reason")}
    (of_case,) = made.suite.cases
    statuses: list[str] = []
    for rule in made.spec.rules:
        assert not rule.when
        report = check(case["output"], rule.checks, vars=of_case.inputs, expected=of_case.expected, **measured)
        statuses.append(report.status)
    return statuses


@needs_cases
@pytest.mark.slow
def test_every_recorded_case_is_read_and_its_rules_decide_as_its_assertions() -> None:
    compared, refused, different = 0, 0, []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["tier"] != "combined" and not case["id"].endswith(("1", "2.not")):  # a third says the same
            continue
        try:
            statuses = _imported(case)
        except (InputError, CheckError):
            refused += 1
            assert case["expected"]["error"], case["id"]
            continue
        if statuses is None or case["expected"].get("error_stage") == "config":
            continue
        compared += 1
        measured = {key: case[key] for key in ("cost", "latency_ms", "logprobs", "finish_reason")}
        test = _test(case)
        whole = check(
            case["output"], test["assert"], vars=case["vars"], threshold=test.get("threshold"),
            expected=case["vars"].get("expected"), **measured,
        )  # fmt: skip
        ours = "fail" if "fail" in statuses else "unscored" if "unscored" in statuses else "pass"
        if ours != whole.status:
            different.append((case["id"], ours, whole.status))
    assert not different, different
    assert compared > 500
    assert refused < 50


_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: bool(text.strip()) and not text.startswith(("file://", "package:"))
)
_PLAIN = _WORDS.filter(lambda text: not any(mark in text for mark in ("{{", "{%", "{#")))
_IDS = st.text("abcdefgh-_.", min_size=1, max_size=5).filter(lambda text: text.strip("-") == text and bool(text))
_CHECKS = st.one_of(
    st.builds(lambda value, kind: Check(kind=kind, value=value), _PLAIN, st.sampled_from(
        ["contains", "not-contains", "icontains", "equals", "starts-with"])),
    st.builds(lambda low: Check(kind="word-count", value={"min": low}), st.integers(0, 9)),
    st.builds(lambda limit: Check(kind="levenshtein", value="abc", threshold=limit), st.integers(0, 9)),
    st.builds(lambda parts, weight: Check(kind="assert-set", asserts=tuple(parts), threshold=0.5, weight=weight),
              st.lists(st.builds(lambda value: Check(kind="contains", value=value, weight=2.0), _PLAIN), min_size=1,
                       max_size=3), st.sampled_from([1.0, 0.5])),
    st.builds(lambda: Check(kind="javascript", value="output.length > 2", transform="output.trim()")),
)  # fmt: skip


@st.composite
def _projects(draw: st.DrawFn) -> tuple[Prompt, Spec, Suite]:
    names = ("a", "b")
    values = draw(st.lists(st.tuples(_WORDS, _WORDS | st.integers(0, 99)), min_size=1, max_size=5, unique=True))
    ids = draw(st.lists(_IDS, min_size=len(values), max_size=len(values), unique=True))
    cases = tuple(
        Case(id=name, inputs=dict(zip(names, pair, strict=True)), expected=draw(st.none() | _PLAIN), origin="added")
        for name, pair in zip(ids, values, strict=True)
    )
    rules = []
    for name in draw(st.lists(_IDS, min_size=1, max_size=4, unique=True)):
        checks = tuple(draw(st.lists(_CHECKS, max_size=3)))
        when: tuple[InputCheck, ...] = ()
        if draw(st.booleans()):
            case = draw(st.sampled_from(cases))
            when = (InputCheck(variable="b", kind="equals", value=case.inputs["b"]),)
            when = () if "{" in str(case.inputs["b"]) else when
        partly = bool(checks) and draw(st.booleans())
        rules.append(Rule(id=name, rule=" ".join(draw(_PLAIN).split()), checks=checks, when=when, origin="added",
                          decides="partly" if partly else "wholly"))  # fmt: skip
    messages = (Message(role="system", content="Say {{a}}."), Message(role="user", content="{{b}}"))
    prompt = Prompt(name="p", messages=messages, variables=names, fingerprint="f")
    return prompt, Spec(intent="Says it.", rules=tuple(rules)), Suite(cases=cases)


def _again(text: str) -> Any:
    doc = yaml_reader.load(text, path="x.yaml", error=InputError, what="x")
    return read_config(ConfigFiles(Path(), Log()), doc.data, At(Path("x.yaml"), doc=doc)).imported


def _concerned(rule: Rule, cases: tuple[Case, ...]) -> frozenset[str]:
    return frozenset(case.id for case in cases if not check_inputs(rule.when, case.inputs))


def _kept(rule: Rule) -> tuple[object, ...]:
    checks = [json.dumps(check.to_dict(), sort_keys=True) for check in rule.checks]
    return (rule.rule, rule.decides, sorted(set(checks)))


@given(_projects())
def test_a_project_comes_back(project: tuple[Prompt, Spec, Suite]) -> None:
    prompt, spec, suite = project
    concerned = {rule.id: _concerned(rule, suite.cases) for rule in spec.rules}
    made = config(prompt, spec, suite, rubrics=True, concerned=concerned)
    back = _again(made.text)
    assert back.prompt.messages == prompt.messages
    there = [case for case in suite.cases if not any(f"case {case.id} is left out" in line for line in made.left_out)]
    assert [(case.id, case.inputs, case.expected) for case in back.suite.cases] == [
        (case.id, case.inputs, case.expected) for case in there
    ]
    rules = {rule.id: rule for rule in back.spec.rules} if back.spec is not None else {}
    left = {case.id for case in there}
    for rule in spec.rules:
        if concerned[rule.id] & left:
            assert _kept(rules[rule.id]) == _kept(rule)
            assert _concerned(rules[rule.id], back.suite.cases) == concerned[rule.id] & left
    assert len(rules) == sum(bool(concerned[rule.id] & left) for rule in spec.rules)


@given(st.sampled_from(["openai/a-b", "anthropic/claude-3-haiku-20240307", "ollama/m:1b", "gemini/x", "vertex_ai/x",
                        "bedrock/amazon.titan:0", "mistral/x", "groq/llama", "deepseek/deepseek-chat", "xai/grok",
                        "openrouter/a/b:free", "together_ai/a/b", "fireworks_ai/x", "cohere/x", "perplexity/x",
                        "cerebras/x", "github/gpt-4o", "azure/deployment", "replicate/a/b", "huggingface/a/b"]),
       st.sampled_from(["", "?temperature=0.5", "?max_tokens=7&top_p=0.5", "?seed=3"]))  # fmt: skip
def test_a_model_comes_back(name: str, parameters: str) -> None:
    left_out: list[str] = []
    theirs = their_provider(name + parameters, left_out)
    assert our_name(theirs["id"] if parameters else theirs) == name
    assert not left_out
