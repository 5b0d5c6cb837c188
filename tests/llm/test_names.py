"""Names of models: what is read from them and who answers."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import ConfigError, UnknownModel
from promptpex.core.records import Params
from promptpex.llm.names import parse_model, parse_models, provider_of


def test_further_parameters_are_numbers_and_words() -> None:
    model = parse_model("m:1?top_k=40&think=false&reasoning_effort=low&min_p=0.05&num_ctx=8192&presence_penalty=-1")
    assert model.params.extra == {
        "top_k": 40,
        "think": False,
        "reasoning_effort": "low",
        "min_p": 0.05,
        "num_ctx": 8192,
        "presence_penalty": -1,
    }


REDIRECTING = (
    "base_url", "api_key", "custom_llm_provider", "mock_response", "vertex_credentials", "vertex_project",
    "aws_bedrock_runtime_endpoint", "aws_secret_access_key", "azure_ad_token", "extra_headers", "headers", "fallbacks",
    "organization", "token", "password", "logit_bias", "n", "stream", "messages", "Api_Base", "api_base ", "timeout",
)  # fmt: skip


@pytest.mark.parametrize("name", REDIRECTING)
@pytest.mark.parametrize("model", ["anthropic/claude-3-haiku-20240307", "openai/m", "text-completion-openai/m", "m:1"])
def test_an_unknown_parameter_is_an_error_that_says_what_can_be_given(model: str, name: str) -> None:
    with pytest.raises(ConfigError, match="these can be given: temperature, max_tokens") as caught:
        parse_models(f"{model}?{urlencode({name: 'hunter2'})}")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["os.environ/OPENAI_API_KEY", "oidc/file//etc/passwd", "http://x", "{}", "NaN", "1e999"]
)
@pytest.mark.parametrize("name", ["reasoning_effort", "think", "top_k", "min_p"])
def test_a_parameter_carries_numbers_and_words_alone(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match="must be"):
        parse_models(f"anthropic/m?{name}={value}")


@pytest.mark.parametrize(
    "label", ["openai/m?stop=sk-proj-Qm81xTfPlantedOpenAi0000", "openai/sk-proj-Qm81xTfPlantedOpenAi0000"]
)
def test_a_key_in_a_name_is_refused_and_not_repeated(label: str) -> None:
    with pytest.raises(ConfigError, match="looks like a key") as caught:
        parse_model(label)
    assert "Qm81xTf" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "ollama/skywork-o1-open-llama-3.1:8b",
        "openai/hf-internal-testing-tiny-random-gpt2",
        "openai/sk-learn-prompts-2026",
    ],
)
def test_an_ordinary_name_is_no_key(name: str) -> None:
    assert parse_model(name).name == name


@pytest.mark.parametrize("name", ["oobabooga/https://evil.example", "huggingface/http://x/y", "azure/a#b", "a%2fb:1"])
def test_a_name_holds_no_address(name: str) -> None:
    with pytest.raises(ConfigError, match="not a model name"):
        parse_model(name)


@pytest.mark.parametrize(
    "name", ["anthropic/x", "azure/gpt-4o", "text-completion-openai/m", "custom_openai/m", "ai21/m"]
)
def test_a_provider_with_an_address_of_its_own_takes_none(name: str) -> None:
    with pytest.raises(ConfigError, match=f"openai/{name}"):
        parse_model(f"{name}?api_base=http://127.0.0.1:9/v1")
    assert parse_model(name, api_base="http://127.0.0.1:9/v1").api_base is None


def test_the_environments_server_is_part_of_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {name: parse_model(name) for name in ("gpt-4o-mini", "m:1", "anthropic/x", "fake/x")}
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1/")
    monkeypatch.setenv("OLLAMA_HOST", "0.0.0.0")
    assert {name: parse_model(name) for name in asked} == asked
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9812")
    monkeypatch.setenv("OLLAMA_HOST", "gpu:11434")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.example")
    assert parse_model("gpt-4o-mini").api_base == "http://127.0.0.1:9812/v1"
    assert parse_model("m:1").api_base == "http://gpu:11434"
    assert parse_model("anthropic/x").backend == "ANTHROPIC_BASE_URL=https://gateway.example"
    assert parse_model("fake/x") == asked["fake/x"]


def test_a_server_in_the_name_wins_over_the_common_one() -> None:
    models = parse_models("openai/a?api_base=http://127.0.0.1:1/v1/,openai/b", api_base="http://127.0.0.1:2/v1")
    assert [model.api_base for model in models] == ["http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"]


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("embedded/smollm2-135m", False),
        ("replay/a.jsonl", False),
        ("fake/x", False),
        ("anthropic/some-model", False),
        ("openai/any", True),
        ("ollama/x", True),
        ("x:1b", True),
        ("gpt-4o", True),
        ("Nobody-Knows/This-Model", True),
    ],
)
def test_the_common_server_is_for_models_that_have_none_of_their_own(name: str, takes: bool) -> None:
    base = "http://127.0.0.1:2/v1"
    assert parse_model(name, api_base=base).api_base == (base if takes else None)


@pytest.mark.parametrize(
    "label",
    [
        "",
        " , ",
        "?temperature=0",
        "openai/",
        "a b",
        "m:1?temperature",
        "m:1?temperature=",
        "m:1?=1",
        "m:1?temperature=hot",
        "m:1?temperature=-1",
        "m:1?temperature=nan",
        "m:1?max_tokens=0",
        "m:1?max_tokens=1.5",
        "m:1?top_p=1.01",
        "m:1?seed=1&seed=2",
        "m:1?top_k=1&top_k=2",
        "m:1?logprobs=perhaps",
        "m:1?stream=true",
        "m:1?messages=x",
        "m:1?api_key=sk-0123456789",
        "m:1?api_base=ftp://x",
        "m:1?api_base=http://user:pass@x/v1",
        "m:1?api_base=http://x/v1%3Fkey%3D1",
        "m:1,m:1",
    ],
)
def test_what_cannot_be_used_is_a_configuration_error(label: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_models(label)
    assert "sk-0123456789" not in str(caught.value)
    assert "pass" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_models_or_a_configuration_error(text: str) -> None:
    try:
        models = parse_models(text)
    except ConfigError:
        return
    assert all(model.name and model.label for model in models)


@given(
    st.floats(0, 2, allow_nan=False),
    st.integers(1, 10**6),
    st.integers(-(2**31), 2**31),
    st.text(st.characters(blacklist_characters=",", blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1),
)
def test_parameters_survive_being_written_and_read(temperature: float, limit: int, seed: int, stop: str) -> None:
    query = urlencode({"temperature": temperature, "max_tokens": limit, "seed": seed, "stop": stop})
    expected = Params(temperature=temperature, max_tokens=limit, seed=seed, stop=(stop,))
    assert parse_model(f"m:1?{query}").params == expected


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("embedded/smollm2-135m", "embedded"),
        ("embedded/some/where/file.gguf", "embedded"),
        ("embedded/hf:org/repo/file.gguf", "embedded"),
        ("replay/run.jsonl", "replay"),
        ("fake/anything", "fake"),
        ("ollama/llama3.2", "ollama"),
        ("ollama_chat/llama3.2:1b", "ollama"),
        ("llama3.2:1b", "ollama"),
        ("someone/model:7b", "ollama"),
        ("hf.co/org/model:Q4_K_M", "ollama"),
        ("gpt-oss:20b", "ollama"),
        ("openai/anything", "openai-compatible"),
        ("gpt-4o-mini", "openai-compatible"),
        ("gpt-7-that-is-not-out", "openai-compatible"),
        ("o3-mini", "openai-compatible"),
        ("ft:gpt-4o-mini:me::1", "openai-compatible"),
        ("anthropic/whatever", "litellm"),
        ("gemini/whatever", "litellm"),
        ("openrouter/org/model", "litellm"),
        ("openrouter/deepseek/deepseek-r1:free", "litellm"),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", "litellm"),
        ("anthropic.claude-3-5-sonnet-20240620-v1:0", "litellm"),
        ("azure/gpt-4o", "litellm"),
        ("vertex_ai/gemini-2.0-flash", "litellm"),
        ("openai/ft:gpt-4o-mini:me::1", "openai-compatible"),
    ],
)
def test_who_answers_by_the_name_alone(name: str, provider: str) -> None:
    assert provider_of(name) == provider


@pytest.mark.parametrize(
    ("name", "base", "provider"),
    [
        ("org/model", "http://h:1", "openai-compatible"),
        ("anthropic/x", "http://h:1/v1", "litellm"),
        ("llama3.2:1b", "http://h:11434", "ollama"),
        ("llama3.2:1b", "http://h:11434/v1", "openai-compatible"),
        ("ollama/llama3.2:1b", "http://h:11434/v1", "ollama"),
        ("embedded/smollm2-135m", "http://h:1", "embedded"),
    ],
)
def test_who_answers_at_a_named_server(name: str, base: str, provider: str) -> None:
    assert provider_of(name, base) == provider


def test_an_unknown_name_comes_with_what_to_write() -> None:
    with pytest.raises(UnknownModel, match=r"ollama/llama3\.2.*--api-base") as caught:
        provider_of("llama3.2")
    assert caught.value.model == "llama3.2"
    assert caught.value.exit_code == 3
    with pytest.raises(UnknownModel, match="did you mean one of 'claude"):
        provider_of("claude-sonnet-4-55")


def test_telling_who_answers_imports_no_heavy_library() -> None:
    code = (
        "import sys; from promptpex.llm.names import provider_of, parse_models; import promptpex.llm.providers;"
        "parse_models('gpt-4o,anthropic/x,llama3.2:1b', api_base='http://127.0.0.1:1');"
        "provider_of('anthropic/x'); provider_of('claude-sonnet-4-5');"
        "print([m for m in ('litellm', 'ollama', 'xllamacpp', 'aiohttp', 'httpx', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
