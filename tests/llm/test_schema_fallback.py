from __future__ import annotations

import pytest

from promptpex.core.errors import BadRequest
from promptpex.core.events import Event, Notice
from promptpex.core.records import Request
from promptpex.llm.fake import Answer, FakeClient
from promptpex.llm.structured import SchemaFallback
from tests.llm.questions import request

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


def refusing(asked: Request) -> Answer:
    if asked.reply_schema is not None:
        return BadRequest("m: 'response_format' of type 'json_schema' is not supported", model="m")
    return '{"a": 1}'


async def test_a_refused_schema_is_put_in_words_and_the_model_remembered() -> None:
    inner, heard = FakeClient(refusing), list[Event]()
    client = SchemaFallback(inner, heard.append)
    for text in ("one", "two"):
        assert (await client.complete(request(text, reply_schema=SCHEMA))).text == '{"a": 1}'
    assert [asked.reply_schema is None for asked in inner.requests] == [False, True, True]
    assert '"additionalProperties": false' in inner.requests[2].messages[-1].content
    assert [type(event) for event in heard] == [Notice]


def too_strict(asked: Request) -> Answer:
    if asked.reply_schema is not None and asked.strict:
        return BadRequest("m: Invalid schema for response_format 'rules': 'pattern' is not permitted", model="m")
    return '{"a": 1}'


async def test_a_schema_that_is_refused_as_a_strict_one_is_sent_as_a_plain_one() -> None:
    inner = FakeClient(too_strict)
    client = SchemaFallback(inner)
    first = request("one", reply_schema=SCHEMA)
    for asked in (first, request("two", reply_schema=SCHEMA)):
        assert (await client.complete(asked)).text == '{"a": 1}'
    assert [asked.strict for asked in inner.requests] == [True, False, False]
    assert [asked.reply_schema for asked in inner.requests] == [SCHEMA] * 3
    assert inner.requests[1].id == first.id


async def test_other_models_keep_their_schema() -> None:
    inner = FakeClient(lambda asked: refusing(asked) if asked.model == "m" else '{"a": 1}')
    client = SchemaFallback(inner)
    await client.complete(request(reply_schema=SCHEMA))
    await client.complete(request(reply_schema=SCHEMA, model="n"))
    assert inner.requests[-1].reply_schema == SCHEMA


async def test_another_bad_request_is_not_taken_for_a_refused_schema() -> None:
    inner = FakeClient([BadRequest("m: temperature must be at most 2", model="m")])
    with pytest.raises(BadRequest):
        await SchemaFallback(inner).complete(request(reply_schema=SCHEMA))
    assert len(inner.requests) == 1


async def test_a_model_that_ignores_its_schema_is_given_it_in_words_as_well() -> None:
    inner = FakeClient(["The answer is one.", '{"a": 1}', '{"a": 1}'])
    client = SchemaFallback(inner)
    assert (await client.complete(request("one", reply_schema=SCHEMA))).text == "The answer is one."
    await client.complete(request("two", reply_schema=SCHEMA))
    assert inner.requests[0].messages[-1].content == "one"
    assert inner.requests[1].messages[-1].content.startswith("two\n\n")
    assert inner.requests[1].reply_schema == SCHEMA
