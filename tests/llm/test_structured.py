from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from promptpex.core.errors import BadRequest, EmptyReply, Filtered, MalformedReply, ModelError, TruncatedReply
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Request
from promptpex.llm.cache import CachedClient
from promptpex.llm.fake import Answer, FakeClient
from promptpex.llm.structured import IN_VAIN, Reply, SchemaFallback, Structured, is_useless, usable
from promptpex.store import SqliteStore
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
    reply = await Structured(client).ask(request(), Verdict)
    assert reply.value == Verdict(verdict="pass", reason="it holds")
    assert (reply.turns, reply.json_repaired, reply.repaired) == (1, False, False)
    assert client.requests[0].reply_schema is not None
    assert reply.request == client.requests[0].id


async def test_the_repair_turn_shows_the_reply_and_what_is_wrong() -> None:
    client = FakeClient(['{"verdict": "maybe", "reason": "x"}', GOOD])
    reply = await Structured(client).ask(request(), Verdict)
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


async def test_two_different_verdicts_are_never_one() -> None:
    with pytest.raises(MalformedReply):
        await verdict(GOOD + " or " + GOOD.replace("pass", "fail"), "pass")


async def test_what_is_not_an_answer_shows_in_the_completions_fields() -> None:
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
    reply = await Structured(FakeClient(['["a", "b"]'])).ask(request(), Cases)
    assert reply.value.cases == ["a", "b"]
    assert reply.json_repaired


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
    async with SqliteStore(tmp_path / "store.db") as store:
        for _ in range(2):
            with pytest.raises(MalformedReply):
                await Structured(CachedClient(inner, store)).ask(request(), Verdict)
        assert (await Structured(CachedClient(inner, store)).ask(request(), Verdict)).value.verdict == "pass"
        assert (await Structured(CachedClient(inner, store)).ask(request(), Verdict)).completion.cached
    assert len(inner.requests) == 5


async def test_a_reply_that_took_a_repair_is_not_asked_for_anew(tmp_path: Path) -> None:
    inner = FakeClient(["no", GOOD, "never asked"])
    async with SqliteStore(tmp_path / "store.db") as store:
        for _ in range(3):
            assert (await Structured(CachedClient(inner, store)).ask(request(), Verdict)).turns == 2
    assert len(inner.requests) == 2


async def test_within_one_session_a_useless_reply_is_not_asked_for_again(tmp_path: Path) -> None:
    inner = FakeClient(["no", "no", "never asked"])
    async with SqliteStore(tmp_path / "store.db") as store:
        client = CachedClient(inner, store)
        for _ in range(3):
            with pytest.raises(MalformedReply):
                await Structured(client).ask(request(), Verdict)
    assert len(inner.requests) == 2


@pytest.mark.parametrize(
    "bad",
    [Completion(text=""), Completion(text='{"verdict', finish_reason="length"), Completion(text="x", refusal="no")],
)
async def test_an_empty_cut_or_filtered_reply_from_the_store_is_asked_for_anew(tmp_path: Path, bad: Completion) -> None:
    inner = FakeClient([bad, GOOD])
    async with SqliteStore(tmp_path / "store.db") as store:
        with pytest.raises((EmptyReply, TruncatedReply, Filtered)):
            await Structured(CachedClient(inner, store)).ask(request(), Verdict)
        assert (await Structured(CachedClient(inner, store)).ask(request(), Verdict)).value.verdict == "pass"


async def test_a_judge_that_stays_broken_is_paid_for_a_few_questions_of_each_command(tmp_path: Path) -> None:
    inner = FakeClient(lambda asked: "no")
    questions = [request(f"q{n}") for n in range(40)]
    async with SqliteStore(tmp_path / "store.db") as store:
        for command, paid in ((1, 80), (2, 80 + 2 * IN_VAIN), (3, 80 + 4 * IN_VAIN)):
            judge = Structured(CachedClient(inner, store))
            outcomes = await asyncio.gather(*(judge.ask(one, Verdict) for one in questions), return_exceptions=True)
            assert {type(outcome) for outcome in outcomes} == {MalformedReply}
            assert sum("was not asked again" in str(outcome) for outcome in outcomes) == (command > 1) * (40 - IN_VAIN)
            assert len(inner.requests) == paid


async def test_a_judge_that_was_repaired_is_asked_everything_anew(tmp_path: Path) -> None:
    good, many = asyncio.Event(), asyncio.Event()

    async def together(asked: Request) -> str:
        """Once there was a good reply, answers when more than twenty wait."""
        if good.is_set():
            if repaired.in_flight > 20:
                many.set()
            await many.wait()
        if "q1" in asked.messages[0].content:
            return "no"
        good.set()
        return GOOD

    broken, repaired = FakeClient(lambda asked: "no"), FakeClient(together)
    questions = [request(f"q{n}") for n in range(40)]
    async with SqliteStore(tmp_path / "store.db") as store:
        judge = Structured(CachedClient(broken, store))
        await asyncio.gather(*(judge.ask(one, Verdict) for one in questions), return_exceptions=True)
        judge = Structured(CachedClient(repaired, store))
        outcomes = await asyncio.gather(*(judge.ask(one, Verdict) for one in questions), return_exceptions=True)
    assert sum(isinstance(outcome, MalformedReply) for outcome in outcomes) == 11
    assert sum(isinstance(outcome, Reply) for outcome in outcomes) == 29
    assert many.is_set()


class Deep(BaseModel):
    """A reply of every shape that stages ask for."""

    model_config = ConfigDict(populate_by_name=True)
    verdicts: list[Verdict] = Field(alias="all verdicts", min_length=1)
    count: int | None
    kind: Literal["a", "b"]


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ('{"all verdicts": [{"reason": "r", "verdict": "pass"}], "count": 1, "kind": "a"}', True),
        ('{"all verdicts": [{"reason": "r", "verdict": "pass"}], "count": null, "kind": "b", "more": 1}', True),
        ('```json\n{"all verdicts": [{"reason": "r", "verdict": "pass"}], "count": "2", "kind": "a"}\n```', True),
        ('{"all verdicts": [{"reason": "r"}], "count": 1, "kind": "a"}', False),
        ('{"all verdicts": [{"reason": "r", "verdict": "perhaps"}], "count": 1, "kind": "a"}', False),
        ('{"all verdicts": [], "count": 1, "kind": "a"}', False),
        ('{"all verdicts": [{"reason": "r", "verdict": "pass"}], "count": "many", "kind": "a"}', False),
        ('{"all verdicts": [{"reason": "r", "verdict": "pass"}], "count": 1, "kind": "c"}', False),
        ("no JSON", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("finish", ["stop", "length"])
async def test_a_stored_reply_is_read_as_its_stage_reads_it(text: str, reads: bool, finish: str) -> None:
    completion = Completion(text=text, finish_reason=finish)
    client = FakeClient([completion, "nothing"])
    try:
        await Structured(client).ask(request(), Deep)
        read = True
    except ModelError:
        read = False
    assert read == reads or finish == "length"
    assert is_useless(client.requests[0], completion) == (not read)


@pytest.mark.parametrize(
    "completion",
    [
        Completion(text="I cannot help with an empty, truncated or filtered answer.", finish_reason="stop"),
        Completion(text="fine", finish_reason=None),
        Completion(text="fine", finish_reason="eos"),
    ],
)
def test_an_answer_is_usable_whatever_its_words(completion: Completion) -> None:
    assert usable(completion, "m") == completion.text


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        (Completion(text="", finish_reason="stop"), EmptyReply),
        (Completion(text=" \n", finish_reason="stop"), EmptyReply),
        (Completion(text="half of", finish_reason="length"), TruncatedReply),
        (Completion(text="", finish_reason="MAX_TOKENS"), TruncatedReply),
        (Completion(text="", finish_reason="content_filter"), Filtered),
        (Completion(text="part", finish_reason="SAFETY"), Filtered),
        (Completion(text="", refusal="I will not.", finish_reason="stop"), Filtered),
    ],
)
def test_what_is_no_answer_has_its_own_name(completion: Completion, kind: type[ModelError]) -> None:
    with pytest.raises(kind) as caught:
        usable(completion, "gpt-x")
    assert "gpt-x" in str(caught.value)
    assert caught.value.reply == (completion.text or completion.refusal or "")


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
