"""Two runs that differ in what shapes them have two folders, and neither is answered by the other's store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import promptpex
from promptpex import FakeClient
from tests.e2e.faults import Place, command, place
from tests.samples import prompt, spec, suite
from tests.servers import ScriptedServer, Seen, Step, completion_body


def folders(here: Place) -> set[str]:
    return {path.parent.name for path in here.folder.glob("results/*/*/manifest.json")}


def ollama(seen: Seen) -> Step:
    """A server that knows every model, and says of none how much context it has."""
    message = {"role": "assistant", "content": "NN"}
    return Step(
        json.dumps({"message": message, "done": True} if seen.path == "/api/chat" else {"model_info": {}}).encode()
    )


def chats(server: ScriptedServer) -> int:
    return sum(seen.path == "/api/chat" for seen in server.requests)


async def run(here: Place, *more: str) -> None:
    done = await command([*here.arguments(*more), "--allow-missing-models"])
    assert done.code in (0, 3), done.err
    assert "Traceback" not in done.err


async def test_the_server_is_part_of_a_run(tmp_path: Path, scripted: ScriptedServer) -> None:
    scripted.otherwise = Step(completion_body("NN"))
    here = place(tmp_path, cells=2)
    async with ScriptedServer() as other:
        other.otherwise = Step(completion_body("VB"))
        for server in (scripted, other):
            await run(here, "--models", "openai/m", "--api-base", f"{server.url}/v1", "--judge", "none")
        assert (scripted.count, other.count) == (2, 2)
    assert len(folders(here)) == 2


async def test_the_ollama_that_the_environment_names_is_part_of_a_question(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(tmp_path, cells=2)
    async with ScriptedServer() as other:
        for server in (scripted, other):
            server.otherwise = ollama
            monkeypatch.setenv("OLLAMA_HOST", server.url)
            await run(here, "--models", "llama3.2:1b", "--judge", "none")
        assert [chats(server) for server in (scripted, other)] == [2, 2]
    assert len(folders(here)) == 2


def test_other_weights_are_asked_anew(tmp_path: Path) -> None:
    runs = set()
    client = FakeClient(lambda request: "RED")
    for text in (b"GGUF one", b"GGUF two", b"GGUF one"):
        weights = tmp_path / "other.gguf"
        weights.write_bytes(text)
        made = promptpex.run(
            prompt(), spec(), suite(), models="embedded/smollm2-135m", judge="none", client=client,
            embedded_model=str(weights), store=str(tmp_path / "store.db"),
        )  # fmt: skip
        runs.add(made.manifest.run)
    assert len(runs) == 2
    assert len(client.requests) == 2 * len(suite().cases)
