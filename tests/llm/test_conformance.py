"""What every provider does alike: one suite, run on each of them against a real model where it can be."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from promptpex.core.errors import ContextTooSmall, ModelError, TimedOut, Unavailable, UnknownModel
from promptpex.core.records import Request
from promptpex.llm.client import Client
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.embedded import EmbeddedClient
from promptpex.llm.providers.litellm import LitellmClient
from promptpex.llm.providers.llama_engine import LlamaEngineKey, acquire, release
from promptpex.llm.providers.ollama import OllamaClient
from promptpex.llm.providers.openai_compatible import OpenAICompatible
from promptpex.llm.resolve_model import origin
from tests.llm.providers.questions import asked, closed_port
from tests.servers import LlamaServer, OllamaServer, ScriptedServer, Step, error_body

pytestmark = pytest.mark.embedded

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["OK", "ERR"]}, "count": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["verdict", "count"],
    "additionalProperties": False,
}


@pytest.fixture(autouse=True, scope="module")
def _stays_loaded(shallow: Path) -> Iterator[None]:
    """The embedded model is loaded once for all of these tests."""
    engine = acquire(LlamaEngineKey(shallow, threads=1, slots=1))
    yield
    free = release(engine)
    if free is not None:
        free()


@dataclass
class House:
    """A provider with a model behind it: how to name it, whether it costs nothing, whom it asks elsewhere."""

    client: Client
    model: str
    free: bool
    api_base: str | None = None

    def request(self, *args: str, **named: object) -> Request:
        return asked(self.model, *args, api_base=self.api_base, **{"temperature": 0, "seed": 1, **named})  # type: ignore[arg-type]


async def _embedded(llama: LlamaServer, ollama: OllamaServer) -> House:
    options = ProviderOptions(embedded_model_path=str(llama.path))
    return House(EmbeddedClient("embedded/smollm2-135m", options), "embedded/smollm2-135m", free=True)


async def _openai(llama: LlamaServer, ollama: OllamaServer) -> House:
    return House(OpenAICompatible(llama.url), "openai/any", free=False)


async def _ollama(llama: LlamaServer, ollama: OllamaServer) -> House:
    return House(OllamaClient(ollama.url), "smollm2:135m", free=True)


async def _litellm(llama: LlamaServer, ollama: OllamaServer) -> House:
    return House(
        LitellmClient(ProviderOptions(key_servers=frozenset({origin(llama.url)}))),
        "hosted_vllm/any",
        free=False,
        api_base=f"{llama.url}/v1",
    )


ON_LITELLM = (pytest.mark.slow, pytest.mark.litellm)
HOUSES = {
    "embedded": _embedded,
    "openai-compatible": _openai,
    "ollama": _ollama,
    "litellm": _litellm,
}


@pytest_asyncio.fixture(params=[pytest.param(name, marks=ON_LITELLM if name == "litellm" else ()) for name in HOUSES])
async def house(
    request: pytest.FixtureRequest, llama: LlamaServer, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[House]:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://127.0.0.1:1")
    house = await HOUSES[request.param](llama, ollama)
    yield house
    await house.client.close()


async def test_a_plain_answer_with_usage_latency_and_reported_model(house: House) -> None:
    answer = await house.client.complete(house.request(max_tokens=24))
    assert answer.text.strip()
    assert answer.finish_reason in ("stop", "length")
    assert answer.tokens_in is not None
    assert answer.tokens_in > 20
    assert answer.tokens_out is not None
    assert 0 < answer.tokens_out <= 24
    assert answer.latency_ms is not None
    assert 1 < answer.latency_ms < 120_000
    assert answer.model_reported
    assert answer.cost_usd == (0.0 if house.free else None)
    assert not answer.cached


async def test_a_schema_is_kept_to(house: House) -> None:
    answer = await house.client.complete(house.request("Is the sky blue?", schema=SCHEMA, max_tokens=60))
    value = json.loads(answer.text)
    assert set(value) == {"verdict", "count"}
    assert value["verdict"] in ("OK", "ERR")


async def test_a_cut_answer_says_so(house: House) -> None:
    answer = await house.client.complete(house.request("Write a long story.", max_tokens=3))
    assert answer.finish_reason == "length"
    assert answer.tokens_out == 3


async def test_an_empty_answer_is_returned_as_such(house: House) -> None:
    first = await house.client.complete(house.request(max_tokens=1))
    answer = await house.client.complete(house.request(max_tokens=8, stop=(first.text.strip(),)))
    assert answer.text.strip() == ""
    assert answer.finish_reason == "stop"


async def test_a_seed_repeats_an_answer(house: House) -> None:
    texts = [
        (await house.client.complete(house.request("Name a colour.", temperature=1.5, seed=seed, max_tokens=8))).text
        for seed in (7, 7, 8, 9, 10)
    ]
    assert texts[0] == texts[1]
    assert len(set(texts[1:])) > 1


async def test_logprobs_are_given_when_asked_for(house: House) -> None:
    answer = await house.client.complete(house.request(max_tokens=3, logprobs=True))
    assert answer.logprobs is not None
    assert len(answer.logprobs) == 3
    assert all(token.logprob <= 0 and token.top for token in answer.logprobs)
    plain = await house.client.complete(house.request(max_tokens=3))
    assert plain.logprobs is None


async def test_a_prompt_beyond_the_context_is_named(house: House) -> None:
    with pytest.raises(ContextTooSmall) as caught:
        await house.client.complete(house.request("hello " * 8500, max_tokens=3))
    assert house.model in str(caught.value)


async def test_hostile_text_is_only_text(house: House) -> None:
    text = "\x00 {{ 7*7 }} <|im_end|> </s> \u202e \ud800 ```json"
    answer = await house.client.complete(house.request(text, max_tokens=3))
    assert answer.tokens_out == 3


async def _openai_at(url: str, options: ProviderOptions) -> tuple[Client, str, str | None]:
    return OpenAICompatible(url, options), "openai/nope", None


async def _ollama_at(url: str, options: ProviderOptions) -> tuple[Client, str, str | None]:
    return OllamaClient(url, options), "nope:1b", None


async def _litellm_at(url: str, options: ProviderOptions) -> tuple[Client, str, str | None]:
    named = replace(options, key_servers=frozenset({origin(url)}))
    return LitellmClient(named), "hosted_vllm/nope", f"{url}/v1"


FAILING = [
    pytest.param(_openai_at, id="openai-compatible"),
    pytest.param(_ollama_at, id="ollama"),
    pytest.param(_litellm_at, id="litellm", marks=ON_LITELLM),
]
Make = Callable[[str, ProviderOptions], Awaitable[tuple[Client, str, str | None]]]


async def _failure(make: Make, url: str, timeout_s: float = 20.0) -> ModelError:
    client, model, api_base = await make(url, ProviderOptions(timeout_s=timeout_s))
    try:
        with pytest.raises(ModelError) as caught:
            await client.complete(asked(model, api_base=api_base))
    finally:
        await client.close()
    assert model in str(caught.value)
    assert caught.value.model == model
    return caught.value


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://127.0.0.1:1")


@pytest.mark.parametrize("make", FAILING)
async def test_a_refused_connection_is_unavailable(make: Make) -> None:
    error = await _failure(make, f"http://127.0.0.1:{closed_port()}")
    assert isinstance(error, Unavailable)
    assert error.retryable


@pytest.mark.parametrize("make", FAILING)
async def test_an_unknown_model_is_named(make: Make, scripted: ScriptedServer) -> None:
    scripted.otherwise = Step(error_body("The model `nope` does not exist", "model_not_found"), status=404)
    assert isinstance(await _failure(make, scripted.url), UnknownModel)
    assert scripted.count == 1


@pytest.mark.parametrize("make", FAILING)
async def test_a_hang_is_timed_out(make: Make, scripted: ScriptedServer) -> None:
    scripted.otherwise = Step(delay_s=30)
    assert isinstance(await _failure(make, scripted.url, timeout_s=1.0), TimedOut)


@pytest.mark.parametrize("make", FAILING)
async def test_a_failing_server_is_asked_once(make: Make, scripted: ScriptedServer) -> None:
    scripted.otherwise = Step(error_body("boom", kind="server_error"), status=500)
    assert isinstance(await _failure(make, scripted.url), Unavailable)
    assert scripted.count == 1
