"""Which files of a folder are prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.promptfile import is_prompt


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A prompt without files, one with a spec, one with cases, and much that is no prompt."""
    names = ("prompt.md", "a.md", "a.spec.yaml", "b.prompt.yml", "b.cases.yaml", "a.txt", "README.md", "data.json")
    others = ("tone.metric.md", "prompt.metric.md", "prompt.blessed.json", "a.grades.jsonl", "prompt.spec.yaml", "x.py")
    for name in (*names, *others):
        (tmp_path / name).write_text("prompt: a.md\n" if name == "a.spec.yaml" else "x: 1\n", encoding="utf-8")
    return tmp_path


def test_prompts_are_named_so_or_have_files_of_their_own(folder: Path) -> None:
    assert {path.name for path in folder.iterdir() if is_prompt(path)} == {"prompt.md", "a.md", "b.prompt.yml"}


def test_a_file_that_the_user_names_may_be_any_that_a_prompt_may_be(folder: Path) -> None:
    named = {path.name for path in folder.iterdir() if is_prompt(path, named=True)}
    assert named == {"prompt.md", "a.md", "b.prompt.yml", "a.txt", "README.md", "data.json"}
