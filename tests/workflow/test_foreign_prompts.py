"""PromptPex's and GitHub's prompt files run where they are: what they say is sent, tested and announced, and
``validate`` says the same before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Request, Run, TokenLogprob
from promptpex.llm.fake import FakeClient
from promptpex.report import runs
from promptpex.workflow.estimate import number_of_cases
from promptpex.workflow.pipeline import run
from promptpex.workflow.project_files import files_of, read_prompt
from promptpex.workflow.session import open_session
from promptpex.workflow.validation.validate import validate
from tests.samples import asked, colour_author, written_cases

PROMPTPEX = """---
name: colours
description: Names colours.
model:
  api: chat
  configuration: {type: azure_openai, azure_deployment: x}
  parameters: {temperature: 0.3, max_tokens: 50, top_p: 0.5, logit_bias: {a: 1}}
inputs:
  thing: "a ripe tomato"
  tone: {type: string, description: How polite the answer is.}
scenarios:
  - name: polite
    instructions: The thing is expensive.
    parameters: {tone: polite}
instructions:
  inputSpec: KEEP-INPUTS
  outputRules: KEEP-RULES
testSamples:
  - thing: a fire engine
    tone: dry
---
system:
Name the colour of {{thing}} in one word, {{tone}}.
"""

GITHUB = """name: Colours
description: Names colours.
model: openai/gpt-4o-mini
modelParameters:
  temperature: 0.5
messages:
  - role: system
    content: Name the colour of the thing in one word.
  - role: user
    content: "{{input}}"
testData:
  - input: a lemon
    expected: YELLOW
  - input: snow
  - expected: lost
evaluators:
  - name: capital
    string: {startsWith: R}
  - name: alike
    uses: github/similarity
"""


def reply(request: Request) -> Any:
    if request.stage == "output":
        return "RED"
    if request.stage == "judge":
        return json.dumps({"r1": {"reason": "one word", "verdict": "pass"}})
    if request.stage == "cases":
        both = "tone" in asked(request)
        return json.dumps(
            written_cases(request, lambda aim, n: {"thing": f"{aim} {n}"} if both else {"input": f"{aim} {n}"})
        )
    return json.dumps(colour_author(request))


async def execute(path: Path, answer: Any = reply, **more: Any) -> tuple[Run, FakeClient, list[str]]:
    folder, events = path.parent, list[Event]()
    given = {"models": ["fake/a"], "author": "fake/author", "judge": ["fake/judge"], "checks": False, **more}
    given |= {"store": str(folder / "store.db"), "results": str(folder / "results")}
    fake = FakeClient(answer)
    async with open_session(load(given, start=folder, env={}), provider=fake, emit=events.append) as session:
        _, where = await run(session, files_of(path))
        assert where is not None
    return runs.read(where), fake, [event.message for event in events if isinstance(event, Notice)]


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def of_stage(fake: FakeClient, *stages: str) -> list[Request]:
    return [request for request in fake.requests if request.stage in stages]


async def test_a_file_of_promptpex_is_run_as_it_says(tmp_path: Path) -> None:
    finished, fake, notices = await execute(written(tmp_path, "colours.prompty", PROMPTPEX))
    params = {(one.params.temperature, one.params.max_tokens, one.params.top_p) for one in of_stage(fake, "output")}
    assert params == {(0.3, 50, 0.5)}
    assert {one.params.temperature for one in of_stage(fake, "cases", "rules")} == {1.0}
    assert all("KEEP-RULES" in asked(one) for one in of_stage(fake, "rules"))
    assert all("KEEP-INPUTS" in asked(one) for one in of_stage(fake, "inputs"))
    cases = asked(of_stage(fake, "cases")[0])
    for words in ("The thing is expensive.", "a fire engine", "a ripe tomato", "How polite the answer is."):
        assert words in cases
    assert {case.inputs["tone"] for case in finished.suite.cases} == {"polite"}
    assert finished.manifest.settings["temperature"] == 0.3
    assert finished.manifest.origins["max_tokens"] == "front matter"
    assert "not sent, since promptpex has no such model parameter: logit_bias" in notices


async def test_the_model_of_the_front_matter_answers_where_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_API_KEY", "g" * 20)
    finished, fake, notices = await execute(written(tmp_path, "colours.prompt.yml", GITHUB), models=None)
    assert {one.model for one in of_stage(fake, "output")} == {"github/gpt-4o-mini"}
    assert finished.manifest.origins["models"] == "front matter"
    assert "model under test: github/gpt-4o-mini (from the front matter of colours.prompt.yml)" in notices


async def test_settings_win_over_the_front_matter_and_say_so(tmp_path: Path) -> None:
    path = written(tmp_path, "colours.prompty", PROMPTPEX)
    finished, fake, notices = await execute(path, temperature=0.0, models=["fake/a", "fake/b?top_p=0.9"])
    asked_of = {(one.model, one.params.temperature, one.params.top_p) for one in of_stage(fake, "output")}
    assert asked_of == {("fake/a", 0.0, 0.5), ("fake/b", 0.0, 0.9)}
    assert "temperature 0.3 of the prompt's front matter is not used: the settings say 0.0" in notices
    assert finished.manifest.settings["temperature"] == 0.0


async def test_githubs_test_data_are_cases_and_its_evaluators_rules(tmp_path: Path) -> None:
    path = written(tmp_path, "colours.prompt.yml", GITHUB)
    async with open_session(
        load({"models": ["fake/a"], "author": "fake/author"}, start=tmp_path, env={}), provider=FakeClient(reply)
    ) as session:
        guessed = number_of_cases(session, read_prompt(session, path), None, None)
    finished, fake, notices = await execute(path)
    assert [(rule.id, [check.kind for check in rule.checks]) for rule in finished.spec.rules] == [
        ("r1", []),
        ("capital", ["regex"]),
    ]
    own = [case for case in finished.suite.cases if case.origin == "added"]
    assert [(case.inputs, case.expected) for case in own] == [
        ({"input": "a lemon"}, "YELLOW"),
        ({"input": "snow"}, None),
    ]
    assert {one.params.temperature for one in of_stage(fake, "output")} == {0.5}
    assert "evaluators[1] of the prompt file: github/similarity exists on GitHub only" in notices
    assert guessed > len(own)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PROMPTPEX.replace("outputRules", "outputRulez"), "there is no stage 'outputRulez'"),
        (PROMPTPEX.replace("{tone: polite}", "{town: x}"), "the prompt has no variable 'town'"),
        (PROMPTPEX.replace("parameters: {tone", "settings: {tone"), "unknown key 'settings'"),
    ],
)
async def test_validate_finds_the_error_that_a_run_ends_with(tmp_path: Path, text: str, words: str) -> None:
    from promptpex.core.errors import ConfigError

    path = written(tmp_path, "colours.prompty", text)
    errors = [one.sentence() for one in validate([path]) if one.severity == "error"]
    assert len(errors) == 1
    assert words in errors[0]
    with pytest.raises(ConfigError) as caught:
        await execute(path)
    assert caught.value.message == errors[0]


SPEC = "rules:\n- {id: sure, rule: The output is certain., checks: [{kind: perplexity, threshold: 2}]}\n"
CASES = "cases:\n- {id: a, inputs: {thing: snow, tone: dry}}\n"


@pytest.mark.parametrize("known", [True, False])
async def test_log_probabilities_are_asked_for_where_a_check_needs_them(tmp_path: Path, known: bool) -> None:
    path = written(tmp_path, "colours.prompty", PROMPTPEX)
    written(tmp_path, "colours.spec.yaml", SPEC)
    written(tmp_path, "colours.cases.yaml", CASES)
    tokens = (TokenLogprob(token="RED", logprob=-0.1),) if known else None

    def answer(request: Request) -> Any:
        return Completion(text="RED", finish_reason="stop", logprobs=tokens)

    finished, fake, notices = await execute(path, answer)
    assert [one.params.logprobs for one in fake.requests] == [True]
    verdict = finished.verdicts[0]
    warned = [notice for notice in notices if "log-probabilities" in notice]
    if known:
        assert (verdict.status, warned) == ("pass", [])
    else:
        assert verdict.unscored is not None
        assert warned == ["fake/a gives no log-probabilities with 1 answer: perplexity is unscored there (sure)"]
