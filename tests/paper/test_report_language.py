"""The evaluation's tables in a terminal have no English left in another language."""

from __future__ import annotations

from rich.table import Table

from promptpex.core.translation import reading_in
from promptpex.paper import averages, result_tables
from promptpex.paper.report import WORDS, tables_for_terminal
from promptpex.tables.frames import typed
from tests.marked_language import Marked, unmarked
from tests.paper.test_report import LONG, agreement, contrast, shown

DATA = ("shakespearean-writing-assistant", LONG, "b", "m", "malformed", "Planted words.")
KINDS = ("generated cases valid", "baseline cases valid", "rules grounded", "broken outputs of valid cases")


def every_table() -> result_tables.Tables:
    bound = contrast((3, 9), (10, 40)) | {"first_at_least": True, "difference": None}
    tables = {
        "table2": typed([bound, contrast((0, 0), (1, 30))], result_tables.CONTRAST_COLUMNS),
        "table3": typed(
            [contrast((3, 9), (10, 40)) | {"first": "rules", "second": "inverse"}], result_tables.CONTRAST_COLUMNS
        ),
        "agreement": typed([agreement(19, 3, (31, 21)), agreement(0, 0, (0, 0))], result_tables.AGREEMENT_COLUMNS),
        "shares": result_tables.shares([result_tables.share("b", kind, [True, None]) for kind in KINDS]),
        "failed": result_tables.failed([("b", "malformed", "Planted words.")]),
    }
    both = {name: tables[name] for name in ("table2", "table3")}
    agreed = averages.spec_agreement(tables["agreement"])
    return {**tables, "averages": averages.averages(both), "spec_agreement": agreed}


def texts_of(table: Table) -> list[str]:
    """Title, note, headers and cells."""
    cells = [str(text) for column in table.columns for text in (column.header, *column.cells)]
    return [str(table.title), str(table.caption or ""), *cells]


def test_every_text_of_the_tables_is_of_the_catalogue() -> None:
    tables = every_table()
    assert all(len(table) for table in tables.values())
    with reading_in(Marked()):
        texts = [text for table in tables_for_terminal(tables) for text in texts_of(table)]
    assert "".join(texts).count("⟦") > 60
    assert not {rest for text in texts if (rest := unmarked(text, DATA))}


def test_words_that_tables_keep_are_those_that_are_shown_in_other_words() -> None:
    tables = every_table()
    sides = {side for name in ("table2", "table3") for end in ("first", "second") for side in tables[name][end]}
    assert {*sides, *tables["shares"]["what"]} == set(WORDS)


def test_the_tables_in_vietnamese() -> None:
    with reading_in("vi"):
        text = " ".join(shown(every_table()).split())
    assert "Đầu ra vi phạm quy tắc: ca được sinh và ca đối chứng" in text
    assert "0,250" in text
