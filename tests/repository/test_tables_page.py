"""``docs/tables.md`` is what ``scripts/tables_page.py`` makes of the columns."""

from __future__ import annotations

import sys
from pathlib import Path

from promptpex import tables

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from tables_page import FAMILIES, MEANINGS, TABLES, page  # noqa: E402

DOCS = ROOT / "docs" / "tables.md"


def test_the_page_is_what_the_columns_say() -> None:
    assert DOCS.read_text(encoding="utf-8") == page(), "run `python scripts/tables_page.py > docs/tables.md`"


def test_every_table_and_every_column_is_on_it_and_no_other() -> None:
    shown = [columns for _, columns in TABLES.values()]
    every = {name: getattr(tables, name) for name in tables.__all__ if name.endswith("_COLUMNS")}
    missing = [name for name, columns in every.items() if columns not in shown and name != "PROPORTION_COLUMNS"]
    assert not missing
    names = {column for columns in shown for column in columns}
    assert set(MEANINGS) <= names
    assert not [name for name in names - set(MEANINGS) if not name.endswith(tuple(FAMILIES))]
    assert all(callable(getattr(tables, name.partition("(")[0])) for name in TABLES)
