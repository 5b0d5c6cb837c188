"""Prints the page of the tables: ``python -m promptpex.tables > docs/tables.md``."""

from __future__ import annotations

import sys

from promptpex.tables.page import page

if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
