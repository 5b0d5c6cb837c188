"""Two runs that differ in what shapes them have two folders, and neither is answered by the other's store."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.session import with_weights
from tests.e2e.faults import Place, command, place
from tests.servers import ScriptedServer, Step, completion_body


def folders(here: Place) -> set[str]:
    return {path.parent.name for path in here.folder.glob("results/*/*/manifest.json")}


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


async def test_the_environments_server_is_part_of_a_run(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted.otherwise = Step(completion_body("NN"))
    here = place(tmp_path, cells=2)
    async with ScriptedServer() as other:
        other.otherwise = Step(completion_body("VB"))
        for server in (scripted, other):
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
            await run(here, "--models", "gpt-4o-mini", "--judge", "none")
        assert (scripted.count, other.count) == (2, 2)
    assert len(folders(here)) == 2


async def test_front_matter_instructions_are_part_of_a_run(tmp_path: Path) -> None:
    here = place(tmp_path, cells=1)
    text = here.prompt.read_text(encoding="utf-8")
    body = text.split("---", 2)[2] if text.startswith("---") else "\n" + text
    for note in ("Be harsh.", "Be mild."):
        here.prompt.write_text(f'---\ninstructions: {{judging: "{note}"}}\n---{body}', encoding="utf-8")
        await run(here, "--models", "fake/NN", "--judge", "none")
    assert len(folders(here)) == 2


def test_other_weights_are_another_model(tmp_path: Path) -> None:
    from promptpex.llm.names import parse_model

    model = parse_model("embedded/smollm2-135m")
    assert with_weights(model, None) == model
    found = []
    for text in (b"GGUF one", b"GGUF two"):
        path = tmp_path / "other.gguf"
        path.write_bytes(text)
        found.append(with_weights(model, str(path)).backend)
    assert None not in found
    assert len(set(found)) == 2
