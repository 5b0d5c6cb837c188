"""The tutorial, followed as a newcomer would: its commands are run, its outputs held to what comes out."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.e2e.command import in_process

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from follow_page import follow  # noqa: E402

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
    (case,) = re.findall(r"^```yaml\n(  - id: r1-1\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert case in (shop / "prompt.cases.yaml").read_text(encoding="utf-8")
    files = (shop / "results").rglob("*.jsonl")
    written = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    (shown,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    parts = [json.loads(line).items() for line in shown.splitlines()]
    assert parts
    assert all(any(part <= line.items() for line in written) for part in parts)
