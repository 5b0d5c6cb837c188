"""Local pages in another language have no English sentence left."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path

from promptpex.core.translation import reading_in
from promptpex.report.html_page import environment
from promptpex.web.interfaces import GradingPort
from promptpex.web.pages.grading import live_page
from promptpex.web.pages.grading_views import progress_view
from promptpex.web.shared_by_pages import TEMPLATES, Tab
from tests.marked_language import Marked, ReadPage, data_of, unmarked
from tests.web.grading_pool import desk_of, texts

EXAMPLE = "def is_short(example, prompt, response):\n    return len(response.split()) <= 20"
SAME = ("Python", "promptpex", "promptpex grade RUN --terminal", EXAMPLE, "odd", "other")
"""Names, commands and code, and the id of a proposal and of a criterion."""


def foreign(page: str, *data: object) -> list[str]:
    """The texts of a page that are neither marked nor data."""
    known = {text for text in data_of(*data) if Marked().stored(text) == text} | set(SAME)
    return sorted({rest for text in ReadPage(page).texts if (rest := unmarked(text, known))})


def rendered(template: str, **values: object) -> str:
    return environment(TEMPLATES).get_template(template).render(tabs=(), **values)


def test_every_text_of_the_grading_page_is_of_the_catalogue(tmp_path: Path) -> None:
    port = GradingPort(desk_of(tmp_path / "pos.grades.jsonl", texts(3)), "pos")
    with reading_in(Marked()):
        page = rendered("grading.html.jinja", **live_page(port, (Tab("museum", "/criteria"),)))
        sentences = [line for lines in _lists(progress_view(port.desk, "ada")) for line in lines]
    policies = ("alternating", "highest", "lowest", "random")
    known = {"prompt": "pos", "tab": "museum", "policies": policies}
    assert not foreign(page, known)
    assert len(sentences) > 3
    assert not [line for line in sentences if unmarked(line, {"promptpex grade --on"})]


def _lists(view: dict[str, object]) -> list[list[str]]:
    return [value for value in view.values() if isinstance(value, list)]


def test_a_page_brings_the_texts_of_its_scripts(tmp_path: Path) -> None:
    port = GradingPort(desk_of(tmp_path / "pos.grades.jsonl", texts(3)), "pos")
    with reading_in("vi"):
        page = rendered("grading.html.jinja", **live_page(port, ()))
    brought = page.partition("data-texts='")[2].partition("'")[0]
    assert json.loads(unescape(brought))["A new output"] == "Một đầu ra mới"
    assert 'lang="vi"' in page
