"""Routes: every name that litellm knows, and every provider of its list, goes to its provider, queue and price."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import ModelName
from promptpex.llm.names import parse_models
from promptpex.llm.pacing.cancellation import CancelToken
from promptpex.llm.pacing.server_queue import Limiter
from promptpex.llm.providers.litellm import loaded
from promptpex.llm.providers.prices import known_models, known_providers, rates_of
from promptpex.llm.resolve_model import OWN_PREFIXES, as_in_name, from_name, is_ollama_cloud, resolve, server_of
from promptpex.llm.stack import rates_for
from tests.llm.questions import request


def test_no_name_that_litellm_knows_goes_to_ollama() -> None:
    names = [name for name, entry in known_models().items() if not name.startswith(("ollama/", "ollama_chat/"))]
    assert len(names) > 1000
    assert [name for name in names if resolve(name).provider not in ("litellm", "openai-compatible")] == []
    assert [name for name in names if resolve(name).price_source != "table"] == []


@pytest.mark.slow
@pytest.mark.litellm
def test_every_provider_of_litellms_list_is_known() -> None:
    listed = {str(getattr(provider, "value", provider)) for provider in loaded().provider_list}
    assert listed <= known_providers()
    for provider in sorted(listed - set(OWN_PREFIXES)):
        for name in (f"{provider}/m", f"{provider}/org/m:free", f"{provider}/m-v1:0"):
            assert resolve(name).provider == "litellm", name


@pytest.mark.parametrize(
    ("name", "base", "source"),
    [
        ("ft:gpt-4o-mini-2024-07-18:org::abc", None, "table"),
        ("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0", None, "table"),
        ("llama3.2:1b", None, "free"),
        ("llama3.2:1b", "https://ollama.com", "unknown"),
        ("fake/x", None, "free"),
        ("gpt-4o-mini", "http://127.0.0.1:1/v1", "unknown"),
        ("gpt-4o-mini", "https://api.openai.com/v1", "table"),
        ("nobody-knows-this", None, "unknown"),
    ],
)
def test_where_a_price_comes_from(name: str, base: str | None, source: str) -> None:
    assert resolve(name, base).price_source == source


def _model(name: str) -> ModelName:
    return ModelName(name=name, label=name)


def test_a_paid_model_is_never_free() -> None:
    tuned = rates_for(_model("ft:gpt-4o-mini-2024-07-18:org::abc"), {})
    assert tuned == rates_of("ft:gpt-4o-mini-2024-07-18")
    assert tuned is not None
    assert tuned > rates_of("gpt-4o-mini-2024-07-18")  # type: ignore[operator]
    bedrock = rates_for(_model("bedrock/anthropic.claude-3-5-sonnet-20240620-v1:0"), {})
    assert bedrock is not None
    assert bedrock[0] > 0
    assert rates_for(_model("openrouter/some/model:free"), {}) == (0.0, 0.0)
    named = {name for name in known_models() if "/" not in name and rates_for(_model(name), {}) == (0.0, 0.0)}
    assert named == set()


def test_another_vendors_price_is_no_price() -> None:
    assert rates_of("gpt-4o-mini") is not None
    assert rates_of("someproxy/gpt-4o-mini") is None
    assert rates_of("groq/gpt-4o-mini") is None
    assert rates_of("anthropic/claude-sonnet-4-5") == rates_of("claude-sonnet-4-5")


async def test_names_of_one_provider_share_a_queue_and_others_have_their_own() -> None:
    limiter = Limiter(concurrency=4, clock=lambda: 0.0, cancel_token=CancelToken())
    names = ("gpt-4o-mini", "openai/gpt-4o-mini", "claude-sonnet-4-5", "gemini-2.5-flash")
    one, same, claude, gemini = (limiter.queue_of(request(model=name)) for name in names)
    assert one is same
    assert len({id(one), id(claude), id(gemini)}) == 3


@pytest.mark.parametrize(
    ("url", "cloud"),
    [
        ("https://ollama.com", True),
        ("https://api.ollama.com:443/x", True),
        ("http://ollama.com", False),
        ("https://ollama.com:8443", False),
        ("https://ollama.com.evil.example", False),
        ("https://notollama.com", False),
    ],
)
def test_ollamas_cloud_is_reached_over_tls_alone(url: str, cloud: bool) -> None:
    assert is_ollama_cloud(url) == cloud


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


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_path_goes_into_a_name_and_comes_out_again(path: str) -> None:
    written = as_in_name(path)
    assert from_name(written) == path
    if not path.endswith("/"):
        (model,) = parse_models(f"replay/{written}")
        assert model.name == f"replay/{written}"
