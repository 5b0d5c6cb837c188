from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from promptpex.errors import EmptyReply, Filtered, MalformedReply, RateLimited, TruncatedReply
from promptpex.llm.cache import CachedClient
from promptpex.llm.fake import Answer, FakeClient
from promptpex.llm.structured import Reply, Structured, ask
from promptpex.records import Completion
from promptpex.store import ReplyStore
from tests.llm.questions import request


class Verdict(BaseModel):
    verdict: Literal["pass", "fail"]
    reason: str


class Cases(BaseModel):
    cases: list[str]


GOOD = '{"verdict": "pass", "reason": "it holds"}'


async def verdict(*answers: Answer) -> Reply[Verdict]:
    return await Structured(FakeClient(list(answers))).ask(request(), Verdict)


async def test_a_good_reply_takes_one_turn() -> None:
    client = FakeClient([GOOD])
    reply = await ask(client, request(), Verdict)
    assert reply.value == Verdict(verdict="pass", reason="it holds")
    assert (reply.turns, reply.mended, reply.repaired) == (1, False, False)
    assert client.requests[0].reply_schema is not None
    assert reply.request == client.requests[0].id


async def test_fences_thinking_and_trailing_commas_are_no_second_turn() -> None:
    reply = await verdict('<think>hm</think>\n```json\n{"verdict": "fail", "reason": "x",}\n```')
    assert reply.value.verdict == "fail"
    assert reply.turns == 1
    assert reply.mended


async def test_the_repair_turn_shows_the_reply_and_what_is_wrong() -> None:
    client = FakeClient(['{"verdict": "maybe", "reason": "x"}', GOOD])
    reply = await ask(client, request(), Verdict)
    assert reply.turns == 2
    assert reply.repaired
    assistant, user = client.requests[1].messages[-2:]
    assert (assistant.role, user.role) == ("assistant", "user")
    assert assistant.content == '{"verdict": "maybe", "reason": "x"}'
    assert "verdict" in user.content
    assert json.dumps(client.requests[1].reply_schema) in user.content


@pytest.mark.parametrize(
    "second", ["still no json", "", '{"verdict": "pass"}', Completion(text="x", finish_reason="length")]
)
async def test_after_the_repair_turn_it_is_an_error_that_keeps_the_reply(second: Answer) -> None:
    with pytest.raises(MalformedReply) as caught:
        await verdict("The verdict is: pass", second)
    assert caught.value.reply == "The verdict is: pass"


async def test_an_error_on_the_way_of_the_repair_turn_is_that_error() -> None:
    with pytest.raises(RateLimited):
        await verdict("no json", RateLimited("slow down", model="m"))


async def test_two_different_verdicts_are_never_one() -> None:
    with pytest.raises(MalformedReply):
        await verdict(GOOD + " or " + GOOD.replace("pass", "fail"), "pass")


async def test_what_is_no_answer_is_told_by_the_completions_fields() -> None:
    with pytest.raises(EmptyReply):
        await verdict("  ")
    with pytest.raises(Filtered):
        await verdict(Completion(text="", finish_reason="content_filter"))
    with pytest.raises(Filtered):
        await verdict(Completion(text=GOOD, refusal="no"))
    with pytest.raises(TruncatedReply) as caught:
        await verdict(Completion(text='{"verdict": "pass", "rea', finish_reason="length"))
    assert caught.value.reply == '{"verdict": "pass", "rea'


async def test_a_reply_that_ends_at_the_limit_counts_only_when_it_is_whole() -> None:
    assert (await verdict(Completion(text=GOOD, finish_reason="length"))).value.verdict == "pass"
    with pytest.raises(TruncatedReply):
        await verdict(Completion(text='{"verdict": "pass", "reason": "x",}', finish_reason="length"))


async def test_a_bare_array_is_taken_where_one_array_was_asked_for() -> None:
    reply = await ask(FakeClient(['["a", "b"]']), request(), Cases)
    assert reply.value.cases == ["a", "b"]
    assert reply.mended


@given(text=st.text(max_size=200))
async def test_any_text_gives_a_verdict_that_stands_in_it_or_an_error(text: str) -> None:
    try:
        reply = await verdict(text, text)
    except (MalformedReply, EmptyReply):
        return
    assert reply.value.verdict in text


async def test_a_useless_reply_from_the_store_is_asked_for_anew(tmp_path: Path) -> None:
    """A judge that was broken and is repaired is not held to its failure; while it stays broken it is asked again."""
    inner = FakeClient(["no", "no", "still no", "still no", GOOD, "never asked"])
    with ReplyStore(tmp_path / "store.db") as store:
        for _ in range(2):
            with pytest.raises(MalformedReply):
                await ask(CachedClient(inner, store), request(), Verdict)
        assert (await ask(CachedClient(inner, store), request(), Verdict)).value.verdict == "pass"
        assert (await ask(CachedClient(inner, store), request(), Verdict)).completion.cached
    assert len(inner.requests) == 5


async def test_a_reply_that_took_a_repair_is_not_asked_for_anew(tmp_path: Path) -> None:
    inner = FakeClient(["no", GOOD, "never asked"])
    with ReplyStore(tmp_path / "store.db") as store:
        for _ in range(3):
            assert (await ask(CachedClient(inner, store), request(), Verdict)).turns == 2
    assert len(inner.requests) == 2


async def test_within_one_session_a_useless_reply_is_not_asked_for_again(tmp_path: Path) -> None:
    inner = FakeClient(["no", "no", "never asked"])
    with ReplyStore(tmp_path / "store.db") as store:
        client = CachedClient(inner, store)
        for _ in range(3):
            with pytest.raises(MalformedReply):
                await ask(client, request(), Verdict)
    assert len(inner.requests) == 2


@pytest.mark.parametrize(
    "bad",
    [Completion(text=""), Completion(text='{"verdict', finish_reason="length"), Completion(text="x", refusal="no")],
)
async def test_an_empty_cut_or_filtered_reply_from_the_store_is_asked_for_anew(tmp_path: Path, bad: Completion) -> None:
    inner = FakeClient([bad, GOOD])
    with ReplyStore(tmp_path / "store.db") as store:
        with pytest.raises((EmptyReply, TruncatedReply, Filtered)):
            await ask(CachedClient(inner, store), request(), Verdict)
        assert (await ask(CachedClient(inner, store), request(), Verdict)).value.verdict == "pass"
