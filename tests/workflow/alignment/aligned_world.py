"""A folder of 20 outputs with candidates, verdicts and grades, and the card that ``promptpex align`` makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import Criterion, ReportCard, Rule, Spec
from tests.alignment.folders import AlignedFolder

LABELS = "g" * 12 + "b" * 8
COLUMNS = {
    "calm": "p" * 12 + "ffffpppp",
    "ask_calm": "p" * 12 + "ffffpppp",
    "loud": "f" * 6 + "p" * 6 + "f" * 8,
    "city": "p" * 16 + "fffe",
    "ask_tone": "f" * 6 + "p" * 14,
}
CRITERIA = {"calm": "c1", "ask_calm": "c1", "loud": "c1", "city": "c2", "ask_tone": "c3"}
KNOWN = (
    Criterion(id="c1", text="The reply stays calm.", rule="r1"),
    Criterion(id="c2", text="The reply names the city.", rule="r2"),
)
RULES = (
    Rule(id="r1", rule="The reply stays calm."),
    Rule(id="r2", rule="The reply names the city.", needs="input"),
)
SPEC = Spec(prompt="trip.md", rules=RULES)
VERDICTS = {
    ("r1", "check:regex"): "p" * 12 + "ffffpppp",
    ("r1", "judge:gpt"): "fp" * 6 + "ffffpppp",
    ("r2", "judge:gpt"): "p" * 16 + "fffu",
}


def aligned_world(folder: Path) -> AlignedFolder:
    """20 outputs, of which people call 12 good; 4 of the others break r1, and 4 r2."""
    made = AlignedFolder(folder, "-" * 20, COLUMNS, CRITERIA).write(KNOWN, spec=SPEC)
    made.run(VERDICTS, SPEC, scores={"clarity": [number / 20 for number in range(20)]})
    return made


def graded(world: AlignedFolder) -> AlignedFolder:
    world.grade(LABELS)
    world.grade("-" * 12 + "bbbbgggg", "r1", "The reply stays calm.")
    world.grade("-" * 16 + "bbbb", "r2", "The reply names the city.")
    return world


def card_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> ReportCard:
    assert run_cli(["align", "--json", "-q", *arguments]) == 0
    return ReportCard.model_validate_json(capsys.readouterr().out)


def rows(card: ReportCard) -> dict[tuple[str, str, tuple[str, ...]], Any]:
    return {(row.kind, row.subject, row.by): row for row in card.rows}
