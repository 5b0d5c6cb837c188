"""``docs/interchange.md`` is what ``scripts/interchange_page.py`` makes of the records of the formats."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import interchange_page  # noqa: E402

from promptpex import interchange  # noqa: E402
from promptpex.interchange.format import formats  # noqa: E402


def test_the_page_is_what_the_records_say() -> None:
    text = (ROOT / "docs" / "interchange.md").read_text(encoding="utf-8")
    assert text == interchange_page.page(), "run `python scripts/interchange_page.py > docs/interchange.md`"


def test_every_format_says_what_becomes_of_it() -> None:
    for name, format_ in formats(interchange).items():
        ways = {row.ways for row in format_.maps}
        assert ways, name
        assert format_.read is not None or not ways & {"in", "both"}, name
        assert format_.write is not None or not ways & {"out", "both"}, name
