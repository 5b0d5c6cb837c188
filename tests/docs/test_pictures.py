"""The pictures: the terminal's says what the demo prints, all are small, and each stands on a page."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXT = re.compile(r'<text class="[^"]*-r\d+" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+"[^>]*>(.*?)</text>')
SIGN = 12.2
"""The width of a sign in the picture."""


def test_the_terminal_shows_what_the_demo_prints() -> None:
    """As README has it, which ``tests/cli/test_demo.py`` holds to the command."""
    lines: dict[float, dict[int, str]] = defaultdict(dict)
    for x, y, text in TEXT.findall((PICTURES / "terminal.svg").read_text(encoding="utf-8")):
        lines[float(y)][round(float(x) / SIGN)] = html.unescape(text).replace("\xa0", " ")
    drawn = []
    for _, parts in sorted(lines.items()):
        line = ""
        for column, text in sorted(parts.items()):
            line = line.ljust(column) + text
        drawn.append(line.rstrip())
    (screen,) = re.findall(r"^```text\n(Recorded answers .*?)\n```$", README, re.MULTILINE | re.DOTALL)
    assert [line for line in drawn if line] == ["$ promptpex demo", *(line for line in screen.splitlines() if line)]


def test_pictures_are_small_and_each_is_on_a_page() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    shown = set(re.findall(r"pictures/([\w.-]+)", pages))
    assert {path.name for path in PICTURES.iterdir()} == shown
    assert len(shown) >= 3
    assert max(path.stat().st_size for path in PICTURES.iterdir()) < 150_000


def test_no_picture_loads_anything() -> None:
    drawn = (PICTURES / "terminal.svg").read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"' )]+", drawn) == ["http://www.w3.org/2000/svg"]
