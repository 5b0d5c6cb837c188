"""What can be reached from here."""

from __future__ import annotations

import json
from datetime import date

import pytest

from promptpex.llm.names import provider_of
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


async def test_openai_is_asked_for_its_list(scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-key-1")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
    ids = ["gpt-4o", "text-embedding-3-small", "gpt-4o-mini"]
    scripted.otherwise = Step(json.dumps({"data": [{"id": each} for each in ids]}).encode())
    names = [model.name for model in await available_models() if model.provider == "openai-compatible"]
    assert names == ["gpt-4o-mini", "gpt-4o"]


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
