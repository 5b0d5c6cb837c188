"""The tutorial, followed as a newcomer would: its commands are run, its outputs held to what comes out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.command import in_process

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from follow_page import PageError, follow  # noqa: E402

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def promptpex(arguments: list[str], folder: Path) -> str:
    """What the command prints, progress and advice on stderr left out; only a gate may fail."""
    done = in_process(*arguments, cwd=folder, env={"COLUMNS": "80"})
    assert done.code == 0 or (done.code == 1 and arguments[0] == "gate"), done.err
    return done.out + (done.err if arguments[0] in ("validate", "gate") else "")


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    assert follow(PAGE, tmp_path, promptpex) == 13
    shop = tmp_path / "shop"
    assert (shop / "prompt.blessed.json").is_file()
    assert len(list((shop / "results" / "subject-line").glob("*/report.html"))) == 3


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```sh\npromptpex x\n```\n```text\nhello\n```\n", "line 4: the page shows\nhello"),
        ("```sh\nrm -r x\n```\n", "line 1: .* does not know how to do: rm -r x"),
        ("```sh\ncat > a <<'END'\none\nEND\n```\n```diff\n--- a\n-two\n+three\n```\n", "line 6: a does not have"),
    ],
)
def test_a_page_that_cannot_be_followed_is_found_out(page: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PageError, match=message):
        follow(page, tmp_path, lambda arguments, folder: "good bye\n")


def test_dots_stand_for_any_lines_and_ids_and_dates_for_each_other(tmp_path: Path) -> None:
    page = "```sh\npromptpex x\n```\n```text\nrun 0123456789\n...\nlast\n```\n"
    assert follow(page, tmp_path, lambda arguments, folder: "run abcdef0123\n1\n2\nlast\n\n") == 1
    with pytest.raises(PageError):
        follow(page, tmp_path, lambda arguments, folder: "run abcdef0123\nlast but one\n")
