"""The first two commands of a newcomer: what is here to ask, and a prompt to begin with."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from promptpex.promptfile import read
from tests.e2e.command import in_process
from tests.servers import ScriptedServer, Step

NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}


def test_models_says_on_stderr_what_is_not_there(tmp_path: Path) -> None:
    done = in_process("models", cwd=tmp_path, env=NOBODY)
    assert done.code == 0
    assert "OPENAI_API_KEY" in done.err
    assert "Ollama: nothing answers at http://127.0.0.1:9" in done.err
    assert "Ollama" not in done.out
    assert in_process("models", "-q", cwd=tmp_path, env=NOBODY).err == ""
    assert isinstance(json.loads(in_process("models", "--json", cwd=tmp_path, env=NOBODY).out), list)


async def test_a_server_whose_models_have_hostile_names_is_listed_without_obeying_them(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    listed = {"object": "list", "data": [{"id": "bad\x1b[2J", "object": "model"}]}
    scripted.otherwise = Step(body=json.dumps(listed).encode())
    done = await asyncio.to_thread(in_process, "models", "--api-base", scripted.url, cwd=tmp_path, env=NOBODY)
    assert done.code == 0
    assert "openai/bad\ufffd[2J" in done.out
    assert "\x1b" not in done.out


@pytest.mark.parametrize("name", ["a: [b", 'it\'s "so" #1', "{{x}} {y} é"])
def test_init_makes_a_prompt_that_can_be_read_whatever_the_folder_is_called(tmp_path: Path, name: str) -> None:
    done = in_process("init", name, cwd=tmp_path)
    assert done.code == 0, done.err
    prompt = read(tmp_path / name / "prompt.md")
    assert prompt.name == name
    assert prompt.variables == ("question",)


def test_init_leaves_what_is_there_alone_and_cannot_go_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("mine", encoding="utf-8")
    assert json.loads(in_process("init", "--json", cwd=tmp_path).out) == {
        "made": ["promptpex.toml"],
        "left_alone": ["prompt.md"],
    }
    assert (tmp_path / "prompt.md").read_text(encoding="utf-8") == "mine"
    done = in_process("init", "prompt.md/sub", cwd=tmp_path)
    assert done.code == 2
    assert "prompt.md/sub" in done.err
