"""Replies that are watched: the text as it comes, and the same reply, price and errors as without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from aiohttp import web

from promptpex.core.errors import MalformedReply, ModelError, Unavailable
from promptpex.core.records import Completion, Request
from promptpex.llm.client import Client
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.http import JsonPoster
from promptpex.llm.providers.litellm import LitellmClient
from promptpex.llm.providers.ollama import OllamaClient
from promptpex.llm.providers.openai_compatible import OpenAICompatible
from promptpex.llm.providers.openai_format import ChatEvents
from promptpex.llm.streaming import watching
from tests.llm.providers.questions import asked
from tests.servers import LlamaServer, ScriptedServer, Step
from tests.stream_server import CUT, END, HANGS_S, Gate, StreamServer, delta, event


class Texts:
    """Keeps what it is told: the texts since the last beginning, and how often it began."""

    def __init__(self) -> None:
        self.begun, self.parts = 0, list[str]()
        self.all: list[str] = []
        self.came = asyncio.Event()

    def begin(self) -> None:
        self.begun += 1
        self.parts = []

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.all.append(text)
        self.came.set()


async def _watched(client: Client, texts: Texts, request: Request | None = None) -> Completion:
    with watching(texts):
        return await client.complete(request or asked("openai/any"))


def _same(one: Completion, other: Completion) -> bool:
    return one.replace(latency_ms=None) == other.replace(latency_ms=None)


async def test_text_is_told_before_the_rest_was_sent_and_the_reply_is_the_same() -> None:
    gate, texts = Gate(), Texts()
    async with StreamServer([["Hel", gate, "lo ü", *END]]) as server:
        client = OpenAICompatible(server.url)
        waiting = asyncio.ensure_future(_watched(client, texts))
        await asyncio.wait_for(texts.came.wait(), HANGS_S)
        assert (texts.parts, waiting.done()) == (["Hel"], False)
        gate.opened.set()
        streamed = await waiting
        assert texts.parts == ["Hel", "lo ü"]
        assert _same(streamed, await client.complete(asked("openai/any")))
        assert (streamed.text, streamed.tokens_in, streamed.tokens_out, streamed.finish_reason) == (
            "Hello ü", 20, 5, "stop",
        )  # fmt: skip
        await client.close()
        assert server.bodies[0] == {
            **server.bodies[1],
            "stream": True,
            "stream_options": {"include_usage": True},
        }


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
async def test_events_are_read_however_they_are_cut(size: int, line_end: bytes) -> None:
    chunk = delta("é\n", reasoning="hm")
    chunk["choices"][0]["logprobs"] = {"content": [{"token": "é", "logprob": -0.5, "top_logprobs": []}]}
    lines = [b"\xef\xbb\xbf: hello", b"event: x", *_data(json.dumps(chunk, indent=1)), b"", b"data:", b"", b"retry"]
    raw = line_end.join([*lines[:-4], b"", *_data(json.dumps(delta("2"))), b"", b"data: [DONE]", b"", b""])
    texts = Texts()
    async with StreamServer([[raw[at : at + size] for at in range(0, len(raw), size)]]) as server:
        client = OpenAICompatible(server.url)
        answer = await _watched(client, texts)
        await client.close()
    assert (answer.text, answer.reasoning, texts.parts) == ("é\n2", "hm", ["é\n", "2"])
    assert answer.logprobs is not None
    assert [token.token for token in answer.logprobs] == ["é"]
    assert (answer.tokens_in, answer.finish_reason) == (None, None)


def _data(text: str) -> list[bytes]:
    return [f"data: {line}".encode() for line in text.split("\n")]


def _refusing(name: str, status: int = 400) -> Any:
    def answer(body: dict[str, Any]) -> Any:
        if name in body:
            message = {"error": {"message": f"Extra inputs are not permitted: {name}", "type": "x"}}
            return web.json_response(message, status=status)
        return ["Hello", *END]

    return answer


@pytest.mark.parametrize(("name", "streams"), [("stream", False), ("stream_options", True)])
async def test_what_a_server_refuses_is_left_out_from_then_on(name: str, streams: bool) -> None:
    texts = Texts()
    async with StreamServer([_refusing(name)]) as server:
        client = OpenAICompatible(server.url)
        answers = [await _watched(client, texts) for _ in range(2)]
        await client.close()
        assert [one.text for one in answers] == ["Hello", "Hello"]
        assert [bool(body.get("stream")) for body in server.bodies] == [True, *([True] * 2 if streams else [False] * 2)]
        assert (texts.parts == ["Hello"]) == streams


@pytest.mark.parametrize(
    "parts",
    [
        ["Hel", CUT],
        ["Hel"],
        ["Hel", event({"error": {"message": "overloaded", "type": "server_error", "code": 503}})],
        ["Hel", event({"error": "overloaded"})],
    ],
)
async def test_a_stream_that_breaks_off_is_no_reply(parts: list[Any]) -> None:
    async with StreamServer([parts, parts, ["Hello", *END]]) as server:
        client = OpenAICompatible(server.url)
        for _ in range(2):
            with pytest.raises(Unavailable) as caught:
                await _watched(client, Texts())
            assert caught.value.retryable
        texts = Texts()
        assert (await _watched(client, texts)).text == "Hello"
        await client.close()
        assert [bool(body.get("stream")) for body in server.bodies] == [True, True, False], "twice is enough"


@pytest.mark.parametrize("part", [b"data: {no json\n\n", b"data: " + b"[" * 5000 + b"\n\n"])
async def test_garbage_in_a_stream_is_asked_for_as_a_whole(part: bytes) -> None:
    texts = Texts()
    async with StreamServer([["Hel", part], ["Hello", *END]]) as server:
        client = OpenAICompatible(server.url)
        assert (await _watched(client, texts)).text == "Hello"
        await client.close()
        assert (texts.parts, texts.all) == ([], ["Hel"]), "it was taken back"


@pytest.mark.parametrize("line", [b"data: " + b"[0," * 1000, b": " + b"x" * 3000, b"data: {}\n\n" + b" " * 30])
async def test_a_stream_without_end_is_given_up(line: bytes) -> None:
    async with StreamServer([[line] * 40_000]) as server:
        poster = JsonPoster(f"{server.url}/v1", timeout_s=HANGS_S, max_bytes=2**18)
        events = ChatEvents("m", "there", Texts())
        with pytest.raises(MalformedReply):
            await poster.post("/chat/completions", {"stream": True}, model="m", streamed=events)
        await poster.close()


async def test_a_stream_of_too_many_values_is_given_up() -> None:
    many = b"data: [" + b"0," * 100_000 + b"0]\n\n"
    async with StreamServer([[many] * 40]) as server:
        client = OpenAICompatible(server.url)
        with pytest.raises(MalformedReply, match="2,000,000 values"):
            await _watched(client, Texts())
        await client.close()


async def test_who_gives_up_waiting_closes_the_stream() -> None:
    gate, texts = Gate(), Texts()
    async with StreamServer([["Hel", gate, *END]]) as server:
        client = OpenAICompatible(server.url)
        waiting = asyncio.ensure_future(_watched(client, texts))
        await asyncio.wait_for(texts.came.wait(), HANGS_S)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.to_thread(server.is_closed.wait, HANGS_S), "the server sees it"
        await client.close()


@pytest.mark.embedded
async def test_a_real_server_streams_what_it_answers_whole(llama: LlamaServer) -> None:
    texts, request = Texts(), asked("openai/any", temperature=0, seed=1, max_tokens=12)
    client = OpenAICompatible(llama.url)
    streamed = await _watched(client, texts, request)
    whole_one = await client.complete(request)
    await client.close()
    assert len(texts.parts) > 1
    assert "".join(texts.parts) == streamed.text == whole_one.text
    assert (streamed.tokens_in, streamed.tokens_out) == (whole_one.tokens_in, whole_one.tokens_out)


def _ollama(*texts: str, **end: Any) -> Step:
    lines: list[Any] = [{"model": "m", "message": {"role": "assistant", "content": text}} for text in texts]
    raw = "\n".join(json.dumps(line) for line in [*lines, end])
    return Step(raw.encode(), headers={"Content-Type": "application/x-ndjson"})


async def _ollama_watched(scripted: ScriptedServer, steps: Sequence[Step], texts: Texts) -> Completion:
    scripted.steps = [Step(json.dumps({"model_info": {"llama.context_length": 32768}}).encode()), *steps]
    client = OllamaClient(scripted.url, ProviderOptions())
    try:
        return await _watched(client, texts, asked("ollama/m"))
    finally:
        await client.close()


async def test_ollama_streams_lines(scripted: ScriptedServer) -> None:
    texts = Texts()
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 30, "eval_count": 2, "message": {"content": ""}}
    answer = await _ollama_watched(scripted, [_ollama("Hel", "lo", **end)], texts)
    assert (answer.text, answer.tokens_in, answer.finish_reason) == ("Hello", 30, "stop")
    assert "".join(texts.parts) == "Hello"
    assert scripted.requests[-1].body["stream"] is True


@pytest.mark.parametrize("end", [{}, {"error": "out of memory"}])
async def test_a_stream_of_ollamas_that_breaks_off_is_no_reply(scripted: ScriptedServer, end: dict[str, Any]) -> None:
    with pytest.raises(Unavailable):
        await _ollama_watched(scripted, [_ollama("Hel", **end)], Texts())


@pytest.mark.slow
@pytest.mark.litellm
@pytest.mark.parametrize(
    ("replies", "streams"),
    [
        ([["Hel", "lo", *END]], [True]),
        ([_refusing("stream")], [True, False]),
    ],
)
async def test_litellm_streams(replies: Any, streams: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    texts = Texts()
    async with StreamServer(replies) as server:
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", f"{server.url}/v1")
        client = LitellmClient()
        answer = await _watched(client, texts, asked("hosted_vllm/any"))
        await client.close()
        assert (answer.text, answer.tokens_in, answer.tokens_out) == ("Hello", 20, 5)
        assert ["".join(texts.parts)] == (["Hello"] if streams == [True] else [""])
        assert [bool(body.get("stream")) for body in server.bodies] == streams


@pytest.mark.slow
@pytest.mark.litellm
@pytest.mark.parametrize("parts", [["Hel", CUT], ["Hel"]])
async def test_a_stream_of_litellms_that_breaks_off_is_no_reply(
    parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with StreamServer([parts]) as server:
        monkeypatch.setenv("HOSTED_VLLM_API_BASE", f"{server.url}/v1")
        client = LitellmClient()
        with pytest.raises(ModelError) as caught:
            await _watched(client, Texts(), asked("hosted_vllm/any"))
        await client.close()
        assert caught.value.retryable
