"""Judges are held against people's random grades, and what comes of it stands in the spec."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from promptpex.core.events import ignore_events
from promptpex.core.ids import text_digest
from promptpex.core.records import KEY_LENGTH, Run
from promptpex.specs.file import read_spec, write_spec
from promptpex.synthesis.examples import examples_of
from promptpex.workflow.calibrating import Calibrated, calibrate
from promptpex.workflow.grading_desk import GradingWishes, open_desk
from tests.e2e.command import in_process
from tests.workflow.alignment.graded_run import FINGERPRINT, JUDGE, RULE, graded, kept, made

DAY = date(2026, 3, 1)


def tried(place: Path, folder: Path, day: date = DAY) -> Calibrated:
    project = open_desk([place], folder / "results", GradingWishes(prompt=folder / "prompt.md"), ignore_events)
    return calibrate(project, day)


def graded_run(folder: Path, share: float = 0.5) -> tuple[Run, Path]:
    run = made(folder, cases=100)
    place = kept(run, folder)
    graded(run, folder, share, subject="r1")
    return run, place


def test_a_spec_says_how_far_its_judge_agrees_with_people(tmp_path: Path) -> None:
    run, place = graded_run(tmp_path)
    made_of = tried(place, tmp_path)
    (one,) = read_spec(tmp_path / "prompt.spec.yaml").rules[0].judge
    assert made_of.calibrations == {"r1": (one,)}
    assert (one.judge, one.fingerprint, one.rule_digest, one.date) == (JUDGE, FINGERPRINT, RULE.digest, "2026-03-01")
    assert (one.outputs, one.bad + one.good) == (100, 100)
    assert one.specificity.estimate == 1.0
    assert one.sensitivity.estimate == pytest.approx(0.5, abs=0.15)
    assert one.sensitivity.low < 0.5 < one.sensitivity.high < 0.9
    assert one.kappa.estimate == pytest.approx(0.6, abs=0.15)
    assert made_of.sentence() == "prompt.spec.yaml now says how far the judges agree with people on 1 rule."
    assert run.spec.digest == read_spec(tmp_path / "prompt.spec.yaml").digest


def test_measuring_the_same_again_changes_no_byte(tmp_path: Path) -> None:
    _, place = graded_run(tmp_path)
    tried(place, tmp_path)
    text = (tmp_path / "prompt.spec.yaml").read_bytes()
    again = tried(place, tmp_path, date(2026, 4, 1))
    assert (tmp_path / "prompt.spec.yaml").read_bytes() == text
    assert again.sentence() == "prompt.spec.yaml already says how far the judges agree with people on 1 rule."


def test_further_grades_take_the_place_and_other_judges_stay(tmp_path: Path) -> None:
    run, place = graded_run(tmp_path, 0.2)
    tried(place, tmp_path)
    path = tmp_path / "prompt.spec.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(JUDGE, "openai/other"), encoding="utf-8")
    (tmp_path / "prompt.grades.jsonl").unlink()
    graded(run, tmp_path, 0.4, subject="r1")
    tried(place, tmp_path)
    tried(place, tmp_path)
    assert [(one.judge, one.outputs) for one in read_spec(path).rules[0].judge] == [("openai/other", 40), (JUDGE, 80)]


def test_grades_that_a_policy_chose_measure_no_judge(tmp_path: Path) -> None:
    run = made(tmp_path)
    place = kept(run, tmp_path)
    graded(run, tmp_path, 0.5, subject="r1", policy="highest")
    text = (tmp_path / "prompt.spec.yaml").read_bytes()
    made_of = tried(place, tmp_path)
    assert (made_of.calibrations, made_of.untried, made_of.changed) == ({}, {"r1": 0}, False)
    assert "r1 was not calibrated: no output of the random sample is graded on it" in made_of.sentence()
    assert (tmp_path / "prompt.spec.yaml").read_bytes() == text


def test_what_a_judge_was_shown_and_a_rule_that_reads_otherwise_now_measure_nothing(tmp_path: Path) -> None:
    run, place = graded_run(tmp_path, 1.0)
    assert tried(place, tmp_path).calibrations["r1"][0].outputs == 200
    kept(run.replace(manifest=run.manifest.replace(settings={"judge_examples": 3})), tmp_path)
    assert 100 < tried(place, tmp_path).calibrations["r1"][0].outputs < 190
    path = tmp_path / "prompt.spec.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(RULE.rule, "The answer is kind."), encoding="utf-8")
    assert tried(place, tmp_path).sentence().startswith("No judge gave a verdict on a rule of the current spec")


def test_a_text_that_a_judge_was_shown_measures_nothing_by_a_rule_that_the_output_alone_decides(tmp_path: Path) -> None:
    run, place = graded_run(tmp_path, 1.0)
    measured = [one for one in examples_of(run).examples if not one.is_shown]
    shown = run.manifest.replace(settings={"judge_examples": 3})
    kept(run.replace(manifest=shown), tmp_path)
    assert tried(place, tmp_path).calibrations["r1"][0].outputs == len(measured)
    texts = tuple(text_digest(one.output, KEY_LENGTH) for one in measured[:5])
    kept(run.replace(manifest=shown.replace(shown=texts)), tmp_path)
    assert tried(place, tmp_path).calibrations["r1"][0].outputs == len(measured) - 5
    needs_input = run.spec.rules[0].replace(needs="input")
    (tmp_path / "prompt.spec.yaml").unlink()
    write_spec(tmp_path / "prompt.spec.yaml", run.spec.replace(rules=(needs_input,)))
    with_input = run.replace(manifest=shown.replace(shown=texts), spec=run.spec.replace(rules=(needs_input,)))
    kept(with_input, tmp_path)
    assert tried(place, tmp_path).calibrations["r1"][0].outputs == len(measured)


def test_a_rule_of_which_a_part_of_the_random_sample_is_open_says_how_much(tmp_path: Path) -> None:
    run, place = graded_run(tmp_path, 0.1)
    wholes = graded(run, tmp_path, 0.2)
    bad = sum(one.value == "bad" for one in wholes[len(wholes) // 2 :])
    assert bad > 1
    made_of = tried(place, tmp_path)
    assert made_of.untried == {"r1": bad}
    open_outputs = f"r1 was not calibrated: {bad} outputs of the random sample are still to be graded on it"
    assert made_of.sentence() == f"{open_outputs} (promptpex grade --on r1)."


def test_verdicts_that_do_not_say_which_judge_gave_them_measure_none(tmp_path: Path) -> None:
    run = made(tmp_path)
    strange = run.replace(verdicts=tuple(verdict.replace(fingerprint="../x") for verdict in run.verdicts))
    place = kept(strange, tmp_path)
    graded(run, tmp_path, 0.5, subject="r1")
    assert tried(place, tmp_path).untried == {"r1": 0}


def test_without_a_spec_file_nothing_is_written(tmp_path: Path) -> None:
    _, place = graded_run(tmp_path)
    (tmp_path / "prompt.spec.yaml").unlink()
    made_of = tried(place, tmp_path)
    assert made_of.calibrations["r1"]
    assert made_of.sentence() == "The prompt has no spec file in which to keep its judges' calibrations."
    assert not (tmp_path / "prompt.spec.yaml").exists()


def test_align_writes_it_unless_told_not_to_and_the_report_shows_it(tmp_path: Path) -> None:
    _, place = graded_run(tmp_path)
    text = (tmp_path / "prompt.spec.yaml").read_bytes()
    left = in_process("align", str(place), "--no-calibration", cwd=tmp_path)
    assert (left.code, "now says" in left.out) == (0, False)
    assert (tmp_path / "prompt.spec.yaml").read_bytes() == text
    done = in_process("align", str(place), cwd=tmp_path)
    assert done.code == 0
    assert "prompt.spec.yaml now says how far the judges agree with people on 1 rule." in done.out
    (one,) = read_spec(tmp_path / "prompt.spec.yaml").rules[0].judge
    shown = " ".join(in_process("report", str(place), "--full", cwd=tmp_path, env={"COLUMNS": "200"}).out.split())
    assert f"r1 {JUDGE} of {one.date} 100" in shown
    assert "not held against people" not in (place / "report.html").read_text(encoding="utf-8")
    as_json = in_process("align", str(place), "--json", "-q", cwd=tmp_path)
    assert json.loads(as_json.out)["prompt"] == tmp_path.name
    assert "already says" in as_json.err


def test_a_changed_judge_and_a_reworded_rule_make_it_stale_in_the_report(tmp_path: Path) -> None:
    run, place = graded_run(tmp_path)
    tried(place, tmp_path)
    other = tuple(verdict.replace(fingerprint="f" * 16) for verdict in run.verdicts)
    kept(run.replace(verdicts=other), tmp_path)
    page = place / "report.html"
    in_process("report", str(place), cwd=tmp_path)
    assert "stale: the judge or what it is shown has changed" in page.read_text(encoding="utf-8")
    reworded = run.spec.rules[0].replace(rule="The answer is kind.")
    kept(run.replace(spec=run.spec.replace(rules=(reworded,))), tmp_path)
    in_process("report", str(place), cwd=tmp_path)
    assert "stale: the rule was reworded" in page.read_text(encoding="utf-8")


def test_a_calibration_says_by_whose_labels_it_is(tmp_path: Path) -> None:
    _, place = graded_run(tmp_path)
    path = tmp_path / "prompt.spec.yaml"
    tried(place, tmp_path)
    assert "graders" not in path.read_text(encoding="utf-8"), "the default is not written"
    name = json.loads((tmp_path / "prompt.grades.jsonl").read_text(encoding="utf-8").splitlines()[0])["grader"]
    done = in_process("align", str(place), "--graders", name, "--unsure-is-bad", cwd=tmp_path)
    assert done.code == 0, done.err
    options = f"--graders {name} --unsure-is-bad"
    shown = " ".join(done.out.split())
    assert "This replaces a calibration on r1 whose labels were made differently" in shown
    assert f"(the majority of the graders; now {options})." in shown
    (one,) = read_spec(path).rules[0].judge
    assert (one.graders, one.unsure, one.label_options) == (name, "bad", options)
    again = in_process("align", str(place), "--graders", name, "--unsure-is-bad", cwd=tmp_path)
    assert "This replaces" not in " ".join(again.out.split())
    back = in_process("align", str(place), cwd=tmp_path)
    assert f"({options}; now the majority of the graders)." in " ".join(back.out.split())
    assert "graders" not in path.read_text(encoding="utf-8")
