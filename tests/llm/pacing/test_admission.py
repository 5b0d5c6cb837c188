from __future__ import annotations

import asyncio

from promptpex.llm.fake import FakeClient
from promptpex.llm.pacing.admission import LEAST, AheadClient
from tests.llm.questions import request


async def test_so_many_are_on_their_way_and_all_arrive() -> None:
    inner = FakeClient(lambda asked: asked.messages[0].content, latency_s=0.001)
    client = AheadClient(inner, 20)
    answers = await asyncio.gather(*(client.complete(request(str(n))) for n in range(200)))
    assert [answer.text for answer in answers] == [str(n) for n in range(200)]
    assert inner.max_in_flight == 40
    assert [asked.messages[0].content for asked in inner.requests] == [str(n) for n in range(200)]


async def test_models_do_not_wait_for_each_other() -> None:
    inner = FakeClient(lambda asked: "x", latency_s=0.01)
    client = AheadClient(inner, 1)
    await asyncio.gather(*(client.complete(request(str(n), model=model)) for n in range(100) for model in "ab"))
    assert inner.max_in_flight == 2 * LEAST
    await client.close()
    assert inner.closed
