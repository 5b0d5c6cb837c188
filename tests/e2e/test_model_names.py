"""Names for models, by whole commands: what is shown, what is asked, what it costs, and where keys go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.codecs.files.find_settings_files import user_file
from tests.e2e.faults import Place, command, place
from tests.servers import ScriptedServer, Step, completion_body

KEY = "canary-small-api-key-93"


@pytest.fixture
def here(tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("SMALL_API_KEY", KEY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    scripted.otherwise = Step(completion_body("NN"))
    made = place(tmp_path, cells=2)
    (tmp_path / ".git").mkdir()
    return made


def settings(here: Place, text: str) -> None:
    (here.prompt.parent / "promptpex.toml").write_text(text, encoding="utf-8")


def small(scripted: ScriptedServer, more: str = "") -> str:
    return f'[models.small]\nmodel = "openai/x"\napi_base = "{scripted.url}/v1"\n{more}'


async def test_names_are_shown_and_no_request_depends_on_them(here: Place, scripted: ScriptedServer) -> None:
    base = f"api_base={scripted.url}/v1"
    two = f"cold=openai/x?temperature=0&{base},hot=openai/x?temperature=1&{base}"
    done = await command(here.arguments("--models", two, "--judge", "none"))
    assert done.code == 0, done.err
    assert scripted.count == 4
    assert {row["model"] for row in here.rows()} == {"cold", "hot"}
    assert "cold" in done.out
    assert scripted.url not in done.out
    assert "output  hot" in done.err
    named = here.manifest()["named"]
    assert named == {"cold": f"openai/x?temperature=0&{base}", "hot": f"openai/x?temperature=1&{base}"}
    renamed = await command(here.arguments("--models", two.replace("cold", "icy"), "--judge", "none", "--json"))
    assert renamed.code == 0, renamed.err
    assert scripted.count == 4
    assert {model["model"] for model in json.loads(renamed.out)["models"]} == {"icy", "hot"}


async def test_a_key_goes_to_the_server_of_its_name_alone(here: Place, scripted: ScriptedServer) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text(small(scripted, 'key_env = "SMALL_API_KEY"\n'), encoding="utf-8")
    bare = f"bare=openai/x?seed=1&api_base={scripted.url}/v1"
    done = await command(here.arguments("--models", f"small,{bare}", "--judge", "none"))
    assert done.code == 0, done.err
    keys = {seen.body.get("seed"): seen.headers.get("Authorization") for seen in scripted.requests}
    assert keys == {0: f"Bearer {KEY}", 1: None}
    written = "".join(path.read_text(errors="replace") for path in here.folder.glob("results/**/*") if path.is_file())
    assert KEY not in written + done.out + done.err


@pytest.mark.parametrize("trust", [False, True])
async def test_a_key_that_the_project_asks_for_needs_consent(
    here: Place, scripted: ScriptedServer, trust: bool
) -> None:
    settings(here, small(scripted, 'key_env = "SMALL_API_KEY"\n'))
    flags = ["--trust-settings"] if trust else []
    done = await command(here.arguments("--models", "small", "--judge", "none", *flags))
    assert done.code == 0, done.err
    assert {seen.headers.get("Authorization") for seen in scripted.requests} == {f"Bearer {KEY}" if trust else None}
    assert ("key_env of [models.small] is not used" in done.err) is not trust


async def test_a_server_of_the_project_gets_no_key_of_the_users_name(here: Place, scripted: ScriptedServer) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('[models.small]\nmodel = "openai/x"\nkey_env = "SMALL_API_KEY"\n', encoding="utf-8")
    settings(here, f'api_base = "{scripted.url}/v1"\n')
    done = await command(here.arguments("--models", "small", "--judge", "none"))
    assert scripted.count == 0
    assert f"the key in SMALL_API_KEY is not sent to {scripted.url}" in done.err


async def test_replies_are_pruned_by_the_name_of_their_model(here: Place, scripted: ScriptedServer) -> None:
    settings(here, small(scripted))
    assert (await command(here.arguments("--models", "small", "--judge", "none"))).code == 0
    where = ("--store", str(here.store), "--config", str(here.prompt.with_name("promptpex.toml")))
    done = await command(["cache", "prune", "--model", "small", "--dry-run", "--json", *where])
    assert json.loads(done.out) == {"would_prune": 2}, done.err
