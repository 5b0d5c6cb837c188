"""The page on security names tests that there are, for each of its lines."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w./]+\.py)(?:::(\w+))?`")


def lines() -> list[str]:
    """The lines of the table of who may do what."""
    table = TEXT.partition("## Who may do what")[2].partition("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("| ")][1:]


def is_there(path: str, name: str) -> bool:
    """Whether there is such a file and, where one is named, such a test in it."""
    if not (ROOT / path).is_file():
        return False
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return not name or name in {getattr(node, "name", None) for node in tree.body}


@pytest.mark.parametrize("line", lines(), ids=lambda line: line.split("|")[1].strip())
def test_each_line_of_the_table_is_held_by_tests_that_there_are(line: str) -> None:
    named = NAMED.findall(line)
    assert named
    assert [where for where in named if not is_there(*where)] == []


def test_every_test_that_the_page_names_is_there() -> None:
    assert len(lines()) >= 11
    assert [where for where in NAMED.findall(TEXT) if not is_there(*where)] == []
