"""A judge mode is one class: a mode of this test alone goes from the settings through the session into the report."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from promptpex.config import load
from promptpex.core.errors import ConfigError
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Request, Rule, Run, Spec, Suite
from promptpex.judging import modes
from promptpex.judging.judge_mode import JudgeFinding, JudgeMode, Material
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import parse
from promptpex.report import summarise
from promptpex.report.html_page import html
from promptpex.workflow.estimate import estimate
from promptpex.workflow.execution import run_records
from promptpex.workflow.session import open_session

PROMPT = parse("Name the capital of {{country}}.", "p.md")
SPEC = Spec(prompt="p.md", intent="Name a capital.", rules=(Rule(id="r1", rule="It is a capital."),))
SUITE = Suite(prompt="p.md", cases=(Case(id="c1", rule="r1", inputs={"country": "Atlantis"}),))


class Readers(BaseModel):
    """Who would understand the answer."""

    child: bool
    adult: bool


class ReaderMode(JudgeMode):
    """Whether a child and an adult understand the answer: two rules of its own, one request."""

    name = "readers"
    own_rules = (Rule(id="child", rule="A child understands it."), Rule(id="adult", rule="An adult understands it."))

    @property
    def template(self) -> str:
        return "judging/prompt"

    def rules(self, spec: Spec, *, all_rules: bool) -> tuple[Rule, ...]:
        return self.own_rules

    def reply_type(self, rules: tuple[Rule, ...]) -> type[BaseModel]:
        return Readers

    def shows(self, material: Material) -> dict[str, Any]:
        return {"prompt": " ".join(rule.rule for rule in material.rules) + material.inputs}

    def findings(self, reply: BaseModel, rules: tuple[Rule, ...]) -> Mapping[str, JudgeFinding]:
        return {
            rule.id: JudgeFinding("pass" if getattr(reply, rule.id) else "fail", f"the {rule.id} was asked")
            for rule in rules
        }

    def typical_tokens(self, prompt: int) -> int:
        return 1234


@pytest.fixture(autouse=True)
def mode() -> Iterator[None]:
    modes.register(ReaderMode())
    yield
    modes.unregister("readers")


def answer(request: Request) -> str:
    return "Poseidonis" if request.model == "fake/m" else json.dumps({"child": False, "adult": True})


def resolved(folder: Path, **settings: Any) -> Any:
    asked = {"models": ["fake/m"], "judge": ["fake/j"], "judge_mode": "readers", "store": str(folder / "s.db")}
    return load({**asked, **settings}, start=folder, env={})


async def run(folder: Path, client: FakeClient, **settings: Any) -> Run:
    async with open_session(resolved(folder, **settings), provider=client) as session:
        return await run_records.execute(session, await run_records.begin(session, PROMPT, SPEC, SUITE))


async def test_its_verdicts_and_rules_reach_the_report(tmp_path: Path) -> None:
    client = FakeClient(answer)
    done = await run(tmp_path, client, judge_sees_input=True)
    assert [(v.rule, v.status, v.reason, v.counts) for v in done.verdicts] == [
        ("child", "fail", "the child was asked", True), ("adult", "pass", "the adult was asked", True),
    ]  # fmt: skip
    assert "Atlantis" in str(client.requests[-1].messages)
    summary = summarise(done)
    assert list(summary.rules["rule"]) == ["child", "adult"]
    assert [(example.rule, example.text) for example in summary.examples] == [("child", "A child understands it.")]
    page = html(summary)
    assert page.index("A child understands it.") < page.index("It is a capital.")


async def test_whoever_wants_the_input_shown_is_warned_where_a_mode_never_shows_it(tmp_path: Path) -> None:
    class Blind(ReaderMode):
        shows_inputs = False

    modes.register(Blind())
    client, events = FakeClient(answer), list[Event]()
    async with open_session(resolved(tmp_path, judge_sees_input=True), provider=client, emit=events.append) as session:
        await run_records.execute(session, await run_records.begin(session, PROMPT, SPEC, SUITE))
    assert "Atlantis" not in str(client.requests[-1].messages)
    assert any(isinstance(event, Notice) and "never shows the input" in event.message for event in events)


async def test_an_output_without_an_answer_is_unscored_under_its_rules(tmp_path: Path) -> None:
    done = await run(tmp_path, FakeClient(lambda request: ""))
    assert {(v.rule, v.status) for v in done.verdicts} == {
        ("r1", "unscored"), ("child", "unscored"), ("adult", "unscored"),
    }  # fmt: skip


async def test_a_judge_that_cannot_be_read_leaves_its_rules_unscored(tmp_path: Path) -> None:
    done = await run(tmp_path, FakeClient(lambda request: "Poseidonis"))
    assert [(v.rule, v.unscored) for v in done.verdicts] == [("child", "judge-malformed"), ("adult", "judge-malformed")]


async def test_it_has_its_own_price_before_there_is_a_spec(tmp_path: Path) -> None:
    async with open_session(resolved(tmp_path, author="fake/a"), provider=FakeClient(answer)) as session:
        (line,) = [line for line in await estimate(session, PROMPT, None, None) if line.stage == "judge"]
    assert line.tokens_in > 1234 * line.calls


def test_a_mode_that_there_is_not_is_named_with_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "promptpex.toml").write_text("judge_mode = 'both'\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"'both'.* rules, prompt, readers") as failure:
        load({}, start=tmp_path, env={})
    assert (failure.value.line, "judge_mode" in str(failure.value)) == (1, True)


@pytest.mark.parametrize("name", modes.names())
def test_every_mode_answers_for_the_rules_that_it_names(name: str) -> None:
    mode = modes.mode(name)
    rules = mode.rules(SPEC, all_rules=True)
    schema = mode.reply_type(rules).model_json_schema()
    assert schema["properties"]
    assert mode.shows(Material(PROMPT, SPEC, rules))
    assert {rule.id for rule in mode.own_rules} <= set(modes.own_rules())
