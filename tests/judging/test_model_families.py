from __future__ import annotations

import pytest

from promptpex.judging.model_families import family, kin_warnings


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("gpt-4o-mini?temperature=0", "OpenAI"),
        ("azure/gpt-4.1", "OpenAI"),
        ("o3-mini", "OpenAI"),
        ("llama3.2:1b", "Meta"),
        ("openrouter/meta-llama/llama-3.1-8b", "Meta"),
        ("ollama/gemma2:9b", "Google"),
        ("gemini/gemini-2.5-flash", "Google"),
        ("qwen2.5:3b", "Qwen"),
        ("embedded/smollm2-135m", "SmolLM"),
        ("groq/mixtral-8x7b-32768", "Mistral"),
        ("openai/gpt-5-mini", "OpenAI"),
        ("openai/any", "any"),
        ("openai/qwen2.5-7b", "Qwen"),
        ("my-model:7b", "my-model"),
    ],
)
def test_the_maker_is_told_by_the_name(name: str, maker: str) -> None:
    assert family(name) == maker


def test_kin_are_warned_about_and_strangers_are_not() -> None:
    (warning,) = kin_warnings(["gpt-4o"], ["gpt-4o-mini", "llama3.2:1b"])
    assert "gpt-4o-mini" in warning
    assert "llama" not in warning
    assert kin_warnings(["gpt-4o"], ["llama3.2:1b"]) == []
    assert len(kin_warnings(["gpt-4o"], ["gpt-4o-mini"], author="o3")) == 2
