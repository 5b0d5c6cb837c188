from __future__ import annotations

import pytest

from promptpex.judging.model_families import family, self_preference_warnings


@pytest.mark.parametrize(
    ("name", "vendor"),
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
def test_the_name_of_a_model_tells_its_vendor(name: str, vendor: str) -> None:
    assert family(name) == vendor


def test_a_judge_from_the_vendor_of_a_model_or_author_is_warned_about() -> None:
    (warning,) = self_preference_warnings(["gpt-4o"], ["gpt-4o-mini", "llama3.2:1b"])
    assert "gpt-4o-mini" in warning
    assert "llama" not in warning
    assert self_preference_warnings(["gpt-4o"], ["llama3.2:1b"]) == []
    assert len(self_preference_warnings(["gpt-4o"], ["gpt-4o-mini"], author="o3")) == 2
