from __future__ import annotations

from pathlib import Path

import pytest

from promptpex import promptfile
from promptpex.cli.main import run_cli
from promptpex.specs.file import read_spec

SPEC = """\
# ours
rules:
- {id: r1, rule: 'One word.'}   # kept as it stands
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "prompt.md").write_text("One word.\n", encoding="utf-8")
        (tmp_path / name / "prompt.spec.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("before", ["", "prompt_fingerprint: '0123456789abcdef'\n"], ids=["none", "another"])
def test_every_spec_of_a_folder_is_confirmed_and_keeps_its_other_bytes(
    folder: Path, before: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b"):
        (folder / name / "prompt.spec.yaml").write_text(before + SPEC, encoding="utf-8")
    assert run_cli(["validate", "--fix", str(folder)]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("is for the prompt as it is now") == 2
    assert "has changed" not in captured.out
    for name in ("a", "b"):
        path = folder / name / "prompt.spec.yaml"
        fingerprint = promptfile.read(folder / name / "prompt.md").fingerprint
        assert read_spec(path).prompt_fingerprint == fingerprint
        rest = [line for line in path.read_text(encoding="utf-8").splitlines() if "prompt_fingerprint" not in line]
        assert rest == SPEC.splitlines()
    assert run_cli(["validate", "--fix", str(folder)]) == 0
    assert "is for the prompt" not in capsys.readouterr().err


def test_nothing_is_confirmed_where_there_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = folder / "b" / "prompt.spec.yaml"
    broken.write_text("rules: [{id: r1}]\n", encoding="utf-8")
    assert run_cli(["validate", "--fix", str(folder)]) == 2
    assert "is for the prompt" not in capsys.readouterr().err
    assert (folder / "a" / "prompt.spec.yaml").read_text(encoding="utf-8") == SPEC


def test_a_folder_s_name_cannot_command_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a").rename(folder / "\x1b[31ma")
    assert run_cli(["validate", "--fix", str(folder)]) == 0
    err = capsys.readouterr().err
    assert err.count("is for the prompt as it is now") == 2
    assert "\x1b" not in err
