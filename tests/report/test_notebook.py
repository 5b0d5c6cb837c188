"""What a notebook shows of a run and of a comparison."""

from __future__ import annotations

import pytest

from promptpex.report import summarise
from promptpex.report.notebook import MOST_ROWS, comparison_html, run_html
from promptpex.report.run_comparison import compare_runs
from tests.report.test_html_page import EVIL, Reader, hostile
from tests.tables.many import many

PARTS = {"div", "p", "strong", "small", "table", "thead", "tbody", "tr", "th", "td"}


def test_a_run_shows_its_answer_its_models_and_what_fails_most() -> None:
    made = many(60, {"a": lambda n: True, "b": lambda n: n % 2 == 0})
    summary = summarise(made)
    shown = Reader(run_html(summary))
    assert not shown.open
    assert summary.answer is not None
    assert summary.answer in shown.text
    assert "30 of 60" in shown.text
    assert "Most frequent failures" in shown.text
    assert {tag for tag, _ in shown.tags} <= PARTS


def test_a_comparison_shows_its_answer_and_the_cases_that_changed() -> None:
    before, after = many(60, {"a": lambda n: True}), many(60, {"a": lambda n: n >= 30})
    comparison = compare_runs(before, after)
    shown = Reader(comparison_html(comparison))
    assert comparison.answer in shown.text
    assert "Cases that changed" in shown.text
    assert f"... and {30 - MOST_ROWS} more rows." in shown.text


@pytest.mark.parametrize("text", [EVIL, "\x1b]0;x\x07\u202e", "a" * 100_000, ""])
def test_hostile_text_is_shown_and_never_taken_for_html(text: str) -> None:
    made = hostile(text)
    for page in (run_html(summarise(made)), comparison_html(compare_runs(made, made))):
        shown = Reader(page)
        assert {tag for tag, _ in shown.tags} <= PARTS
        assert {name for _, attributes in shown.tags for name in attributes} <= {"class", "dir", "scope"}
        assert not shown.open
        assert not shown.comments
        assert len(page) < 40_000
        page.encode("utf-8")
