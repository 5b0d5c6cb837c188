"""A capable author's answers, recorded, still make the benchmark's spec and cases; and what these come to.

When a stage template or the shape of a reply changes, the recording is renewed:
``python scripts/stage_evidence.py --record tests/data/stage_recordings/repair-triage --author ... --api-base ...``
"""

from __future__ import annotations

import asyncio
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.errors import InputError
from promptpex.documents.yaml_reader import load
from promptpex.promptfile import sibling

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "tests" / "data" / "stage_recordings").glob("*/recording.jsonl"))
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "stage_evidence.py"))

each_recording = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)


def test_there_is_a_recording() -> None:
    assert FOLDERS


@each_recording
def test_the_recorded_answers_make_the_spec_and_the_cases(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = SCRIPT["prompt_of"](folder)
    shutil.copy(original, tmp_path / "prompt.md")
    shutil.copy(folder / "recording.jsonl", tmp_path)
    monkeypatch.chdir(tmp_path)
    author = ["--author", "replay/recording.jsonl", "--store", "store.db"]
    for command in SCRIPT["commands"](folder, author):
        prompt = str(tmp_path / "prompt.md")
        assert run_cli([prompt if part == str(original) else part for part in command]) == 0, capsys.readouterr().err
    for kind in ("spec", "cases"):
        assert _data(sibling(tmp_path / "prompt.md", kind)) == _data(sibling(original, kind))


def _data(path: Path) -> Any:
    """What a file says, but for the hashes of what cases depend on, which the author's name is part of."""
    data = load(path.read_text("utf-8"), error=InputError, what="file", path=path).data
    for case in data.get("cases", ()):
        case.pop("inputs_fingerprint")
    return data


def test_what_a_capable_author_makes_of_a_long_prompt() -> None:
    (folder,) = (path for path in FOLDERS if path.name == "repair-triage")
    one = asyncio.run(SCRIPT["evidence"](folder))
    assert len(one.covered) >= 0.9 * len(one.countable)
    assert 3 * sum(promise.needs == "input" for promise in one.truths.promises) >= len(one.truths.promises) >= 35
    aimed = {case.rule for case in one.suite.usable()}
    assert aimed >= {rule.id for rule in one.spec.rules if rule.needs == "input"}
    assert one.checked.false_passes == ()
    verdicts = one.checked.outputs * (one.checked.wholly + one.checked.partly)
    assert len(one.checked.false_failures) <= 0.02 * verdicts
    assert one.checked.wholly >= 13


def test_a_capable_judge_finds_wrong_decisions_and_is_not_talked_round() -> None:
    (folder,) = (path for path in FOLDERS if path.name == "repair-triage")
    rows = asyncio.run(SCRIPT["judged"](folder, f"replay/{folder / 'judged.jsonl'}", None))
    of_kind = {kind: [row for row in rows if row.output.planted == kind] for kind in SCRIPT["PLANTED"]}
    assert {kind: len(some) for kind, some in of_kind.items()} == SCRIPT["PLANTED"]
    assert [row.output.id for kind in ("decision", "to-the-judge") for row in of_kind[kind] if not row.is_right] == []
    blamed = [(row.output.id, row.failed) for row in of_kind["odd"] if not row.is_right]
    assert blamed == []
