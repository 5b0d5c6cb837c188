"""From whatever folder a command is called: the same store, the same results, and each prompt its own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.command import Done
from tests.e2e.faults import MODEL, Place, command, place
from tests.servers import ScriptedServer, Step, completion_body


@pytest.fixture
def here(tmp_path: Path, scripted: ScriptedServer) -> Place:
    """``tmp_path/speech-tag/prompt.md`` in a repository."""
    (tmp_path / ".git").mkdir()
    scripted.otherwise = Step(completion_body("NN"))
    return place(tmp_path, cells=2)


async def run(prompt: str, server: ScriptedServer, *more: str) -> Done:
    done = await command(["run", prompt, "--models", f"{MODEL}?api_base={server.url}/v1", "--judge", "none", *more])
    assert done.code == 0, done.err
    return done


async def test_another_working_folder_pays_nothing_twice(
    here: Place, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, prompt in ((here.folder, "speech-tag/prompt.md"), (here.prompt.parent, "prompt.md")):
        monkeypatch.chdir(folder)
        await run(prompt, scripted)
        assert (await command(["report"])).code == 0
    assert scripted.count == 2
    assert [str(path.relative_to(here.folder)) for path in here.folder.rglob("store.db")] == [".promptpex/store.db"]
    assert len(list(here.folder.rglob("manifest.json"))) == 1


async def test_settings_below_name_where_their_runs_are(
    here: Place, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.prompt.parent / "promptpex.toml").write_text('results = "kept"\n', encoding="utf-8")
    monkeypatch.chdir(here.folder)
    await run("speech-tag/prompt.md", scripted)
    (kept,) = (path.parent for path in here.folder.rglob("manifest.json"))
    assert kept.parent.parent == here.prompt.parent / "kept"
    done = await command(["report"])
    assert done.code == 2
    named = done.err.strip().rpartition(" ")[2]
    assert (await command(["report", named])).code == 0
