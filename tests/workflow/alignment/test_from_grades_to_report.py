"""The whole loop on EvalGen's task, replayed: grades, criteria, candidates, choice, spec, judge, report card, report.

What a careful reader answered as author and as judge is in ``tests/data/grading_loop``; ``scripts/grading_loop.py`` has
the commands, and renews the recording when a template or the shape of a reply changes.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import OUTPUT_SUBJECT, Run, Spec, output_key
from promptpex.report import runs
from promptpex.specs.file import read_spec
from promptpex.synthesis.folder import read_candidates

ROOT = Path(__file__).parents[3]
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "grading_loop.py"))
KEPT: dict[str, str] = SCRIPT["kept"]()


@dataclass(frozen=True)
class Loop:
    """Where the loop ran, and what the commands printed: both report cards, and the last command of each name."""

    folder: Path
    cards: list[dict[str, Any]]
    printed: dict[str, str]

    @property
    def spec(self) -> Spec:
        return read_spec(self.folder / "prompt.spec.yaml")

    @property
    def run(self) -> Run:
        folder = runs.latest_of(self.folder / "results", "post-entities")
        assert folder is not None
        return runs.read(folder)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Loop:
    folder = tmp_path_factory.mktemp("loop")
    who = [f"replay/{SCRIPT['RECORDING']}", "--record", "again.jsonl"]
    done = Loop(folder, [], {})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for command in SCRIPT["commands"](folder, ["--author", *who], ["--judge", *who]):
            printed, notices = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(notices):
                code = run_cli(command)
            assert code == 0, (command, notices.getvalue())
            done.printed[command[0]] = printed.getvalue()
            if command[0] == "align":
                done.cards.append(json.loads(printed.getvalue()))
    return done


def test_every_recorded_request_is_put_again_and_no_other(loop: Loop) -> None:
    assert SCRIPT["asked"](loop.folder / "again.jsonl") == SCRIPT["asked"](SCRIPT["RECORDING"])


def test_it_comes_to_the_figures_of_the_recording(loop: Loop) -> None:
    page = (SCRIPT["RECORDING"].parent / "figures.md").read_text(encoding="utf-8")
    rows = [*SCRIPT["figures"](loop.folder, loop.printed), ("requests", SCRIPT["asked"](SCRIPT["RECORDING"]))]
    assert [row for row in rows if f"| {' | '.join(row)} |" not in page] == []


def test_criteria_of_notes_name_the_grades_behind_them(loop: Loop) -> None:
    person = SCRIPT["Person"]()
    (noted,) = [one for one in read_candidates(loop.folder / SCRIPT["CANDIDATES"]).criteria if one.notes]
    grades = {grade.id: grade for grade in person.grades(loop.folder)}
    assert {frozenset(person.broken[grades[name].key][0]) for name in noted.notes} == {frozenset({KEPT[noted.id]})}


def test_what_is_chosen_becomes_rules_that_fail_what_people_found_bad(loop: Loop) -> None:
    person, run = SCRIPT["Person"](), loop.run
    assert {rule.id for rule in loop.spec.rules if rule.origin == "synthesized"} == set(KEPT)
    inputs = {case.id: case.inputs for case in run.suite.cases}
    keys = {one.key: output_key(inputs[one.case], one.text or "") for one in run.outputs}
    for name, broken in KEPT.items():
        verdicts = [one for one in run.verdicts if one.rule == name]
        assert len(verdicts) == 24
        failed = {keys[one.key] for one in verdicts if one.status == "fail"}
        assert failed == {key for key in keys.values() if broken in person.broken[key][0]}


def test_cards_before_and_after_the_choice_and_the_judges_calibration(loop: Loop) -> None:
    before, after = loop.cards
    assert (before["kept"], after["kept"]) == (False, True)
    assert not [row for row in before["rows"] if row["kind"] == "judge"]
    for card in loop.cards:
        assert [one["sampled"] for one in card["labels"] if one["subject"] == OUTPUT_SUBJECT] == [24]
    measured = {rule.id: [(one.bad, one.good) for one in rule.judge] for rule in loop.spec.rules if rule.judge}
    assert measured == {"r6": [(4, 20)]}


def test_the_report_is_corrected_by_the_grades(loop: Loop) -> None:
    report = json.loads(loop.printed["report"])
    assert [(one["graded"], one["corrected"]) for one in report["corrected"]] == [(12, 4 / 12), (12, 8 / 12)]
    assert "Corrected by people's grades" in report["answer"]
    assert [(one["rule"], one["state"]) for one in report["calibrations"]] == [("r6", "current")]
