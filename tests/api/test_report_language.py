"""Reports of the library in another language: of one page, or of all texts from a call on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promptpex.api.keyword_settings import resolved_settings
from promptpex.api.runs import RunResult
from promptpex.core.errors import ConfigError, InputError
from promptpex.core.translation import speak
from tests.tables.by_hand import colours


@pytest.fixture(autouse=True)
def _english_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    speak("en")


def test_one_page_in_another_language(tmp_path: Path) -> None:
    run = RunResult.of(colours())
    page = run.report(tmp_path / "vi.html", language="vi").read_text(encoding="utf-8")
    assert '<html lang="vi">' in page
    assert "Lỗi theo quy tắc và mô hình" in page
    assert '<html lang="en">' in run.report(tmp_path / "en.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"there is no report language 'xx'; there are en, vi"):
        run.report(tmp_path / "xx.html", language="xx")


def test_the_setting_is_the_language_of_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunResult.of(colours())
    resolved_settings({"report_language": "vi"})
    assert "Chưa phân định" in (run.answer or "")
    assert "mô hình" in run._repr_html_()
    resolved_settings({})
    assert "Undecided" in (run.answer or "")
    monkeypatch.setenv("PROMPTPEX_REPORT_LANGUAGE", "vi")
    resolved_settings({})
    assert "Chưa phân định" in (run.answer or "")
    with pytest.raises(ConfigError, match=r"there is no report language 'fr'; there are en, vi"):
        resolved_settings({"report_language": "fr"})
