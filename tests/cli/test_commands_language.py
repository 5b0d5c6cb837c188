"""What commands print has no English left in another language, but for data and what is wrong with files."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from promptpex.core.translation import reading_in
from tests.e2e.command import Done, in_process
from tests.marked_language import Marked, unmarked

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from follow_page import follow  # noqa: E402

pytestmark = pytest.mark.slow

PAGE = re.sub(r"^```text\n.*?^```$", "", (ROOT / "docs" / "tutorial.md").read_text("utf-8"), flags=re.M | re.S)
MARKS = re.compile(r"[⟦⟧]")
WIDE = {"COLUMNS": "2000"}
"""Columns in which nothing is folded or cut."""
NAMES = ("promptpex", "MODEL", "Holm", "CI", "kB", "FFR", "kappa", "judge:", "check:")


def marked(*arguments: str, cwd: Path) -> Done:
    with reading_in(Marked()):
        return in_process(*arguments, cwd=cwd, env=WIDE)


def english_left(printed: str, shown: str) -> set[str]:
    """Words of the marked output that stand outside marks, and are neither of a file nor a name.

    Args:
        shown: texts of the files, which are data.
    """
    rest = unmarked(" ".join(printed.split()), ())
    return {word for word in re.findall(r"[^\W\d_]{3,}", rest) if word not in shown}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Done]]:
    """The tutorial in the marked language: its folder, and how its commands ended."""
    folder = tmp_path_factory.mktemp("tutorial")
    (folder / "docs").symlink_to(ROOT / "docs")
    done: dict[str, Done] = {}

    def run(arguments: list[str], cwd: Path) -> str:
        ended = marked(*arguments, cwd=cwd)
        assert ended.code in (0, 1), ended.err
        done[" ".join(arguments)] = ended
        return ""

    follow(PAGE, folder, run)
    return folder / "shop", done


def data_in(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.suffix in (".md", ".yaml", ".toml", ".jsonl", ".json", ".csv")]
    texts = (path.read_text("utf-8") for path in files)
    return " ".join([*texts, *(str(path) for path in folder.rglob("*")), *NAMES])


def test_extracting_generating_running_and_comparing(followed: tuple[Path, dict[str, Done]]) -> None:
    folder, done = followed
    shown = " ".join([data_in(folder), *(MARKS.sub("", command) for command in done)])
    assert len(done) > 12
    for command, ended in done.items():
        if not command.startswith("validate"):
            left = english_left(f"{ended.out}\n{ended.err}", shown)
            assert not left, f"{command}: {sorted(left)}"
            assert "⟦" in ended.out


@pytest.mark.parametrize(
    "command",
    [
        "estimate prompt.md",
        "runs",
        "report latest",
        "runs prune --keep 1 --dry-run",
        "cache stats",
        "cache verify",
        "cache prune --failed --dry-run",
        "diff old.md prompt.md",
        "check rows.jsonl",
        "check rows.jsonl --put-up prompt.md",
        "generate prompt.md --dry-run",
        "extract prompt.md --update",
        "export promptfoo latest -o promptfoo.yaml",
        "align",
        "run prompt.md --models replay/recording.jsonl#nobody",
    ],
)
def test_other_commands(followed: tuple[Path, dict[str, Done]], command: str) -> None:
    folder, _ = followed
    (folder / "old.md").write_text((folder / "prompt.md").read_text("utf-8") + "Be kind.\n", "utf-8")
    rows = [{"id": "a", "output": "x", "assert": [{"type": kind, "value": "y"}]} for kind in ("contains", "question")]
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    ended = marked(*command.split(), cwd=folder)
    assert "⟦" in ended.out + ended.err
    shown = f"{data_in(folder)} {command} --models --max-cost"
    left = english_left(f"{ended.out}\n{ended.err}", shown)
    assert not left, f"{sorted(left)}\n{ended.out}\n{ended.err}"
