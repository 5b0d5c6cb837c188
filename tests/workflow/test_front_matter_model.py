"""The model that a prompt's front matter names: asked where nothing else names one, and never a stranger's server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import parse
from promptpex.workflow.front_matter import take_own_model
from promptpex.workflow.session import open_session

Taken = tuple[tuple[str, ...], str, list[str]]


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "GITHUB_API_KEY", "AZURE_API_KEY", "AZURE_API_BASE"):
        monkeypatch.delenv(name, raising=False)


async def taken(folder: Path, front: str, name: str = "p.prompty", *, flags: Any = None, env: Any = None) -> Taken:
    """The models under test, where they come from, and what is said."""
    text = f"{front}\nmessages:\n  - {{role: user, content: '{{{{x}}}}'}}\n" if name.endswith(".yml") else (
        f"---\n{front}\n---\nSay {{{{x}}}}\n")  # fmt: skip
    prompt = parse(text, folder / name)
    events: list[Event] = []
    given = {"store": str(folder / "store.db"), "judge": "none", **(flags or {})}
    async with open_session(load(given, start=folder, env=env or {}), provider=FakeClient({}), emit=events.append) as s:
        take_own_model(s, prompt)
        take_own_model(s, prompt)
        origin = s.resolved.origins["models"]
        assert s.roles.resolved.settings.models == s.settings.models
        return s.settings.models, origin, [one.message for one in events if isinstance(one, Notice)]


GPT = "model: {api: chat, configuration: {type: openai, name: gpt-4o-mini}, parameters: {temperature: 0.1}}"


async def test_a_plain_name_is_under_test_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    models, origin, notices = await taken(tmp_path, GPT)
    assert (models, origin) == (("openai/gpt-4o-mini",), "front matter")
    assert "model under test: openai/gpt-4o-mini (from the front matter of p.prompty)" in notices


@pytest.mark.parametrize("how", ["flag", "environment", "file"])
async def test_flags_environment_and_settings_come_first(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    if how == "file":
        (tmp_path / "promptpex.toml").write_text('[models]\nunder_test = ["fake/b"]\n', encoding="utf-8")
    flags = {"models": ["fake/b"]} if how == "flag" else {}
    env = {"PROMPTPEX_MODELS": "fake/b"} if how == "environment" else {}
    models, _, notices = await taken(tmp_path, GPT, flags=flags, env=env)
    assert models == ("fake/b",)
    assert not [one for one in notices if "front matter" in one]


async def test_without_a_key_it_is_not_asked_and_that_is_said(tmp_path: Path) -> None:
    models, origin, notices = await taken(tmp_path, GPT)
    assert (models, origin) == ((), "default")
    why = "openai/gpt-4o-mini, which the front matter of p.prompty names, is not asked: OPENAI_API_KEY is not set"
    assert why in notices


async def test_no_config_leaves_it_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    models, _, notices = await taken(tmp_path, GPT, flags={"no_config": True})
    assert models == ()
    assert any("is not asked: --no-config" in one for one in notices)


async def test_names_of_github_are_asked_of_github_else_of_their_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    front = "model: openai/gpt-4o-mini"
    assert (await taken(tmp_path, front, "p.prompt.yml"))[0] == ()
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    assert (await taken(tmp_path, front, "p.prompt.yml"))[0] == ("openai/gpt-4o-mini",)
    monkeypatch.setenv("GITHUB_API_KEY", "g" * 20)
    assert (await taken(tmp_path, front, "p.prompt.yml"))[0] == ("github/gpt-4o-mini",)


async def test_azure_needs_its_address_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    front = "model: {configuration: {type: azure_openai, azure_deployment: mine, azure_endpoint: 'http://evil.test'}}"
    monkeypatch.setenv("AZURE_API_KEY", "k" * 20)
    models, _, notices = await taken(tmp_path, front)
    assert models == ()
    assert "azure/mine, which the front matter of p.prompty names, is not asked: AZURE_API_BASE is not set" in notices
    monkeypatch.setenv("AZURE_API_BASE", "http://127.0.0.1:9")
    assert (await taken(tmp_path, front))[0] == ("azure/mine",)


async def test_an_ollama_is_asked_for_what_it_has_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    models, _, notices = await taken(tmp_path, "model: llama3.2:1b")
    assert models == ()
    assert "llama3.2:1b, which the front matter of p.prompty names, is not asked: no Ollama here has it" in notices


HOSTILE = [
    "openai/gpt-4o?api_base=http://evil.test/v1", "gpt-4o,openai/x", "mine=openai/gpt-4o", "replay/answers.jsonl",
    "embedded/../evil.gguf", "embedded/hf:evil/model", "fake/a", "huggingface/http://evil.test", "${env:MODEL}",
    "openai/../x", "openai/sk-ant-api03-" + "a" * 40, "gpt-4o\x1b[31m", "x" * 300, "{{model}}", "nobody-knows-this",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_is_no_model(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 20)
    models, _, notices = await taken(tmp_path, f"model: {json.dumps(name)}")
    assert models == ()
    assert any(one.startswith("the model that the front matter of p.prompty names is not asked: ") for one in notices)
    assert not any("\x1b" in one or "sk-ant-api03" in one for one in notices)
