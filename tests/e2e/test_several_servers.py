"""Several servers of one model, by whole commands against real servers on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from promptpex.codecs.files.find_settings_files import user_file
from tests.e2e.command import Done
from tests.e2e.faults import GOOD, Place, command, place, until
from tests.e2e.processes import ended, nobody_stays, started
from tests.servers import ScriptedServer, Seen, Step, completion_body, error_body

__all__ = ["nobody_stays"]

KEY = "canary-small-api-key-93"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("SMALL_API_KEY", KEY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = place(tmp_path, cells=12)
    (tmp_path / ".git").mkdir()
    return made


@pytest.fixture
async def servers() -> AsyncIterator[list[ScriptedServer]]:
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(ScriptedServer(otherwise=GOOD)) for _ in range(3)]


def listed(*servers: ScriptedServer, more: str = "") -> str:
    bases = json.dumps([f"{server.url}/v1" for server in servers])
    return f'[models.small]\nmodel = "openai/x"\napi_base = {bases}\n{more}'


def settings(here: Place, text: str) -> None:
    (here.prompt.parent / "promptpex.toml").write_text(text, encoding="utf-8")


async def run(here: Place, *more: str) -> Done:
    done = await command(here.arguments("--models", "small", "--judge", "none", *more))
    assert done.code == 0, done.err
    return done


async def test_all_are_asked_and_everything_shows_one_model(here: Place, servers: list[ScriptedServer]) -> None:
    settings(here, listed(*servers))
    done = await run(here, "--repeats", "3", "--concurrency", "2")
    counts = [server.count for server in servers]
    assert sum(counts) == 36
    assert all(counts), "how even the shares are is held in virtual time"
    assert {row["model"] for row in here.rows()} == {"small"}
    manifest = here.manifest()
    assert manifest["models"] == ["small"]
    assert manifest["named"] == {"small": "openai/x"}
    assert manifest["servers"] == {"small": [f"{server.url}/v1" for server in servers]}
    page = next(here.folder.glob("results/*/*/report.html")).read_text(encoding="utf-8")
    assert all(f"{server.url}/v1" in page for server in servers)
    assert not any(server.url in done.out for server in servers)


async def test_no_answer_depends_on_the_list(here: Place, servers: list[ScriptedServer]) -> None:
    first, second, third = servers
    settings(here, listed(first, second))
    await run(here)
    for change in ((second, first), (third, second, first), (third,)):
        settings(here, listed(*change))
        await run(here)
    assert sum(server.count for server in servers) == 12
    settings(here, f'[models.small]\nmodel = "openai/x"\napi_base = "{third.url}/v1"\n')
    await run(here)
    assert third.count >= 12, "a single address is another question"


async def test_fresh_answers_take_the_place_of_the_stored_ones(here: Place, servers: list[ScriptedServer]) -> None:
    settings(here, listed(*servers[:2]))
    await run(here)
    kept = set(here.stored())
    await run(here, "--fresh")
    assert servers[0].count + servers[1].count == 24
    assert set(here.stored()) == kept


async def test_what_was_recorded_is_replayed(here: Place, servers: list[ScriptedServer], tmp_path: Path) -> None:
    settings(here, listed(*servers))
    recording = tmp_path / "small.jsonl"
    await run(here, "--record", str(recording))
    assert not any(server.url in recording.read_text() for server in servers)
    again = place(tmp_path / "again", cells=12)
    done = await command(again.arguments("--models", f"small=replay/{recording}", "--judge", "none"))
    assert done.code == 0, done.err
    assert [row["verdict"] for row in again.rows()] == [row["verdict"] for row in here.rows()]
    assert sum(server.count for server in servers) == 12


async def test_one_that_is_down_from_the_start_is_passed_over_and_said(
    here: Place, servers: list[ScriptedServer]
) -> None:
    up, down = servers[:2]
    down.otherwise = Step(status=503, body=error_body("out of order"))
    settings(here, listed(down, up))
    done = await run(here, "--repeats", "4", "--concurrency", "4")
    assert up.count == 48
    assert f"small: {down.url}/v1 does not answer" in done.err
    assert any("does not answer" in notice for notice in here.manifest()["notices"])
    assert all(row["verdict"] != "unscored" for row in here.rows())


async def test_one_that_dies_in_mid_run_costs_no_answer(here: Place, servers: list[ScriptedServer]) -> None:
    stays, dies = servers[:2]

    def answer(seen: Seen) -> Step:
        return GOOD if dies.count < 6 else Step(drop=0)

    dies.otherwise = answer
    settings(here, listed(stays, dies))
    await run(here, "--repeats", "4", "--concurrency", "2")
    assert stays.count > 30
    assert all(row["verdict"] != "unscored" for row in here.rows())


async def test_one_that_asks_to_wait_does_not_hold_up_the_run(here: Place, servers: list[ScriptedServer]) -> None:
    free, busy = servers[:2]
    busy.otherwise = Step(status=429, headers={"Retry-After": "120"}, body=error_body("slow down"))
    settings(here, listed(busy, free))
    await asyncio.wait_for(run(here, "--repeats", "2"), 300)
    assert (free.count, busy.count < 24) == (24, True)


async def test_where_all_are_down_every_output_says_which(here: Place, servers: list[ScriptedServer]) -> None:
    for server in servers[:2]:
        server.otherwise = Step(status=500, body=error_body("broken"))
    settings(here, f"max_attempts = 1\n{listed(*servers[:2])}")
    done = await command(here.arguments("--models", "small", "--judge", "none", "--case", "*1"))
    assert done.code == 3, done.err
    named = ", ".join(f"{server.url}/v1 (unavailable)" for server in servers[:2])
    assert f"small has no answer from its servers {named}: " in " ".join(done.out.split())
    assert not list(here.folder.glob("results/*"))


async def test_one_that_serves_another_model_is_said(here: Place, servers: list[ScriptedServer]) -> None:
    servers[1].otherwise = Step(completion_body("NN").replace(b'"mock"', b'"mock-q4"'))
    settings(here, listed(*servers[:2]))
    done = await run(here)
    assert "its servers answer as different models" in done.err
    assert here.manifest()["reported"] == {"small": ["mock", "mock-q4"]} or here.manifest()["reported"] == {
        "small": ["mock-q4", "mock"]
    }


async def test_one_that_does_not_know_the_model_is_left_out(here: Place, servers: list[ScriptedServer]) -> None:
    right, wrong = servers[:2]
    wrong.otherwise = Step(status=404, body=error_body("model not found", "model_not_found"))
    settings(here, listed(wrong, right))
    done = await run(here, "--repeats", "2")
    assert (right.count, wrong.count < 24) == (24, True)
    assert f"small: {wrong.url}/v1 is asked nothing more" in done.err


@pytest.mark.parametrize("whose", ["mine", "projects", "trusted"])
async def test_a_key_goes_to_all_of_them_with_the_consent_that_one_needs(
    here: Place, servers: list[ScriptedServer], whose: str
) -> None:
    text = listed(*servers[:2], more='key_env = "SMALL_API_KEY"\n')
    if whose == "mine":
        user_file().parent.mkdir(parents=True)
        user_file().write_text(text, encoding="utf-8")
    else:
        settings(here, text)
    await run(here, *(["--trust-settings"] if whose == "trusted" else []))
    keys = [seen.headers.get("Authorization") for server in servers[:2] for seen in server.requests]
    assert len(keys) == 12
    assert set(keys) == {None if whose == "projects" else f"Bearer {KEY}"}
    assert all(server.count for server in servers[:2])
    written = "".join(path.read_text(errors="replace") for path in here.folder.glob("results/**/*") if path.is_file())
    assert KEY not in written


async def test_models_says_of_each_whether_it_has_the_model(here: Place, servers: list[ScriptedServer]) -> None:
    models = {"object": "list", "data": [{"id": "x", "object": "model"}]}
    servers[0].otherwise = Step(json.dumps(models).encode())
    servers[1].otherwise = Step(json.dumps(models).replace('"x"', '"bad\\u001b[2J"').encode())
    servers[2].otherwise = Step(status=500, body=error_body("broken"))
    settings(here, listed(*servers))
    where = ("--config", str(here.prompt.with_name("promptpex.toml")))
    done = await command(["models", *where])
    assert done.code == 0, done.err
    assert f"  {servers[0].url}/v1 lists x\n" in done.out
    assert f"  {servers[1].url}/v1 does not list x, but bad\ufffd[2J\n" in done.out
    assert f"  {servers[2].url}/v1 gave no list of models: " in done.out
    assert "2 of 3 servers answer" in done.out
    (small,) = [each for each in json.loads((await command(["models", "--json", *where])).out) if "servers" in each]
    assert [(look["answers"], look["lists_model"]) for look in small["servers"]] == [
        (True, True),
        (True, False),
        (False, False),
    ]


async def test_an_estimate_has_one_model(here: Place, servers: list[ScriptedServer]) -> None:
    settings(here, listed(*servers, more="price_input = 1\nprice_output = 1\n"))
    done = await command(here.arguments("--models", "small", "--judge", "none", "--json", verb="estimate"))
    assert done.code == 0, done.err
    assert [line["model"] for line in json.loads(done.out)] == ["small"]
    assert not any(server.count for server in servers)


async def test_a_list_that_cannot_be_used_is_named_with_its_file_and_line(here: Place) -> None:
    settings(here, 'seed = 1\n[models.small]\nmodel = "openai/x"\napi_base = []\n')
    done = await command(here.arguments("--models", "small"))
    assert done.code == 2
    assert "promptpex.toml:2: models.small: api_base: the list is empty" in done.err


@pytest.mark.slow
async def test_ctrl_c_ends_a_run_in_which_some_hang_and_some_are_down(
    here: Place, servers: list[ScriptedServer]
) -> None:
    hangs, down = servers[:2]
    hangs.otherwise = lambda seen: GOOD if hangs.count <= 3 else Step(completion_body("NN"), delay_s=60)
    down.otherwise = Step(status=503, body=error_body("out of order"))
    settings(here, listed(hangs, down))
    process = await started(here.arguments("--models", "small", "--judge", "none", "--concurrency", "2"), here)
    await until(lambda: hangs.count >= 5)
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 130, done.err
    assert here.manifest()["partial"] == "interrupted"
    assert [row["unscored"] for row in here.rows()].count("") == 3
