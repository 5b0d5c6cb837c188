"""The page of two runs in another language has no English sentence left that a page of a report would not have."""

from __future__ import annotations

from promptpex.core.translation import reading_in
from promptpex.report.comparison.page import RunLink, comparison_html
from promptpex.report.run_comparison import compare_runs
from tests.marked_language import Marked, ReadPage, data_of, unmarked
from tests.report.comparison.test_comparison_page import drawn


def test_every_text_of_the_page_is_of_the_catalogue() -> None:
    before, after = drawn(1, repeats=2, unjudged=True), drawn(2, repeats=2, unjudged=False)
    other = after.replace(prompt=after.prompt.replace(messages=before.prompt.messages[:0]))
    with reading_in(Marked()):
        page = comparison_html(
            compare_runs(before, other), (RunLink("old", "old.html"), RunLink("new")), other_way="/x"
        )
        texts = ReadPage(page).texts
    known = data_of(before) | data_of(after) | {"old", "new", "p (Holm)", "compare", "promptpex compare --json"}
    assert len(texts) > 100
    assert sorted({rest for text in texts if (rest := unmarked(text, known))}) == []
