"""A ``.env`` beside the prompt, by whole commands: whom its keys reach, and where they are never written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.faults import Place, command, place
from tests.servers import ScriptedServer, Step, completion_body

KEY = "canary-of-a-file-93"


@pytest.fixture
def here(tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    for name in list(os.environ):
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    scripted.otherwise = Step(completion_body(f"NN, by the way: {KEY}"))
    made = place(tmp_path, cells=2)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".env").write_text(
        "".join(f"{name}={KEY}\n" for name in ("OPENAI_API_KEY", "SMALL_API_KEY", "PROMPTPEX_API_KEY"))
        + f"OPENAI_BASE_URL={scripted.url}/elsewhere\n",
        encoding="utf-8",
    )
    return made


def keys_sent(scripted: ScriptedServer) -> set[str | None]:
    return {seen.headers.get("Authorization") for seen in scripted.requests}


def small(scripted: ScriptedServer, model: str = "openai/x") -> str:
    return f'[models.small]\nmodel = "{model}"\napi_base = "{scripted.url}/v1"\nkey_env = "SMALL_API_KEY"\n'


async def test_a_key_of_the_file_goes_where_one_of_the_environment_would(
    here: Place, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
    done = await command(
        here.arguments("--models", "openai/x", "--judge", "none", "-v", "--log", str(here.folder / "log"))
    )
    assert done.code == 0, done.err
    assert keys_sent(scripted) == {f"Bearer {KEY}"}
    assert all(seen.path == "/v1/chat/completions" for seen in scripted.requests)
    assert "OPENAI_API_KEY taken from" in done.err
    assert "OPENAI_BASE_URL" in done.err
    kept = [path for path in here.folder.rglob("*") if path.is_file() and path.name != ".env"]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]
    assert KEY not in done.out + done.err
    assert "OPENAI_API_KEY" not in os.environ


@pytest.mark.parametrize("way", ["flag", "no_config", "environment", "project"])
async def test_no_key_of_the_file_goes_anywhere_else(
    here: Place, scripted: ScriptedServer, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["--models", f"openai/x?api_base={scripted.url}/v1", "--judge", "none"]
    if way == "no_config":
        monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
        flags = ["--models", "openai/x", "--judge", "none", "--no-config"]
    elif way == "environment":
        monkeypatch.setenv("OPENAI_BASE_URL", f"{scripted.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "the-users-own-key-1")
        flags = ["--models", "openai/x", "--judge", "none"]
    elif way == "project":
        (here.folder / "promptpex.toml").write_text(small(scripted), encoding="utf-8")
        flags = ["--models", "small", "--judge", "none"]
    done = await command(here.arguments(*flags))
    assert done.code == 0, done.err
    assert keys_sent(scripted) == {"Bearer the-users-own-key-1" if way == "environment" else None}
