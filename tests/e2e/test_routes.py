"""Who is asked for a model's name, and what that costs, through whole commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.faults import command, nothing_kept, place, reasons
from tests.servers import ScriptedServer, Step, completion_body

BEDROCK = "bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0"
ROUTED = "openrouter/deepseek/deepseek-r1:free"
CONVERSED = {
    "output": {"message": {"role": "assistant", "content": [{"text": "NN"}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 9, "outputTokens": 1, "totalTokens": 10},
    "metrics": {"latencyMs": 1},
}


@pytest.mark.long
@pytest.mark.litellm
async def test_a_colon_in_a_name_makes_nobodys_model_an_ollamas(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(tmp_path, cells=2)
    monkeypatch.setenv("OLLAMA_HOST", scripted.url)
    async with ScriptedServer() as vendor:
        vendor.otherwise = lambda seen: Step(
            json.dumps(CONVERSED).encode() if "converse" in seen.path else completion_body("NN")
        )
        for name, value in {
            "AWS_ACCESS_KEY_ID": "AKIA0", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION_NAME": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_BEDROCK_RUNTIME_ENDPOINT": vendor.url,
            "OPENROUTER_API_KEY": "canary", "OPENROUTER_API_BASE": f"{vendor.url}/api/v1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        done = await command(here.arguments("--models", f"{BEDROCK},{ROUTED}", "--judge", "none"))
        asked = {seen.path for seen in vendor.requests}
    assert done.code == 0, done.err
    assert reasons(here.rows()) == {}
    assert asked == {
        "/model/anthropic.claude-3-5-sonnet-20240620-v1:0/converse",
        "/api/v1/chat/completions",
    }
    assert scripted.count == 0


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Step(b'{"error": "something broke"}'), "unavailable"),
        (Step(b'{"error": "the prompt exceeds the context length"}', status=400), "context-too-small"),
    ],
)
async def test_an_ollama_that_only_fails_is_not_asked_without_end(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, answer: Step, reason: str
) -> None:
    """Its model names no context, so there is none that would be enough."""
    here = place(tmp_path, cells=2)
    monkeypatch.setenv("OLLAMA_HOST", scripted.url)
    monkeypatch.setenv("PROMPTPEX_MAX_ATTEMPTS", "1")
    scripted.otherwise = lambda seen: Step(b'{"model_info": {}}') if seen.path == "/api/show" else answer
    done = await command(here.arguments("--models", "ollama/m", "--judge", "none"))
    assert done.code == 3, done.err
    nothing_kept(here, done, {reason: 2})
    assert 0 < scripted.count < 20
