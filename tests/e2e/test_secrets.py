"""Keys are planted wherever they can be, and every byte that a full run leaves is searched for them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from promptpex.store import SqliteStore
from tests.e2e.command import Done
from tests.e2e.faults import MODEL, Place, command, place
from tests.servers import ScriptedServer, Seen, Step, completion_body, error_body

KEYS: Mapping[str, str] = {
    "PROMPTPEX_API_KEY": "local-gateway-7f3a9c1d5e",
    "OPENAI_API_KEY": "sk-proj-Qm81xTfPlantedOpenAi0000",
    "ANTHROPIC_API_KEY": "sk-ant-api03-PlantedAnthropic11",
    "AZURE_API_KEY": "0123456789abcdefPLANTEDazure",
    "CORP_GATEWAY_TOKEN": "gw/PLANTED+token==22",
}
IN_ERRORS = "hf_PlantedInAnErrorReply33333"
"""A key that is in no variable of ours: the server tells another's."""

IN_PASSING = "sk-live-PlantedInSettings444444"


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def leaks(seen: Seen) -> list[Step]:
    """Ways to tell in an answer what was sent, as gateways do."""
    sent = seen.headers.get("Authorization", "")
    closed = "99999" if seen.body["model"] == "other" else "0"
    return [
        Step(
            status=401,
            body=error_body(f"Incorrect API key provided: {sent.removeprefix('Bearer ')}", "invalid_api_key"),
        ),
        Step(status=400, body=f"request was: Authorization: {sent}; api_key={IN_ERRORS}".encode()),
        Step(status=500, body=json.dumps({"detail": {"headers": dict(seen.headers)}}).encode()),
        Step(status=404, body=error_body(f"no such model for token {IN_ERRORS} at http://me:{IN_ERRORS}@gw/v1")),
        Step(status=302, headers={"Location": f"http://{IN_ERRORS}:x@elsewhere/?key={IN_ERRORS}"}),
        Step(body=f"<html>{sent} {IN_ERRORS}</html>".encode()),
        Step(status=429, body=error_body(f"key {sent} is over its rate"), headers={"Retry-After": closed}),
        Step(body=completion_body(f"NN, asked with {sent}")),
        Step(body=completion_body(f"NN, asked with {sent}", finish="length")),
    ]


def leaky(seen: Seen) -> Step:
    """Leaks in all ways, and answers some questions."""
    leaked = leaks(seen)
    number = sum(map(len, (message["content"] for message in seen.body["messages"])))
    chosen = number % (len(leaked) + 2)
    return leaked[chosen] if chosen < len(leaked) else Step(body=completion_body("NN"))


def forms(key: str) -> set[bytes]:
    """A key as it may stand in a file: plain, as JSON writes it, in a URL."""
    return {key.encode(), json.dumps(key)[1:-1].encode(), quote(key, safe="").encode()}


def search(folder: Path, done: Done, keys: set[str], *, but: tuple[str, ...] = ()) -> list[str]:
    """Where keys are found: files of the folder, stdout, stderr."""
    places = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    places = {name: data for name, data in places.items() if Path(name).name not in but}
    assert {"store.db", "run.jsonl", "recording.jsonl"} <= places.keys()
    places |= {"stdout": done.out.encode(), "stderr": done.err.encode()}
    return [f"{key} in {name}" for key in keys for name, data in places.items() if any(f in data for f in forms(key))]


async def full_run(here: Place, url: str, *more: str) -> Done:
    flags = ("--record", str(here.folder / "recording.jsonl"), "--log", str(here.folder / "run.jsonl"), "-v", *more)
    models = f"{MODEL},openai/other,anthropic/claude-3-haiku-20240307"
    return await command(here.arguments("--models", models, "--api-base", url, "--timeout", "3", *flags))


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("manner", [(), pytest.param(("--json",), marks=pytest.mark.long)], ids=["text", "json"])
async def test_no_key_is_in_anything_that_a_full_run_leaves(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, manner: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PROMPTPEX_MAX_ATTEMPTS", "2")
    here = place(tmp_path, cells=20)
    scripted.steps = [Step(body=completion_body("NN"))]  # a model that fails first is asked no more
    scripted.otherwise = leaky
    await SqliteStore(here.store).close()
    with contextlib.closing(sqlite3.connect(here.store)) as reader:  # so that the write-ahead log stays on the disk
        reader.execute("SELECT count(*) FROM replies").fetchone()
        done = await full_run(here, f"{scripted.url}/v1", *manner)
        assert done.code == 3, done.err
        assert here.store.with_name("store.db-wal").stat().st_size > 0
        assert any(KEYS["PROMPTPEX_API_KEY"] in seen.headers.get("Authorization", "") for seen in scripted.requests)
        assert search(tmp_path, done, {*KEYS.values(), IN_ERRORS}) == []
    errors = {row["error"] for row in here.rows()}
    assert len(errors - {""}) >= 4, f"the server leaked too little to prove anything: {errors}"
    assert not any(KEYS["OPENAI_API_KEY"] in str(seen.headers) for seen in scripted.requests), "the wrong key was sent"


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("number", range(9))
async def test_no_leak_alone_leaves_a_key(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("PROMPTPEX_MAX_ATTEMPTS", "1")
    here = place(tmp_path, cells=2)
    scripted.otherwise = lambda seen: leaks(seen)[number]
    flags = ("--record", str(tmp_path / "recording.jsonl"), "--log", str(tmp_path / "run.jsonl"), "-v")
    done = await command(here.arguments("--models", MODEL, "--api-base", f"{scripted.url}/v1", *flags))
    assert any(KEYS["PROMPTPEX_API_KEY"] in seen.headers.get("Authorization", "") for seen in scripted.requests)
    assert search(tmp_path, done, {*KEYS.values(), IN_ERRORS}) == []


async def test_a_key_in_an_address_or_the_settings_is_refused_and_not_repeated(tmp_path: Path) -> None:
    here = place(tmp_path, cells=2)
    settings = tmp_path / "promptpex.toml"
    settings.write_text(f'api_key = "{IN_PASSING}"\n', encoding="utf-8")
    hidden = tmp_path / "hidden.toml"
    hidden.write_text(f'instructions = {{ judging = "use {IN_PASSING}" }}\n', encoding="utf-8")
    address = f"http://me:{IN_PASSING}@127.0.0.1:9/v1"
    for flags in (
        ("--models", MODEL, "--api-base", address),
        ("--models", f"{MODEL}?api_base={address}"),
        ("--models", f"{MODEL}?api_base=http://127.0.0.1:9/v1?key={IN_PASSING}"),
        ("--models", f"{MODEL}?api_key={IN_PASSING}"),
        ("--models", MODEL, "--config", str(settings)),
        ("--models", MODEL, "--config", str(hidden)),
    ):
        done = await command(here.arguments(*flags))
        assert done.code == 2, (flags, done.err)
        assert IN_PASSING not in done.out + done.err
        assert not here.store.exists()
