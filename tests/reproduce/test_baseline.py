from __future__ import annotations

from typing import Any

import pytest

from benchmarks.reproduce.baseline import baseline
from promptpex.core.errors import MalformedReply
from promptpex.core.events import Event, Notice
from promptpex.core.records import Suite, VariableSpec
from tests.samples import asked, prompt, role_model, spec


async def made(things: list[str], count: int, **options: Any) -> tuple[Suite, Any]:
    author, client = role_model(lambda request: {"inputs": [{"thing": thing, "place": "1"} for thing in things]})
    return await baseline(author, prompt(), suite_for="prompt.md", count=count, **options), client


async def test_one_request_gives_a_suite_without_rules() -> None:
    suite, client = await made(["a", "b", "c"], 3)
    assert [case.id for case in suite.cases] == ["b1", "b2", "b3"]
    assert all(case.rule is None and case.origin == "generated" and case.inputs_fingerprint for case in suite.cases)
    assert len(client.requests) == 1
    assert "write 3 inputs" in asked(client.requests[0])


async def test_the_author_sees_the_prompt_and_none_of_the_spec() -> None:
    _, client = await made(["a"], 1, spec=spec())
    text = asked(client.requests[0])
    assert prompt().text() in text
    assert spec().intent not in text
    assert not any(rule.rule in text for rule in spec().rules)


async def test_repetitions_blanks_and_surplus_are_dropped_and_a_lack_is_reported() -> None:
    heard: list[Event] = []
    suite, _ = await made(["a", "a", "b"], 4, emit=heard.append)
    assert [case.inputs["thing"] for case in suite.cases] == ["a", "b"]
    assert any(isinstance(event, Notice) and "2 of 4" in event.message for event in heard)
    suite, _ = await made(["a", "b", "c"], 2)
    assert len(suite.cases) == 2


async def test_there_is_room_for_a_long_list_and_values_are_typed() -> None:
    of = spec().replace(inputs={"place": VariableSpec(type="integer")})
    suite, client = await made([str(n) for n in range(40)], 40, spec=of)
    assert client.requests[0].params.max_tokens == 8000
    assert len(suite.cases) == 40
    assert suite.cases[0].inputs["place"] == 1


async def test_an_unusable_reply_and_a_silly_count_are_errors() -> None:
    author, _ = role_model(lambda request: "no")
    with pytest.raises(MalformedReply):
        await baseline(author, prompt(), suite_for="p", count=2)
    with pytest.raises(ValueError, match="1 to 200"):
        await baseline(author, prompt(), suite_for="p", count=0)
