"""The pictures are small, load nothing, and each stands on a page."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"


def test_pictures_are_small_and_each_is_on_a_page() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    shown = set(re.findall(r"pictures/([\w.-]+)", pages))
    assert {path.name for path in PICTURES.iterdir()} == shown
    assert len(shown) >= 3
    assert max(path.stat().st_size for path in PICTURES.iterdir()) < 150_000
