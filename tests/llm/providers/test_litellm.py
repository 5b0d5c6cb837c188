"""litellm: imported late, quiet and offline; keys checked before, prices never 0 for unknown."""

from __future__ import annotations

import json
import logging
import os
from typing import Any

import pytest

from promptpex.core.errors import BadRequest, NotAuthorised, RateLimited
from promptpex.core.events import Event, Notice
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.litellm import LitellmClient, loaded
from promptpex.llm.structured import SchemaFallback
from tests.llm.providers.questions import asked
from tests.servers import ScriptedServer, Step, error_body

pytestmark = [pytest.mark.slow, pytest.mark.litellm]

MODEL = "hosted_vllm/any"


@pytest.fixture(autouse=True)
def _vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_BASE", "http://127.0.0.1:1")


@pytest.mark.long
def test_a_hosts_litellm_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a program that is not ours and has loaded it before us, what the host set up is as it was."""
    litellm, log = loaded(), logging.getLogger("LiteLLM")
    theirs = {"success_callback": ["host"], "num_retries": 7, "cache": "the host's", "suppress_debug_info": False}
    for name, value in theirs.items():
        monkeypatch.setattr(litellm, name, value)
    monkeypatch.setattr(log, "level", logging.INFO)
    environment = dict(os.environ)
    loaded.cache_clear()  # as if it were asked for the first time
    assert loaded() is litellm
    assert {name: getattr(litellm, name) for name in theirs} == theirs
    assert log.level == logging.INFO
    assert dict(os.environ) == environment


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("anthropic/some-model", "ANTHROPIC_API_KEY"),
        ("gemini/some-model", "GEMINI_API_KEY"),
        ("groq/x", "GROQ_API_KEY"),
    ],
)
async def test_a_missing_key_is_named_and_nothing_is_sent(model: str, variable: str) -> None:
    client = LitellmClient()
    with pytest.raises(NotAuthorised, match=variable):
        await client.complete(asked(model))
    await client.close()


def options(server: ScriptedServer, **more: Any) -> ProviderOptions:
    """Options of a user who named this server."""
    return ProviderOptions(key_servers=frozenset({server.url}), **more)


@pytest.mark.parametrize(
    "extra",
    [
        {name: "http://127.0.0.1:9"}
        for name in (
            "base_url", "api_base", "api_key", "custom_llm_provider", "mock_response", "vertex_credentials",
            "vertex_project", "aws_bedrock_runtime_endpoint", "aws_access_key_id", "azure_ad_token", "extra_headers",
            "organization", "api_version", "headers", "fallbacks", "model_list", "input_cost_per_token",
        )
    ],
    ids=lambda extra: next(iter(extra)),
)  # fmt: skip
async def test_nothing_of_a_request_can_redirect_litellm(extra: dict[str, Any], scripted: ScriptedServer) -> None:
    request = asked(MODEL, api_base=f"{scripted.url}/v1")
    request = request.model_copy(update={"params": request.params.replace(extra=extra)})
    with pytest.raises(BadRequest, match="is not passed on"):
        await LitellmClient(options(scripted)).complete(request)
    assert scripted.count == 0


async def test_a_server_that_the_user_did_not_name_is_not_asked(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-key-1")
    for model, base in (("anthropic/claude-some", scripted.url), ("oobabooga/http://127.0.0.1:9", None)):
        with pytest.raises(BadRequest):
            await LitellmClient().complete(asked(model, api_base=base))
    assert scripted.count == 0


async def test_what_the_provider_asks_to_wait_is_kept_and_nothing_is_retried_beneath(scripted: ScriptedServer) -> None:
    scripted.otherwise = Step(error_body("slow", kind="rate_limit_error"), status=429, headers={"Retry-After": "3"})
    client = LitellmClient(options(scripted))
    with pytest.raises(RateLimited) as caught:
        await client.complete(asked(MODEL, api_base=f"{scripted.url}/v1"))
    await client.close()
    assert caught.value.retry_after == 3.0
    assert scripted.count == 1


async def test_a_schema_that_the_provider_does_not_take_is_given_in_words(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COHERE_API_KEY", "planted-key-1")
    scripted.otherwise = Step(
        b'{"id": "g", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": '
        b'[{"type": "text", "text": "OK"}]}, "usage": {"tokens": {"input_tokens": 1, "output_tokens": 1}}}'
    )
    client = SchemaFallback(LitellmClient(options(scripted)))
    request = asked("cohere_chat/command-r", "hi", api_base=scripted.url, schema={"type": "object"})
    assert (await client.complete(request)).text == "OK"
    await client.close()
    (seen,) = scripted.requests
    assert "follows this JSON schema" in json.dumps(seen.body)


async def test_a_parameter_that_the_provider_does_not_take_is_reported(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-key-1")
    scripted.otherwise = Step(
        b'{"content": [{"type": "text", "text": "OK"}], "usage": {"input_tokens": 1, "output_tokens": 1}, '
        b'"id": "m", "model": "m", "role": "assistant", "type": "message", "stop_reason": "end_turn"}'
    )
    heard: list[Event] = []
    client = LitellmClient(options(scripted, emit=heard.append))
    request = asked("anthropic/claude-some", api_base=scripted.url, seed=3, max_tokens=5)
    for _ in range(2):
        assert (await client.complete(request)).text == "OK"
    await client.close()
    assert "seed" not in scripted.requests[0].body
    notices = [event.message for event in heard if isinstance(event, Notice)]
    assert notices == ["anthropic/claude-some does not take seed; it is asked without."]
