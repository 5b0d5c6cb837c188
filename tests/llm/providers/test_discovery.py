"""What can be reached from here."""

from __future__ import annotations

import json
from datetime import date

import pytest

from promptpex.llm.names import provider_of
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.discovery import SMALL_MODEL, AvailableModel, available_models, not_found
from tests.llm.providers.questions import closed_port
from tests.servers import OllamaServer, ScriptedServer, Step


@pytest.fixture(autouse=True)
def _no_ollama(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{closed_port()}")


@pytest.mark.embedded
async def test_the_embedded_model_is_there_with_a_warning() -> None:
    (model,) = await available_models()
    assert model.name == "embedded/smollm2-135m"
    assert model.note == SMALL_MODEL


async def test_a_configured_file_that_is_missing_takes_no_role() -> None:
    pytest.importorskip("xllamacpp")
    (model,) = await available_models(ProviderOptions(embedded_model_path="none.gguf"))
    assert model.roles == ()
    assert "none.gguf" in model.note


@pytest.mark.embedded
async def test_a_running_ollama_lists_its_models(ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama.url)
    first = (await available_models())[0]
    assert (first.name, first.provider) == ("smollm2:135m", "ollama")
    assert "134.52M" in first.note


async def test_a_provider_with_a_key_offers_its_models_cheapest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-key-1")
    models = [model for model in await available_models(today=date(2026, 11, 1)) if model.provider == "litellm"]
    prices = [float(model.note.split()[0].lstrip("$")) for model in models if model.note.startswith("$")]
    assert len(models) > 3
    assert prices == sorted(prices)
    assert {provider_of(model.name) for model in models} == {"litellm"}
    assert "planted" not in str(models)


async def test_models_past_their_day_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "planted-key-1")
    now = await available_models(today=date(2020, 1, 1))
    later = await available_models(today=date(2090, 1, 1))
    assert len(now) > len(later)


async def test_openai_is_asked_for_its_list(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-1")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
    ids = ["gpt-4o", "text-embedding-3-small", "gpt-4o-mini"]
    scripted.otherwise = Step(json.dumps({"data": [{"id": each} for each in ids]}).encode())
    names = [model.name for model in await available_models() if model.provider == "openai-compatible"]
    assert names == ["gpt-4o-mini", "gpt-4o"]


async def test_a_named_server_lists_its_models(scripted: ScriptedServer) -> None:
    scripted.otherwise = Step(b'{"data": [{"id": "org/model"}]}')
    models = await available_models(ProviderOptions(api_base=scripted.url))
    assert models[0].name == "openai/org/model"
    assert scripted.requests[0].path == "/v1/models"


async def test_a_server_that_does_not_answer_is_left_out() -> None:
    models = await available_models(ProviderOptions(api_base=f"http://127.0.0.1:{closed_port()}"))
    assert all(model.provider == "embedded" for model in models)


def test_what_is_not_there_is_explained_once_for_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    hosted, ollama, embedded = not_found([])
    assert "OPENAI_API_KEY" in hosted
    assert "--pull" in ollama
    assert "promptpex[embedded]" in embedded
    kinds = ("openai-compatible", "ollama", "embedded")
    assert not_found([AvailableModel("any", kind) for kind in kinds]) == []
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-1")
    reason = not_found([])[0]
    assert "gave no list" in reason
    assert "planted" not in reason


def test_a_named_server_without_a_list_is_explained() -> None:
    options = ProviderOptions(api_base="http://127.0.0.1:9/v1")
    assert not_found([], options)[0].startswith("http://127.0.0.1:9/v1: ")
    listed = AvailableModel("openai/one", "openai-compatible", note="served at http://127.0.0.1:9/v1")
    assert not any("127.0.0.1:9/" in line for line in not_found([listed], options))
