from __future__ import annotations

import asyncio

import pytest

from promptpex.core.errors import NotRecorded, RateLimited
from promptpex.core.records import Completion, Request
from promptpex.llm.fake import FakeClient
from tests.llm.questions import request


async def test_a_function_answers_plainly_or_asynchronously() -> None:
    async def later(asked: Request) -> str:
        await asyncio.sleep(0)
        return asked.messages[0].content.upper()

    assert (await FakeClient(lambda asked: asked.model).complete(request())).text == "m"
    assert (await FakeClient(later).complete(request("hi"))).text == "HI"


async def test_a_sequence_is_used_up_in_order() -> None:
    client = FakeClient(["one", Completion(text="two", finish_reason="length"), RateLimited("slow down")])
    assert (await client.complete(request())).text == "one"
    assert (await client.complete(request())).finish_reason == "length"
    with pytest.raises(RateLimited):
        await client.complete(request())
    with pytest.raises(NotRecorded):
        await client.complete(request())
    assert len(client.requests) == 4


async def test_a_mapping_answers_by_what_occurs_in_the_messages() -> None:
    client = FakeClient({"sky": "blue", "grass": "green"})
    assert (await client.complete(request("What colour has grass?"))).text == "green"
    with pytest.raises(NotRecorded):
        await client.complete(request("What colour has snow?"))


def test_one_text_is_no_sequence_of_answers() -> None:
    with pytest.raises(TypeError):
        FakeClient("yes")
