"""Outputs of production that are put up for grading, on the report card of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import Example, Grade, output_key
from promptpex.documents.human_grades import append_grades
from promptpex.promptfile import read, sibling
from tests.alignment.folders import AlignedFolder
from tests.workflow.alignment.aligned_world import LABELS, SPEC, VERDICTS, aligned_world, card_of, rows

PRODUCTION = "bbbbbbggg---"
"""What people say of them, in this order."""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AlignedFolder:
    monkeypatch.chdir(tmp_path)
    made = aligned_world(tmp_path)
    made.grade(LABELS, policy="random", probability=0.5)
    made.grade("-" * 12 + "bbbbgggg", "r1", "The reply stays calm.", policy="random", probability=0.5)
    return made


def put_up(world: AlignedFolder) -> list[Example]:
    """Puts outputs up, and grades the first of them by a policy."""
    version = read(world.prompt).fingerprint
    inputs = [{"city": f"Live {number}"} for number in range(len(PRODUCTION))]
    made = [
        Example(id=output_key(each, "live"), inputs=each, output="live", put_up="2026-03-02", version=version)
        for each in inputs
    ]
    world.folder.write_examples([*world.folder.read_examples(), *made])
    grade(world, made, PRODUCTION, policy="highest")
    return made


def grade(world: AlignedFolder, items: Sequence[Example], signs: str, **more: Any) -> None:
    values = {"g": "good", "b": "bad"}
    grades = [
        Grade.of(
            inputs=item.inputs,
            output=item.output,
            time=f"2026-03-02T09:{number:02}:00+00:00",
            grader="ada",
            case="production",
            model="production",
            value=values[sign],
            **more,
        )
        for number, (item, sign) in enumerate(zip(items, signs, strict=True))
        if sign in values
    ]
    append_grades(sibling(world.prompt, "grades"), grades)


def test_what_is_put_up_later_takes_nothing_from_the_random_sample_of_the_run(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    before = card_of(capsys)
    put_up(world)
    after = card_of(capsys)
    judge = ("judge", "r1", ("judge:gpt",))
    assert rows(after)[judge].sample == rows(before)[judge].sample is not None
    old, new = before.labels[0], after.labels[0]
    assert (old.sampled, old.sampled_bad, new.outputs - old.outputs) == (20, 8, 12)
    assert (new.sampled, new.sampled_bad, new.bad_share) == (old.sampled, old.sampled_bad, old.bad_share)
    assert before.production is None
    assert after.production is not None
    assert (after.production.outputs, after.production.good, after.production.bad) == (12, 3, 6)
    assert run_cli(["align", "--no-calibration"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Random sample: 20 outputs. By it people call 40%" in text
    assert "12 of these outputs come from production: 9 graded, 3 good and 6 bad." in text


def test_production_has_a_random_sample_of_its_own(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    grade(world, put_up(world)[9:], "ggg")
    assert run_cli(["align", "--no-calibration"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "By their own random sample (12 outputs) people call 50% (21–79%) of them bad." in text


def test_an_edit_is_measured_on_the_outputs_of_the_runs(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    world.run(VERDICTS, SPEC, name="r0", texts={number: f"old {number}" for number in range(4)})
    put_up(world)
    card = card_of(capsys, "results/trip/r1", "--compare-to", "results/trip/r0")
    (people,) = [one for one in card.effects if one.kind == "people" and one.what == "output"]
    assert (people.after.n, people.after.estimate) == (20, 8 / 20)


def test_what_is_graded_before_candidates_were_run_on_it_stops_no_choice(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--ffr", "50%", "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    put_up(world)
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--ffr", "50%", "--json"]) == 0
    after = json.loads(capsys.readouterr().out)
    assert after["criteria"] == before["criteria"]
    left_out = "9 graded outputs of production are left out until `promptpex synthesize PROMPT --author none` runs"
    assert any(notice.startswith(left_out) for notice in after["notices"])
    assert run_cli(["align", "--no-calibration"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The chosen set, on grades that had no part in choosing it" in text
    assert left_out in text
    assert run_cli(["synthesize", "trip.md", "--author", "none", "--judge", "none"]) == 0
    capsys.readouterr()
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--ffr", "50%", "--json"]) == 0
    assert not any("left out until" in notice for notice in json.loads(capsys.readouterr().out)["notices"])
