from __future__ import annotations

from pathlib import Path

from promptpex import tables
from promptpex.tables.page import MEANINGS, TABLES, page

DOCS = Path(__file__).parents[2] / "docs" / "tables.md"


def test_the_page_is_what_the_columns_say() -> None:
    assert DOCS.read_text(encoding="utf-8") == page(), "run `python -m promptpex.tables > docs/tables.md`"


def test_every_table_and_every_column_is_on_it_and_no_other() -> None:
    told = [columns for _, columns in TABLES.values()]
    every = {name: getattr(tables, name) for name in tables.__all__ if name.endswith("_COLUMNS")}
    missing = [name for name, columns in every.items() if columns not in told and name != "SHARE_COLUMNS"]
    assert not missing
    assert {column for columns in told for column in columns} == set(MEANINGS)
    assert all(callable(getattr(tables, name.partition("(")[0])) for name in TABLES)
