"""The line that tells editors the schema says the same on every machine, and the file it names is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.cases.file import write_suite
from promptpex.core.records import Case, Rule, Spec, Suite
from promptpex.documents.schema_ref import keep_schema, schema_place
from promptpex.specs.file import write_spec
from tests.documents.shipped import shipped_schema

SPEC = Spec(prompt="prompt.md", rules=(Rule(id="r1", rule="One word."),))


def first_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize("root", [".git", "promptpex.toml", "pyproject.toml"])
def test_a_new_file_names_a_copy_in_its_project(tmp_path: Path, root: str) -> None:
    (tmp_path / root).mkdir()
    folder = tmp_path / "prompts" / "tags"
    folder.mkdir(parents=True)
    write_spec(folder / "prompt.spec.yaml", SPEC)
    write_suite(folder / "prompt.cases.yaml", Suite(prompt="prompt.md", cases=(Case(id="c", inputs={"a": "b"}),)))
    for name in ("spec", "cases"):
        line = first_line(folder / f"prompt.{name}.yaml")
        assert line == f"# yaml-language-server: $schema=../../.promptpex/schemas/{name}.schema.json"
        named = folder / line.partition("$schema=")[2]
        assert named.read_text(encoding="utf-8") == shipped_schema(name)


def test_two_machines_write_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for name in ("here", "deep/er/there"):
        folder = tmp_path / name
        (folder / ".git").mkdir(parents=True)
        write_spec(folder / "prompt.spec.yaml", SPEC)
        texts.append((folder / "prompt.spec.yaml").read_bytes())
    assert texts[0] == texts[1]
    assert str(tmp_path).encode() not in texts[0]


def test_in_the_project_of_the_package_the_schema_itself_is_named() -> None:
    path = Path(__file__).parents[2] / "benchmarks" / "speech-tag" / "prompt.spec.yaml"
    assert first_line(path) == f"# yaml-language-server: $schema={schema_place(path, 'spec')}"


def test_a_missing_or_old_copy_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "prompt.spec.yaml"
    write_spec(path, SPEC)
    copy = tmp_path / ".promptpex" / "schemas" / "spec.schema.json"
    assert keep_schema(path) is None
    copy.write_text("{}", encoding="utf-8")
    assert keep_schema(path) == copy
    copy.unlink()
    write_spec(path, SPEC)
    assert copy.exists()


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("mail.prompt.yml", "# yaml-language-server: $schema=.promptpex/schemas/prompt.schema.json"),
        ("promptpex.toml", "#:schema .promptpex/schemas/settings.schema.json"),
    ],
)
def test_the_line_of_a_prompt_or_of_settings_leads_to_a_copy_too(tmp_path: Path, file: str, line: str) -> None:
    (tmp_path / file).write_text(f"{line}\n", encoding="utf-8")
    copy = keep_schema(tmp_path / file)
    assert copy is not None
    assert copy.read_text(encoding="utf-8") == shipped_schema(copy.name.partition(".")[0])


@pytest.mark.parametrize(
    "line",
    [
        "# yaml-language-server: $schema=https://example.org/spec.json",
        "# yaml-language-server: $schema=../.promptpex/schemas/spec.schema.json",
        "# yaml-language-server: $schema=.promptpex/schemas/../../x/spec.schema.json",
        "# a comment",
        "",
    ],
)
def test_lines_of_people_are_kept_and_lead_to_no_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "own" / "prompt.spec.yaml"
    path.parent.mkdir()
    path.write_text(f"{line}\nprompt: prompt.md\nrules:\n  - {{id: r1, rule: One word.}}\n", encoding="utf-8")
    write_spec(path, SPEC.replace(intent="More."), by_hand=True)
    assert first_line(path) == line
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["prompt.spec.yaml"]
    assert keep_schema(tmp_path / "none.yaml") is None
