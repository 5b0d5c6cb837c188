"""``--report-language``: what people read is in their language, what programs read stays English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.translation import spoken
from promptpex.report import runs
from tests.tables.many import many


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run in which model a fails half of the cases."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    made = many(20, {"a": lambda n: n % 2 == 0, "b": lambda n: True})
    place = runs.folder_for(tmp_path / "results", made.prompt.name, made.manifest.run)
    runs.finish(place, made)
    return place


def test_a_kept_run_is_reported_in_the_readers_language(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["report", "--report-language", "vi"]) == 0
    shown = capsys.readouterr().out
    assert "b rõ ràng là mô hình tốt nhất: mô hình này vi phạm quy tắc ở 0/20" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80
    assert '<html lang="vi">' in (folder / "report.html").read_text(encoding="utf-8")
    assert spoken().name == "en"


def test_the_setting_may_stand_in_the_environment_or_in_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("promptpex.toml").write_text('report_language = "vi"\n', encoding="utf-8")
    assert run_cli(["gate", "--max-non-compliance", "10%"]) == 1
    assert "không qua cổng: 1 trong 2 mô hình (a)" in capsys.readouterr().err
    monkeypatch.setenv("PROMPTPEX_REPORT_LANGUAGE", "en")
    assert run_cli(["gate", "--max-non-compliance", "10%"]) == 1
    assert "gate failed: 1 of 2 models (a)" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["report", "--json"], ["gate", "--max-non-compliance", "10%", "--json"]])
def test_programs_read_english(folder: Path, capsys: pytest.CaptureFixture[str], flags: list[str]) -> None:
    run_cli([*flags, "--report-language", "en"])
    english = capsys.readouterr().out
    run_cli([*flags, "--report-language", "vi"])
    assert json.loads(capsys.readouterr().out) == json.loads(english)
