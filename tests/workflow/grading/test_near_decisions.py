"""Outputs that a near decision hangs on are weighed when the next one to grade is chosen."""

from __future__ import annotations

from pathlib import Path

from promptpex.core.records import output_key
from promptpex.workflow.grading.near_decisions import NEAR, near_decisions
from promptpex.workflow.grading.open_desk import GradingWishes, open_desk
from tests.workflow.alignment.graded_run import kept, made


def test_they_are_those_of_both_models_on_cases_on_which_the_verdicts_differ(tmp_path: Path) -> None:
    run = made(tmp_path, cases=12)
    failed = {verdict.key for verdict in run.verdicts if verdict.status == "fail"}
    inputs = {case.id: case.inputs for case in run.suite.cases}
    differ = {one.case for one in run.outputs if ((one.case, "a", 0) in failed) != ((one.case, "b", 0) in failed)}
    assert 0 < len(differ) < 12
    wanted = {output_key(inputs[one.case], one.text or ""): NEAR for one in run.outputs if one.case in differ}
    assert near_decisions([run]) == wanted


def test_a_decision_that_is_clear_and_a_single_model_leave_all_alike(tmp_path: Path) -> None:
    clear = made(tmp_path, cases=240, seen=1.0)
    assert near_decisions([clear]) == {}
    assert near_decisions([made(tmp_path, cases=12, models=("a",))]) == {}
    assert near_decisions([made(tmp_path, cases=12).replace(verdicts=())]) == {}


def test_the_desk_of_a_run_knows_them(tmp_path: Path) -> None:
    run = made(tmp_path, cases=12)
    place = kept(run, tmp_path)
    wishes = GradingWishes(prompt=tmp_path / "prompt.md")
    project = open_desk([place], tmp_path / "results", wishes, lambda event: None)
    assert project.desk.weights == near_decisions([run]) != {}
