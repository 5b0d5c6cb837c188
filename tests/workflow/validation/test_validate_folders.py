"""``validate`` on folders and patterns: the problems of all their prompts."""

from __future__ import annotations

from pathlib import Path

from promptpex.workflow.validation.validate import validate
from tests.pytest_plugin.project import write_project


def test_a_folder_stands_for_its_prompts(tmp_path: Path) -> None:
    prompts = write_project(tmp_path)
    (prompts / "notes.md").write_text("{{", encoding="utf-8")
    (prompts / "prompt.md").write_text("{{", encoding="utf-8")
    by_folder = validate([prompts])
    assert {Path(problem.path).name for problem in by_folder if problem.severity == "error"} == {"prompt.md"}
    by_pattern = validate([prompts / "*.md"])
    named = {Path(problem.path).name for problem in by_pattern if problem.severity == "error"}
    assert named == {"prompt.md", "notes.md"}


def test_a_folder_without_prompts_and_a_missing_file_are_problems(tmp_path: Path) -> None:
    assert next(one.message for one in validate([tmp_path])).startswith("no prompt in this folder")
    assert [one.severity for one in validate([tmp_path / "nosuch.md"])] == ["error"]
