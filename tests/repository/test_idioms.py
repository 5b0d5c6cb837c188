"""Messages, docstrings and pages keep to idiomatic English: habits of translated prose do not come back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted(path for suffix in ("py", "jinja") for path in (ROOT / "promptpex").rglob(f"*.{suffix}"))
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {ROOT / "CHANGELOG.md"})
SENT = {"promptpex/synthesis/history/categories.py"}
"""Files whose words are sent to models: recordings hold them."""
HABITS = (
    re.compile(r"(?<!there )\b(?:is|are) no (?!more\b|less\b|\w+er\b)\w+", re.IGNORECASE),
    re.compile(r"\b(?:has|have) not[.;,)]"),
)
SEAM = re.compile(r'"\s*\n\s*f?"|\s+')
"""Where a text goes on in the next line, or in the next literal."""


def habits(text: str) -> Iterator[str]:
    """What is found, with the words before it."""
    plain = SEAM.sub(lambda seam: "" if '"' in seam[0] else " ", text)
    for habit in HABITS:
        yield from (plain[max(0, hit.start() - 40) : hit.end()] for hit in habit.finditer(plain))


@pytest.mark.parametrize("paths", [CODE, PAGES], ids=["code", "pages"])
def test_no_sentence_reads_translated(paths: list[Path]) -> None:
    assert len(paths) > 20
    named = {path.relative_to(ROOT).as_posix(): path for path in paths}
    translated = {
        name: list(habits(path.read_text(encoding="utf-8"))) for name, path in named.items() if name not in SENT
    }
    assert {name: words for name, words in translated.items() if words} == {}


@pytest.mark.parametrize(
    ("text", "many"),
    [
        ("its key is no text", 1),
        ('fail("these are "\n        "no figures")', 1),
        ("what Jinja has not; write", 1),
        ("There is no text, and there are no figures", 0),
        ("it is no longer asked, and no greater than that; is no more", 0),
        ("the person has not graded it", 0),
    ],
)
def test_the_habits_are_found(text: str, many: int) -> None:
    assert len(list(habits(text))) == many
