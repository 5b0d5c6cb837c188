from __future__ import annotations

import pytest

from promptpex.llm.pacing.servers import server_of
from tests.llm.questions import request


@pytest.mark.parametrize(
    ("model", "api_base", "key", "start", "one"),
    [
        ("gpt-4o-mini", None, "openai", None, False),
        ("ft:gpt-4o-mini-2024-07-18:org::abc", None, "openai", None, False),
        ("claude-sonnet-4-5", None, "anthropic", None, False),
        ("gemini-2.5-flash", None, "vertex_ai", None, False),
        ("gemini/gemini-2.0-flash", None, "gemini", None, False),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", None, "bedrock", None, False),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", None, "bedrock", None, False),
        ("openrouter/deepseek/deepseek-r1:free", None, "openrouter", None, False),
        ("azure/gpt-4o", None, "azure", None, False),
        ("vertex_ai/gemini-2.5-flash", None, "vertex_ai", None, False),
        ("openai/gpt-4o-mini", "https://api.openai.com/v1", "openai", None, False),
        ("openai/gpt-4o-mini", None, "openai", None, False),
        ("anthropic/claude", None, "anthropic", None, False),
        ("llama3.2:1b", None, "ollama", 2, True),
        ("ollama/llama3.2:1b", None, "ollama", 2, True),
        ("ollama/x", "http://gpu:11434", "ollama http://gpu:11434", 2, True),
        ("embedded/smollm2-135m", None, "embedded", 1, True),
        ("openai/any", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", None, True),
        ("openai/any", "https://llm.example.org/v1", "https://llm.example.org/v1", None, False),
    ],
)
def test_a_request_goes_to_its_server(model: str, api_base: str | None, key: str, start: int | None, one: bool) -> None:
    server = server_of(request(model=model, api_base=api_base))
    assert (server.key, server.start, server.one_model_at_a_time) == (key, start, one)


def test_all_models_of_an_ollama_share_it() -> None:
    assert server_of(request(model="a:1b")) == server_of(request(model="ollama/b"))
