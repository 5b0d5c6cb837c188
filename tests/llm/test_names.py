"""Names of models: what is read from them and who answers."""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.errors import ConfigError, UnknownModel
from promptpex.llm.names import parse_model, parse_models, provider_of
from promptpex.records import ModelName, Params


def test_parameters_ride_along() -> None:
    first, second = parse_models("gpt-4o-mini?temperature=0&max_tokens=200, llama3.2:1b")
    assert first == ModelName(
        name="gpt-4o-mini",
        params=Params(temperature=0.0, max_tokens=200),
        label="gpt-4o-mini?temperature=0&max_tokens=200",
    )
    assert second == ModelName(name="llama3.2:1b", label="llama3.2:1b")


def test_several_texts_are_one_list() -> None:
    assert [model.name for model in parse_models(["a:1,b:1", "c:1"])] == ["a:1", "b:1", "c:1"]


def test_unknown_parameters_are_json_scalars() -> None:
    model = parse_model("m:1?top_k=40&think=false&reasoning_effort=low&min_p=0.05&x=null&y=%5B1%5D&z=NaN&w=1e999")
    assert model.params.extra == {
        "top_k": 40,
        "think": False,
        "reasoning_effort": "low",
        "min_p": 0.05,
        "x": None,
        "y": "[1]",
        "z": "NaN",
        "w": "1e999",
    }


def test_known_parameters_are_typed() -> None:
    params = parse_model("m:1?seed=7&stop=END&logprobs=true&top_p=0.5").params
    assert params == Params(seed=7, stop=("END",), logprobs=True, top_p=0.5)


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
    ],
)
def test_who_answers_by_the_name_alone(name: str, provider: str) -> None:
    assert provider_of(name) == provider


@pytest.mark.parametrize(
    ("name", "base", "provider"),
    [
        ("org/model", "http://h:1", "openai-compatible"),
        ("anthropic/x", "http://h:1/v1", "openai-compatible"),
        ("llama3.2:1b", "http://h:11434", "ollama"),
        ("llama3.2:1b", "http://h:11434/v1", "openai-compatible"),
        ("ollama/llama3.2:1b", "http://h:11434/v1", "ollama"),
        ("embedded/smollm2-135m", "http://h:1", "embedded"),
    ],
)
def test_who_answers_at_a_named_server(name: str, base: str, provider: str) -> None:
    assert provider_of(name, base) == provider


def test_litellm_is_asked_only_about_names_that_tell_nothing() -> None:
    heard: list[str] = []

    def known(name: str) -> bool:
        heard.append(name)
        return name == "command-thing"

    assert provider_of("command-thing", known_to_litellm=known) == "litellm"
    assert provider_of("llama3.2:1b", known_to_litellm=known) == "ollama"
    assert heard == ["command-thing"]


def test_an_unknown_name_comes_with_what_to_write() -> None:
    with pytest.raises(UnknownModel, match=r"ollama/llama3\.2.*--api-base") as caught:
        provider_of("llama3.2")
    assert caught.value.model == "llama3.2"
    assert caught.value.exit_code == 3
    with pytest.raises(UnknownModel, match="did you mean claude"):
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
