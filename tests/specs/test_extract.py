from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.errors import MalformedReply, NotAuthorised
from promptpex.core.events import Event, Notice
from promptpex.core.records import Request, Rule, VariableSpec
from promptpex.specs.extract import Extraction, add_inverses, extract, propose_rules
from tests.samples import asked, prompt, role_model


def author(request: Request) -> Any:
    stage, text = request.stage, asked(request)
    if stage == "intent":
        return {"intent": " Name a colour. "}
    if stage == "inputs":
        if "BETWEEN" in text:
            return {"constraints": ["The thing is at the place."]}
        name = "thing" if 'variable "thing"' in text else "place"
        return {"constraints": [f"A {name}.", "", f"A {name}."]}
    if stage == "rules":
        rules = [("One word.", "in one word"), ("one word", "again"), ("In capitals.", "")]
        return {"rules": [{"rule": rule, "source": source} for rule, source in rules]}
    return {"inverse": "Several words." if "One word." in text else "In small letters."}


async def test_the_stages_give_exactly_the_spec_of_the_replies() -> None:
    voice, client = role_model(author)
    spec = await extract(voice, prompt(), spec_for="prompt.md")
    assert spec.intent == "Name a colour."
    assert spec.prompt_fingerprint == prompt().fingerprint
    assert spec.inputs == {
        "thing": VariableSpec(constraints=("A thing.",)),
        "place": VariableSpec(constraints=("A place.",)),
        "*": VariableSpec(constraints=("The thing is at the place.",)),
    }
    assert spec.rules == (
        Rule(id="r1", rule="One word.", inverse="Several words.", source="in one word"),
        Rule(id="r2", rule="In capitals.", inverse="In small letters."),
    )
    assert [request.stage for request in client.requests].count("inverse") == 2
    assert all(request.template for request in client.requests)


async def test_an_inverse_that_fails_is_left_out_with_a_notice() -> None:
    heard: list[Event] = []

    def reply(request: Request) -> Any:
        return "no json at all" if request.stage == "inverse" and "capitals" in asked(request) else author(request)

    voice, _ = role_model(reply)
    spec = await extract(voice, prompt(), spec_for="prompt.md", emit=heard.append)
    assert [rule.inverse for rule in spec.rules] == ["Several words.", None]
    assert any(isinstance(event, Notice) and "malformed" in event.message for event in heard)


async def test_an_author_without_any_rule_is_an_error() -> None:
    voice, _ = role_model(lambda request: {"rules": []} if request.stage == "rules" else author(request))
    with pytest.raises(MalformedReply):
        await extract(voice, prompt(), spec_for="prompt.md")


async def test_a_model_that_may_not_be_asked_ends_the_extraction() -> None:
    voice, client = role_model(lambda request: NotAuthorised("no key", model="fake/author"))
    with pytest.raises(NotAuthorised):
        await extract(voice, prompt(), spec_for="prompt.md")
    assert len(client.requests) == 1


async def test_new_rules_take_free_ids_and_repeat_no_known_rule() -> None:
    voice, client = role_model(author)
    known = [Rule(id="r1", rule="one  word"), Rule(id="r3", rule="Something else.")]
    rules = await propose_rules(voice, "text", "intent", known=known, options=Extraction(max_rules=3))
    assert [(rule.id, rule.rule) for rule in rules] == [("r2", "In capitals.")]
    assert "Something else." in asked(client.requests[0])


async def test_rules_that_have_an_inverse_are_not_asked_about() -> None:
    voice, client = role_model(author)
    rules = [Rule(id="r1", rule="One word.", inverse="Many."), Rule(id="r2", rule="In capitals.")]
    done = await add_inverses(voice, "intent", rules)
    assert [rule.inverse for rule in done] == ["Many.", "In small letters."]
    assert len(client.requests) == 1


async def test_the_owners_instructions_reach_their_stage_only() -> None:
    voice, client = role_model(author)
    await extract(voice, prompt(), spec_for="p", options=Extraction(instructions={"rules": "MIND THE GAP"}))
    assert [request.stage for request in client.requests if "MIND THE GAP" in asked(request)] == ["rules"]


@pytest.mark.parametrize(("most", "full"), [(3, True), (4, False)])
async def test_a_list_of_rules_that_is_full_is_said(most: int, full: bool) -> None:
    heard: list[Event] = []
    voice, _ = role_model(author)
    await propose_rules(voice, "text", "intent", options=Extraction(max_rules=most), emit=heard.append)
    notices = [event.message for event in heard if isinstance(event, Notice)]
    assert any("as many rules as it may (3)" in message and "--max-rules" in message for message in notices) is full
