from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.errors import NotAuthorised
from promptpex.core.events import Event, Notice
from promptpex.core.records import Request, Rule, VariableSpec
from promptpex.promptfile import parse
from promptpex.specs.extract import declared, extract, unread_declarations
from promptpex.specs.propose_rules import Extraction
from tests.samples import asked, prompt, role_model

DECLARED = {"thing": {"type": "enum", "values": ["a", "b"], "description": "What is coloured."}}


def author(request: Request) -> Any:
    if request.stage == "intent":
        return {"intent": "Asked for alone."}
    if request.stage == "inputs":
        inputs = [{"name": name, "constraints": [f"A {name}.", "", f"a {name}"]} for name in ("thing", "place")]
        return {"intent": " Name a colour. ", "inputs": inputs, "together": ["The thing is at the place."]}
    if request.stage == "rules":
        first = {"source": "in one word", "rule": "One word.", "needs": "output", "inverse": "Several words."}
        second = {"source": "", "rule": "If it is night, in capitals.", "needs": "input", "inverse": "Small at night."}
        return {"rules": [first, {**first, "rule": "one word"}, second], "more": False}
    return {"inverse": "Asked for apart."}


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
        Rule(id="r2", rule="If it is night, in capitals.", needs="input", inverse="Small at night."),
    )
    assert [request.stage for request in client.requests] == ["inputs", "rules"]
    assert all(request.template for request in client.requests)


async def test_the_stages_begin_alike_so_that_providers_find_the_prompt_in_their_cache() -> None:
    voice, client = role_model(author)
    await extract(voice, prompt(), spec_for="prompt.md")
    await extract(voice, prompt(), spec_for="prompt.md", options=Extraction(samples=("x",)))
    begins = {asked(request).partition(prompt().text())[0] for request in client.requests}
    assert len(client.requests) == 4
    assert len(begins) == 1


async def test_a_model_that_may_not_be_asked_ends_the_extraction() -> None:
    voice, client = role_model(lambda request: NotAuthorised("no key", model="fake/author"))
    with pytest.raises(NotAuthorised):
        await extract(voice, prompt(), spec_for="prompt.md")
    assert len(client.requests) == 1


async def test_the_owners_instructions_reach_their_stage_only() -> None:
    voice, client = role_model(author)
    await extract(voice, prompt(), spec_for="p", options=Extraction(instructions={"rules": "MIND THE GAP"}))
    assert [request.stage for request in client.requests if "MIND THE GAP" in asked(request)] == ["rules"]


async def test_what_the_front_matter_says_reaches_the_author() -> None:
    voice, client = role_model(author)
    declared = prompt().replace(meta={"description": "For  painters.", "inputs": DECLARED})
    spec = await extract(voice, declared, spec_for="p", options=Extraction(samples=("thing: a moor hen", "thing: b")))
    by_stage = {request.stage: asked(request) for request in client.requests}
    assert all("For painters." in text for text in by_stage.values())
    assert 'thing: What is coloured. {"type": "enum", "values": ["a", "b"]}' in by_stage["inputs"]
    assert "thing: a moor hen\n\nthing: b" in by_stage["inputs"]
    assert spec.inputs["thing"].values == ("a", "b")
    quiet, client = role_model(author)
    await extract(quiet, prompt(), spec_for="p")
    assert not any("describes it" in text or "Real inputs" in text for text in map(asked, client.requests))


@pytest.mark.parametrize("left_out", ["thing", "place"])
async def test_a_variable_that_a_reply_leaves_out_is_asked_about_by_itself(left_out: str) -> None:
    def reply(request: Request) -> Any:
        if request.stage != "inputs":
            return author(request)
        if '"' + left_out + '"' in asked(request):
            return {"constraints": ["Asked alone."]}
        inputs = [item for item in author(request)["inputs"] if item["name"] != left_out]
        return {"inputs": [*inputs, {"name": "stranger", "constraints": []}], "together": []}

    voice, client = role_model(reply)
    spec = await extract(voice, prompt(), spec_for="p")
    assert spec.inputs[left_out].constraints == ("Asked alone.",)
    assert set(spec.inputs) == {"thing", "place"}
    assert [request.stage for request in client.requests].count("inputs") == 2


async def test_inputs_that_cannot_be_read_together_are_asked_about_one_by_one() -> None:
    heard: list[Event] = []

    def reply(request: Request) -> Any:
        if request.stage != "inputs":
            return author(request)
        if "BETWEEN the inputs" in asked(request):
            return {"constraints": ["The thing is at the place."]}
        alone = [name for name in ("thing", "place") if f'"{name}"' in asked(request)]
        return {"constraints": [f"A {alone[0]}."]} if alone else "no json at all"

    voice, _ = role_model(reply)
    spec = await extract(voice, prompt(), spec_for="p", emit=heard.append)
    assert [spec.inputs[name].constraints for name in ("thing", "place", "*")] == [
        ("A thing.",),
        ("A place.",),
        ("The thing is at the place.",),
    ]
    assert any(isinstance(event, Notice) and "malformed" in event.message for event in heard)


async def test_what_is_also_valid_comes_last_in_one_sentence() -> None:
    lines = ["Also valid: one word.", "A thing.", "also valid: another language.", "a thing"]
    voice, client = role_model(lambda request: {"constraints": lines} if request.stage == "inputs" else author(request))
    spec = await extract(voice, prompt(variables=("thing",)), spec_for="p")
    assert spec.inputs == {"thing": VariableSpec(constraints=("A thing.", "Also valid: one word. another language."))}
    assert [request.stage for request in client.requests].count("inputs") == 1


@pytest.mark.parametrize("spoilt", [{"intent": None}, {"intent": "  "}, {"intent": ["x"]}, {"inputs": "x"}])
async def test_an_intent_that_does_not_come_with_the_inputs_is_asked_for_alone(spoilt: dict[str, Any]) -> None:
    def reply(request: Request) -> Any:
        return {**author(request), **spoilt} if request.stage == "inputs" else author(request)

    voice, client = role_model(reply)
    spec = await extract(voice, prompt(), spec_for="p")
    assert spec.intent == "Asked for alone."
    assert [request.stage for request in client.requests].count("intent") == 1


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ("{type: integer}", "integer"),
        ("{kind: integer}", "integer"),
        ("{kind: string, enumValues: [a, b]}", "enum"),
        ("{kind: array}", "json"),
        ("{kind: thread}", "text"),
        ("Jane", "text"),
    ],
)
def test_a_type_is_called_type_or_kind(about: str, expected: str) -> None:
    prompt = parse(f"---\ninputs:\n  q: {about}\n---\nsystem:\n{{{{q}}}}\n", "p.prompty")
    assert declared(prompt, "q").type == expected


@pytest.mark.parametrize(
    ("about", "sentences"),
    [
        ("{type: strnig}", ["the input 'q' is taken for a text: there is no type 'strnig'; did you mean 'string'?"]),
        ("{maxLenght: 4}", ["the input 'q': nothing reads the key 'maxLenght'; did you mean 'maxLength'?"]),
        ("{kind: thread, sample: Jane, required: true, description: Who, enum: [a]}", []),
        ("Jane", []),
    ],
)
def test_a_slip_in_a_declaration_is_named_and_other_tools_keys_are_not(about: str, sentences: list[str]) -> None:
    prompt = parse(f"---\ninputs:\n  q: {about}\n---\nsystem:\n{{{{q}}}}\n", "p.prompty")
    unread = unread_declarations(prompt)
    assert len(unread) == len(sentences)
    assert all(sentence.startswith(begin) for sentence, begin in zip(unread, sentences, strict=True)), unread
