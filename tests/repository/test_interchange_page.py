"""``docs/interchange.md`` is what ``scripts/interchange_page.py`` makes of the records of the formats."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import interchange_page  # noqa: E402


def test_the_page_is_what_the_records_say() -> None:
    text = (ROOT / "docs" / "interchange.md").read_text(encoding="utf-8")
    assert text == interchange_page.page(), "run `python scripts/interchange_page.py > docs/interchange.md`"
