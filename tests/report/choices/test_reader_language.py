"""The page of a choice in another language has no English sentence left, and its tables of data stay as they are."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from promptpex.core.translation import from_data, reading_in
from promptpex.report.choices.csv_tables import candidates_csv, failures_csv
from promptpex.report.choices.page import html
from promptpex.report.choices.records import ChoicePage, PageCriterion, PageImplication
from tests.marked_language import Marked, ReadPage, data_of, unmarked
from tests.report.choices.choice_records import candidate, example, page

ORIGIN = PageCriterion("Names the year.", "Inclusion", "rule r1, “Name the year.”")
PAGES: dict[str, ChoicePage] = {
    "all": page(),
    "cut": page(
        candidates=(candidate(),) * 301,
        implications=page().implications * 201,
        versions=page().versions * 101,
        examples=(example(by=tuple(f"candidate_{number}" for number in range(30))),) * 301,
    ),
    "nothing": ChoicePage("p.md", "Nothing.", has_choice=False),
    "nothing chosen": ChoicePage("p.md", "Nothing.", has_choice=True, good=1, bad=1, unlabelled=2),
    "open": page(has_choice=False, candidates=(candidate(state="open", criteria=(ORIGIN,)),), examples=(example(),)),
    "implied": page(
        candidates=(
            candidate("a", "implied", why="by b and 2 more"),
            candidate("c", "never", why="a person said never"),
            candidate("d", "screened", kind="python, asks a judge", why="d fails all 3 examples"),
        ),
        implications=(PageImplication("a", "c", "the same code", "struck", "does not count: struck"),),
        followed=2,
    ),
}
FILES = ("candidates.csv", "failures.csv", "candidates.yaml", "versions.json")
PIECES = ("always.", "work")
"""Of the prompt, and of inputs that are shown as JSON."""


def translatable(text: str) -> bool:
    """Whether a text of the records is one that Vietnamese recognises."""
    return Marked().stored(text) != text


@pytest.mark.parametrize("name", PAGES)
def test_every_text_of_the_page_of_a_choice_is_of_the_catalogue(name: str) -> None:
    given = PAGES[name]
    known = {text for text in data_of(asdict(given)) if not translatable(text)} | {*FILES, *PIECES}
    with reading_in(Marked()):
        texts = ReadPage(html(given)).texts
    assert len(texts) > 5
    assert not sorted({rest for text in texts if (rest := unmarked(text, known))})


def test_what_a_judge_may_have_written_of_an_example_stays() -> None:
    by_code, by_judge = {"a": "the output is JSON"}, frozenset({"a"})
    shown = replace(example(by=("a",)), reasons=by_code)
    with reading_in("vi"):
        assert "đầu ra là JSON" in html(page(examples=(shown,)))
        assert "the output is JSON" in html(page(examples=(replace(shown, verbatim=by_judge),)))


def test_the_tables_of_a_choice_stay_english() -> None:
    given = PAGES["implied"]
    tables = (candidates_csv(given.candidates), failures_csv(given.examples))
    with reading_in("vi"):
        assert (candidates_csv(given.candidates), failures_csv(given.examples)) == tables
        assert from_data("screened") in html(given)
