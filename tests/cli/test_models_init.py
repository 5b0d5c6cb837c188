"""The first two commands of a newcomer: what is here to ask, and a prompt to begin with."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from promptpex.core.errors import InputError
from promptpex.documents import yaml_reader
from promptpex.promptfile import read
from tests.documents.shipped import schema_errors
from tests.e2e.command import in_process

NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}


def test_models_says_on_stderr_what_is_not_there(tmp_path: Path) -> None:
    done = in_process("models", cwd=tmp_path, env=NOBODY)
    assert done.code == 0
    assert "OPENAI_API_KEY" in done.err
    assert "Ollama: nothing answers at http://127.0.0.1:9" in done.err
    assert "Ollama" not in done.out
    assert in_process("models", "-q", cwd=tmp_path, env=NOBODY).err == ""
    assert isinstance(json.loads(in_process("models", "--json", cwd=tmp_path, env=NOBODY).out), list)


@pytest.mark.parametrize("name", ["a: [b", 'it\'s "so" #1', "{{x}} {y} é"])
def test_init_makes_a_prompt_that_can_be_read_whatever_the_folder_is_called(tmp_path: Path, name: str) -> None:
    done = in_process("init", name, cwd=tmp_path)
    assert done.code == 0, done.err
    prompt = read(tmp_path / name / "prompt.md")
    assert prompt.name == name
    assert prompt.variables == ("question",)


def git(*arguments: str, folder: Path) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_example_validates_and_runs(tmp_path: Path) -> None:
    git("init", "-q", folder=tmp_path)
    done = in_process("init", "shop", "--example", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "made: shop/prompt.spec.yaml" in done.err + done.out
    checked = in_process("validate", "shop/prompt.md", "--json", cwd=tmp_path)
    assert {problem["severity"] for problem in json.loads(checked.out)} == {"info"}, checked.out
    run = in_process("run", "shop/prompt.md", "--models", "fake/m", "--judge", "none", "--json", cwd=tmp_path)
    assert run.code == 0, run.err
    assert json.loads(run.out)["models"][0]["unscored"] == 0, run.out
    seen_by_git = git("ls-files", "--others", "--exclude-standard", folder=tmp_path)
    assert "shop/.promptpex/schemas/spec.schema.json" in seen_by_git
    assert not [name for name in seen_by_git if "store" in name]
    assert (tmp_path / "shop" / ".promptpex" / "store.db").is_file()
    settings = tmp_path / "shop" / "promptpex.toml"
    place = settings.read_text(encoding="utf-8").splitlines()[0].removeprefix("#:schema ")
    assert (settings.parent / place).is_file()
    for name in ("spec", "cases"):
        file = tmp_path / "shop" / f"prompt.{name}.yaml"
        place = file.read_text(encoding="utf-8").splitlines()[0].partition("$schema=")[2]
        assert (file.parent / place).is_file()
        data = yaml_reader.read(file, error=InputError, what="file").data
        assert schema_errors(name, data) == []


def test_the_example_never_goes_with_another_prompt_or_over_other_files(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("mine", encoding="utf-8")
    done = in_process("init", "--example", cwd=tmp_path)
    assert "prompt.md is your own" in done.err + done.out
    assert sorted(file.name for file in tmp_path.glob("*.*")) == [".promptpex", "prompt.md", "promptpex.toml"]
    spec = tmp_path / "mine.spec.yaml"
    spec.write_text("# yaml-language-server: $schema=.promptpex/schemas/spec.schema.json\n", encoding="utf-8")
    in_process("init", cwd=tmp_path)
    assert (tmp_path / ".promptpex" / "schemas" / "spec.schema.json").is_file()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "prompt.cases.yaml").write_text("mine", encoding="utf-8")
    made = json.loads(in_process("init", "b", "--example", "--json", cwd=tmp_path).out)
    assert made == {"made": ["prompt.md", "promptpex.toml", "prompt.spec.yaml"], "left_alone": ["prompt.cases.yaml"]}
    again = json.loads(in_process("init", "b", "--example", "--json", cwd=tmp_path).out)
    assert again == {"made": [], "left_alone": ["prompt.md", "promptpex.toml", "prompt.spec.yaml", "prompt.cases.yaml"]}
    assert (tmp_path / "b" / "prompt.cases.yaml").read_text(encoding="utf-8") == "mine"
