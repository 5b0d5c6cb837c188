"""Each prompt has a spec and cases of its own, found by its whole name."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.promptfile import sibling
from promptpex.workflow.validation.validate import validate


@pytest.mark.parametrize(
    ("prompt", "spec"),
    [
        ("prompt.md", "prompt.spec.yaml"),
        ("mail.v1.md", "mail.v1.spec.yaml"),
        ("2024.01-report.md", "2024.01-report.spec.yaml"),
        ("support.prompt.yml", "support.spec.yaml"),
        ("a.prompty", "a.spec.yaml"),
        ("no-end", "no-end.spec.yaml"),
    ],
)
def test_the_name_loses_its_end_alone(tmp_path: Path, prompt: str, spec: str) -> None:
    assert sibling(tmp_path / prompt, "spec") == tmp_path / spec
    assert sibling(tmp_path / prompt, "cases") == tmp_path / spec.replace(".spec.", ".cases.")


@pytest.mark.parametrize(
    "line", ["prompt: mail.v1.md", 'prompt: "mail.v1.md"  # ours', "rules: []\nprompt: 'mail.v1.md'\r"]
)
def test_an_old_short_name_is_found_by_the_prompt_that_it_names(tmp_path: Path, line: str) -> None:
    (tmp_path / "mail.spec.yaml").write_text(line + "\n", encoding="utf-8", newline="")
    assert sibling(tmp_path / "mail.v1.md", "spec") == tmp_path / "mail.spec.yaml"
    assert sibling(tmp_path / "mail.v2.md", "spec") == tmp_path / "mail.v2.spec.yaml"
    (tmp_path / "mail.v1.spec.yaml").write_text("prompt: mail.v1.md\n", encoding="utf-8")
    assert sibling(tmp_path / "mail.v1.md", "spec") == tmp_path / "mail.v1.spec.yaml"


def test_validate_holds_each_version_against_its_own_files(tmp_path: Path) -> None:
    for version in ("v1", "v2"):
        (tmp_path / f"mail.{version}.md").write_text(f"Write {version} of {{{{x}}}}.\n", encoding="utf-8")
        text = (
            f"prompt: mail.{version}.md\nrules:\n  - {{id: r1, rule: It is {version}., source: Write {version} of}}\n"
        )
        (tmp_path / f"mail.{version}.spec.yaml").write_text(text, encoding="utf-8")
    for version in ("v1", "v2"):
        for file in (f"mail.{version}.md", f"mail.{version}.spec.yaml"):
            assert [problem.text() for problem in validate([tmp_path / file]) if problem.severity != "info"] == []


def test_validate_says_that_a_spec_is_another_prompt_s(tmp_path: Path) -> None:
    (tmp_path / "mail.md").write_text("Write it: {{x}}.\n", encoding="utf-8")
    text = "prompt: other.md\nrules:\n  - {id: r1, rule: It is., source: Write it}\n"
    (tmp_path / "mail.spec.yaml").write_text(text, encoding="utf-8")
    assert any("is the spec of 'other.md'" in problem.message for problem in validate([tmp_path / "mail.md"]))
