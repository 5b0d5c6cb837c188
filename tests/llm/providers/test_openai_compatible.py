"""The lean client: keys, refused parameters, prices."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.errors import BadRequest, Filtered, NotAuthorised, RateLimited, RetiredModel
from promptpex.core.events import Event, Notice
from promptpex.core.records import Completion, Request
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.openai_compatible import OpenAICompatible, key_for
from promptpex.llm.resolve_model import OPENAI
from tests.llm.providers.questions import asked
from tests.servers import ScriptedServer, Seen, Step, error_body

SCHEMA = {"type": "object"}


async def _complete(server: ScriptedServer, request: Request | None = None, **options: Any) -> Completion:
    client = OpenAICompatible(server.url, ProviderOptions(**options))
    try:
        return await client.complete(request or asked("openai/any"))
    finally:
        await client.close()


def test_the_openai_key_goes_to_openai_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai-1")
    assert key_for(OPENAI) == "for-openai-1"
    assert key_for("http://127.0.0.1:8000/v1") is None
    assert key_for("https://evil.example/v1") is None
    assert key_for("https://api.openai.com.evil.example/v1") is None
    monkeypatch.setenv("PROMPTPEX_API_KEY", "for-mine-1")
    assert key_for(OPENAI) == "for-openai-1"
    assert key_for("http://127.0.0.1:8000/v1") is None, "nobody named this server"
    mine = frozenset({"http://127.0.0.1:8000"})
    assert key_for("http://127.0.0.1:8000/v1", mine) == "for-mine-1"
    assert key_for("http://localhost:8000/v1", mine) is None


def test_a_key_is_bound_to_scheme_host_and_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai-1")
    assert key_for("https://api.openai.com:443/v1") == "for-openai-1"
    assert key_for("https://API.OpenAI.com/other") == "for-openai-1"
    assert key_for("https://api.openai.com:8443/v1") is None
    assert key_for("http://api.openai.com:9811/v1") is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://api.openai.com/v1")
    assert key_for("http://api.openai.com/v1") is None, "never without TLS to a provider's public host"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9812/v1")
    assert key_for("http://127.0.0.1:9812/v1") == "for-openai-1"
    assert key_for("http://127.0.0.1:9811/v1") is None
    assert key_for("https://127.0.0.1:9812/v1") is None


def test_a_server_named_in_the_environment_gets_the_key_set_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-proxy-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.example/v1")
    assert OpenAICompatible().base_url == "https://proxy.example/v1"
    assert key_for("https://proxy.example/v1") == "for-proxy-1"
    assert key_for("https://other.example/v1") is None


async def test_the_key_travels_as_a_header_and_only_there(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "for-openai-1")
    await _complete(scripted)
    assert "Authorization" not in scripted.requests[0].headers
    monkeypatch.setenv("PROMPTPEX_API_KEY", "for-mine-1")
    await _complete(scripted, key_servers=frozenset({scripted.url}))
    assert scripted.requests[1].headers["Authorization"] == "Bearer for-mine-1"
    assert "for-mine-1" not in str(scripted.requests[1].body)


async def test_an_echoed_key_is_not_repeated(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTPEX_API_KEY", "odd+planted/key=1")
    scripted.otherwise = Step(
        error_body("Incorrect API key provided: odd+planted/key=1", "invalid_api_key"), status=401
    )
    with pytest.raises(NotAuthorised) as caught:
        await _complete(scripted, key_servers=frozenset({scripted.url}))
    assert "planted" not in str(caught.value)


async def test_what_is_sent(scripted: ScriptedServer) -> None:
    await _complete(scripted, asked("openai/org/model", "hi", system="be brief", schema=SCHEMA, seed=3, max_tokens=9))
    (seen,) = scripted.requests
    assert seen.path == "/v1/chat/completions"
    assert seen.body == {
        "model": "org/model",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "max_tokens": 9,
        "seed": 3,
        "response_format": {"type": "json_schema", "json_schema": {"name": "output", "schema": SCHEMA}},
    }


def _refusing(*names: str) -> Any:
    def answer(seen: Seen) -> Step:
        for name in names:
            if name in seen.body:
                message = f"Unsupported value: '{name}' does not support 0 with this model."
                return Step(error_body(message, "unsupported_value", param=name), status=400)
        return Step()

    return answer


async def test_refused_parameters_are_left_out_from_then_on(scripted: ScriptedServer) -> None:
    heard: list[Event] = []
    scripted.otherwise = _refusing("temperature", "seed")
    client = OpenAICompatible(scripted.url, ProviderOptions(emit=heard.append))
    request = asked("openai/strict", temperature=0, seed=1, schema=SCHEMA)
    assert (await client.complete(request)).text == "OK"
    assert scripted.count == 3
    assert (await client.complete(request)).text == "OK"
    assert scripted.count == 4
    await client.complete(asked("openai/other", temperature=0))
    assert "temperature" in scripted.requests[4].body
    await client.close()
    notices = [event.message for event in heard if isinstance(event, Notice)]
    assert notices[0] == "openai/strict refuses temperature; it is asked without from now on."


async def test_a_refused_schema_is_not_dropped_in_silence(scripted: ScriptedServer) -> None:
    scripted.otherwise = _refusing("response_format")
    with pytest.raises(BadRequest, match="response_format"):
        await _complete(scripted, asked("openai/strict", schema=SCHEMA))
    assert scripted.count == 1


async def test_the_newer_name_of_the_token_limit_is_learned(scripted: ScriptedServer) -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    scripted.steps = [Step(error_body(message, "unsupported_parameter", param="max_tokens"), status=400)]
    await _complete(scripted, asked("openai/new", max_tokens=7))
    assert "max_tokens" not in scripted.requests[1].body
    assert scripted.requests[1].body["max_completion_tokens"] == 7


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (Step(error_body("slow"), status=429, headers={"Retry-After": "3"}), RateLimited),
        (Step(error_body("The model has been deprecated", "model_not_found"), status=404), RetiredModel),
        (Step(error_body("filtered", "content_filter"), status=400), Filtered),
    ],
)
async def test_refusals(scripted: ScriptedServer, step: Step, error: type[Exception]) -> None:
    scripted.otherwise = step
    with pytest.raises(error) as caught:
        await _complete(scripted)
    if isinstance(caught.value, RateLimited):
        assert caught.value.retry_after == 3.0


async def test_the_price_is_the_users_or_unknown(scripted: ScriptedServer) -> None:
    assert (await _complete(scripted, asked("openai/gpt-4o-mini"))).cost_usd is None
    priced = await _complete(scripted, asked("openai/any"), prices={"openai/any": (1.0, 10.0)})
    assert priced.cost_usd == pytest.approx(20e-6 + 50e-6)


async def test_models_are_listed(scripted: ScriptedServer) -> None:
    scripted.steps = [Step(b'{"data": [{"id": "b"}, {"id": "a"}, {"no": 1}, 3]}'), Step(b"[]")]
    client = OpenAICompatible(scripted.url)
    assert await client.models() == ["a", "b"]
    assert await client.models() == []
    await client.close()
