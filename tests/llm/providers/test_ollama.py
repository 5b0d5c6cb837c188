"""Ollama: prompts that were cut are never answers, missing models are named or pulled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promptpex.core.errors import ContextTooSmall, MalformedReply, ModelError, UnknownModel
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Message, Request
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.ollama import FIRST_CONTEXT, MOST_CONTEXT, OllamaClient, least_tokens, likely_tokens
from promptpex.llm.providers.ollama_admin import host_url, list_models, pull, show
from tests.llm.providers.questions import asked
from tests.servers import LlamaServer, OllamaServer, ScriptedServer, Step


async def _complete(url: str, request: Request, **options: Any) -> Completion:
    client = OllamaClient(url, ProviderOptions(**options))
    try:
        return await client.complete(request)
    finally:
        await client.close()


def _shown(context: int = 32768) -> Step:
    return Step(json.dumps({"model_info": {"llama.context_length": context}}).encode())


def _chat(counted: int | None, *, text: str = "OK", made: int = 2, reason: str = "stop") -> Step:
    answer = {"model": "m", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": reason}
    counts = {} if counted is None else {"prompt_eval_count": counted, "eval_count": made}
    return Step(json.dumps(answer | counts).encode())


async def test_what_is_sent(scripted: ScriptedServer) -> None:
    scripted.steps = [_shown(), _chat(30)]
    extra = {"top_k": 5, "think": False, "keep_alive": "10m"}
    request = asked(
        "ollama/m",
        "hi",
        schema={"type": "object"},
        temperature=0,
        seed=3,
        max_tokens=9,
        stop=("x",),
        logprobs=True,
        extra=extra,
    )
    answer = await _complete(scripted.url, request)
    assert (answer.text, answer.cost_usd, answer.tokens_in, answer.tokens_out) == ("OK", 0.0, 30, 2)
    show_request, chat = scripted.requests
    assert (show_request.path, chat.path) == ("/api/show", "/api/chat")
    assert chat.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": False,
        "truncate": False,
        "shift": False,
        "think": False,
        "keep_alive": "10m",
        "format": {"type": "object"},
        "logprobs": True,
        "top_logprobs": 5,
        "options": {
            "num_ctx": FIRST_CONTEXT,
            "temperature": 0.0,
            "seed": 3,
            "num_predict": 9,
            "stop": ["x"],
            "top_k": 5,
        },
    }


async def test_the_context_grows_with_the_prompt_and_stays(scripted: ScriptedServer) -> None:
    scripted.steps = [_shown(), _chat(9000), _chat(20)]
    client = OllamaClient(scripted.url)
    await client.complete(asked("m:1", "word " * 8000))
    await client.complete(asked("m:1", "short"))
    await client.close()
    assert [seen.body["options"]["num_ctx"] for seen in scripted.requests[1:]] == [16384, 16384]


async def test_a_context_that_proves_tight_is_doubled(scripted: ScriptedServer) -> None:
    scripted.steps = [_shown(), _chat(4096), _chat(6000)]
    answer = await _complete(scripted.url, asked("m:1", "x" * 6000, max_tokens=5))
    assert answer.tokens_in == 6000
    assert [seen.body["options"]["num_ctx"] for seen in scripted.requests[1:]] == [4096, 8192]


async def test_an_answer_cut_by_the_context_is_asked_again_with_more(scripted: ScriptedServer) -> None:
    scripted.steps = [_shown(), _chat(3000, made=1000, reason="length"), _chat(3000, made=1500)]
    answer = await _complete(scripted.url, asked("m:1", "w " * 500, max_tokens=2000))
    assert answer.finish_reason == "stop"
    assert scripted.count == 3


async def test_fewer_tokens_than_words_means_a_cut_prompt(scripted: ScriptedServer) -> None:
    scripted.steps = [_shown(), _chat(299)]
    with pytest.raises(ContextTooSmall, match="299 tokens of a prompt of at least 300"):
        await _complete(scripted.url, asked("m:1", "word " * 300))


async def test_a_prompt_that_cannot_fit_is_not_sent(scripted: ScriptedServer) -> None:
    scripted.steps = [_shown(2048)]
    with pytest.raises(ContextTooSmall, match="2048"):
        await _complete(scripted.url, asked("m:1", "word " * 3000))
    assert scripted.count == 1


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"message": 3}', b"null"])
async def test_what_is_no_answer_is_malformed(scripted: ScriptedServer, body: bytes) -> None:
    scripted.steps = [_shown(), Step(body)]
    with pytest.raises(MalformedReply):
        await _complete(scripted.url, asked("m:1"))


async def test_keys_of_the_cloud_stay_there(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "cloud-key-123")
    scripted.steps = [_shown(), _chat(5)]
    await _complete(scripted.url, asked("m:1", "hi"))
    assert "cloud-key" not in str([seen.headers for seen in scripted.requests])


@pytest.mark.embedded
async def test_an_old_server_that_cuts_silently_is_caught(llama: LlamaServer) -> None:
    async with OllamaServer(llama, obeys_truncate=False, trained=1024) as server:
        with pytest.raises(ContextTooSmall):
            await _complete(server.url, asked("smollm2:135m", "The cat sat. " * 300, max_tokens=4))
        with pytest.raises(ContextTooSmall):
            await _complete(server.url, asked("smollm2:135m", "x=1;" * 450, max_tokens=4, extra={"num_ctx": 256}))


@pytest.mark.embedded
async def test_a_missing_model_is_named_and_pulled_when_asked(ollama: OllamaServer) -> None:
    request = asked("other:latest", max_tokens=2)
    with pytest.raises(UnknownModel, match=r"ollama pull other:latest.*--pull"):
        await _complete(ollama.url, request)
    heard: list[Event] = []
    answer = await _complete(ollama.url, request, pull=True, emit=heard.append)
    assert answer.tokens_out == 2
    lines = [event.message for event in heard if isinstance(event, Notice)]
    assert "Pulling other:latest: pulling 0123 50%" in lines
    with pytest.raises(UnknownModel, match="registry does not know"):
        await _complete(ollama.url, asked("nowhere:1"), pull=True)


@pytest.mark.embedded
async def test_a_model_that_disappears_is_named(ollama: OllamaServer) -> None:
    client = OllamaClient(ollama.url)
    await client.complete(asked("smollm2:135m", max_tokens=1))
    ollama.models.clear()
    for _ in range(2):
        with pytest.raises(UnknownModel, match="ollama pull"):
            await client.complete(asked("smollm2:135m", max_tokens=1))
    await client.close()


@pytest.mark.embedded
async def test_the_servers_models_are_listed_shown_and_pulled(ollama: OllamaServer) -> None:
    import asyncio

    (model,) = await asyncio.to_thread(list_models, ollama.url)
    assert (model.name, model.parameters, model.quantization) == ("smollm2:135m", "134.52M", "Q4_1")
    facts = await asyncio.to_thread(show, "smollm2:135m", ollama.url)
    assert facts.context == 2048
    steps: list[tuple[str, int | None, int | None]] = []
    await asyncio.to_thread(pull, "other:latest", lambda *step: steps.append(step), ollama.url)
    assert steps[-1][0] == "success"
    assert ("pulling 0123", 100, 100) in steps


@pytest.mark.parametrize(
    ("host", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":5000", "http://127.0.0.1:5000"),
        ("box", "http://box:11434"),
        ("box:5000/", "http://box:5000"),
        ("http://box", "http://box:80"),
        ("https://box", "https://box:443"),
        ("http://box:5000/v1", "http://box:5000"),
        ("http://[::1]:5000", "http://[::1]:5000"),
        ("box/path", "http://box:11434/path"),
    ],
)
def test_addresses_are_read_as_ollama_reads_them(host: str | None, url: str) -> None:
    assert host_url(host) == url


@pytest.mark.embedded
@pytest.mark.parametrize(
    "text",
    ["The quick brown fox. " * 20, "Xin chào các bạn, hôm nay trời đẹp. " * 10, "x=1;" * 99, "日本語の文章です。" * 9],
)
async def test_the_bounds_hold_for_a_real_tokenizer(llama: LlamaServer, text: str) -> None:
    import aiohttp

    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{llama.url}/tokenize", json={"content": text}) as reply,
    ):
        tokens = len((await reply.json())["tokens"])
    messages = (Message(role="user", content=text),)
    assert least_tokens(messages) <= tokens
    assert tokens <= 4 * likely_tokens(messages)


def _silent() -> Step:
    """A model that does not say how much context it was trained for."""
    return Step(b'{"model_info": {}}')


@pytest.mark.parametrize(
    "step",
    [
        Step(b'{"error": "something broke"}'),
        Step(b'{"error": "the prompt exceeds the context length"}', status=400),
        _chat(10**9),
    ],
    ids=["error in a success", "too small", "cut"],
)
async def test_a_context_is_not_asked_for_without_end(scripted: ScriptedServer, step: Step) -> None:
    scripted.steps = [_silent()]
    scripted.otherwise = step
    with pytest.raises(ModelError):
        await _complete(scripted.url, asked("ollama/m", "hi"))
    contexts = [seen.body["options"]["num_ctx"] for seen in scripted.requests[1:]]
    assert len(contexts) <= 6
    assert max(contexts) <= MOST_CONTEXT


async def test_a_model_that_names_no_context_is_still_given_more(scripted: ScriptedServer) -> None:
    scripted.steps = [_silent(), _chat(4096), _chat(5000)]
    answer = await _complete(scripted.url, asked("ollama/m", "hi"))
    assert answer.text == "OK"
    assert [seen.body["options"]["num_ctx"] for seen in scripted.requests[1:]] == [4096, 8192]


@pytest.mark.parametrize("length", ["1" + "0" * 3000, "0", "-5", "true"])
async def test_a_context_that_cannot_be_true_is_unsaid(scripted: ScriptedServer, length: str) -> None:
    """A server may say any number, and doubling up to it may be to ask for ever."""
    scripted.steps = [Step(f'{{"model_info": {{"m.context_length": {length}}}}}'.encode())]
    scripted.otherwise = Step(b'{"error": "the prompt exceeds the context length"}', status=400)
    with pytest.raises(ContextTooSmall):
        await _complete(scripted.url, asked("ollama/m", "hi"))
    contexts = [seen.body["options"]["num_ctx"] for seen in scripted.requests[1:]]
    assert contexts == [4096 * 2**step for step in range(6)]
