"""People's grades reach the report: corrected figures beside the measured ones, and nothing without grades."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from promptpex.core.records import OUTPUT_SUBJECT, Run
from promptpex.documents.human_grades import append_grades
from promptpex.grading.book import GradeBook, subjects_of
from promptpex.report import runs, summarise, to_dict
from promptpex.synthesis.examples import examples_of
from promptpex.tables import MODEL_COLUMNS
from promptpex.tables.peoples_grades import item_number
from promptpex.workflow.peoples_grades import grades_of_run
from tests.e2e.command import in_process
from tests.workflow.alignment.graded_run import graded, is_rude, kept, made


def csv_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "report.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def without_grades_and_with(run: Run, folder: Path, share: float) -> tuple[dict[str, bytes], dict[str, bytes], Path]:
    place = kept(run, folder)
    names = ("report.csv", "report.html", "results.csv", "verdicts.csv")
    texts = []
    for grade in (False, True):
        if grade:
            graded(run, folder, share)
        assert in_process("report", str(place), cwd=folder).code == 0
        texts.append({name: (place / name).read_bytes() for name in names})
    return texts[0], texts[1], place


def test_grades_add_columns_and_change_no_other(tmp_path: Path) -> None:
    bare, with_grades, place = without_grades_and_with(made(tmp_path), tmp_path, 0.5)
    assert bare["results.csv"] == with_grades["results.csv"]
    assert bare["verdicts.csv"] == with_grades["verdicts.csv"]
    old, new = (
        [line.split(",") for line in texts["report.csv"].decode().splitlines()] for texts in (bare, with_grades)
    )
    assert old[0] == list(MODEL_COLUMNS)
    assert [line[: len(old[0])] for line in new] == old
    assert b"Corrected by" not in bare["report.html"]
    assert in_process("report", str(place), cwd=tmp_path).code == 0
    assert (place / "report.html").read_bytes() == with_grades["report.html"]


def test_the_corrected_share_holds_what_the_judge_let_pass(tmp_path: Path) -> None:
    run = made(tmp_path, cases=200)
    *_, place = without_grades_and_with(run, tmp_path, 0.5)
    rows = {row["model"]: row for row in csv_rows(place)}
    for model in ("a", "b"):
        texts = [output.text or "" for output in run.outputs if output.model == model]
        truth, row = sum(map(is_rude, texts)) / len(texts), rows[model]
        assert float(row["non_compliance"]) < 0.75 * truth
        assert float(row["corrected"]) == pytest.approx(truth, abs=0.05)
        assert float(row["corrected_low"]) < truth < float(row["corrected_high"])
        assert int(row["grades_alone"]) > int(row["graded"]) > 80
    truth = 0.2
    gap = [abs(float(row["corrected_difference"])) for row in rows.values() if row["corrected_difference"]]
    assert gap
    assert gap[0] == pytest.approx(truth, abs=0.08)


def test_the_report_says_it_in_words(tmp_path: Path) -> None:
    run = made(tmp_path, cases=100)
    place = kept(run, tmp_path)
    graded(run, tmp_path, 0.8)
    done = in_process("report", str(place), "--full", cwd=tmp_path, env={"COLUMNS": "200"})
    assert (done.code, done.err) == (0, "")
    text = " ".join(done.out.split())
    assert "Corrected by people's grades the non-compliance is: a " in text
    assert " grades of a with the verdicts tell as much as " in text
    assert "the majority of the graders decides" in text
    assert "openai/judge not calibrated" in text
    page = (place / "report.html").read_text(encoding="utf-8")
    assert "Corrected by people&#39;s grades" in page
    assert "not held against people: openai/judge not calibrated" in page
    as_json = json.loads(in_process("report", str(place), "--json", cwd=tmp_path).out)
    assert [row["model"] for row in as_json["corrected"]] == ["a", "b"]
    assert as_json["graded"] == 160


def test_few_grades_come_with_a_warning_and_one_gives_no_figure(tmp_path: Path) -> None:
    run = made(tmp_path)
    place = kept(run, tmp_path)
    graded(run, tmp_path, 0.2)
    done = in_process("report", str(place), cwd=tmp_path)
    assert "Fewer than 30 grades of a and b: treat this as a rough guide." in " ".join(done.out.split())
    (tmp_path / "prompt.grades.jsonl").unlink()
    (only,) = graded(run, tmp_path, 1 / 160)
    in_process("report", str(place), cwd=tmp_path)
    rows = {row["model"]: row for row in csv_rows(place)}
    assert {model: (row["graded"], row["corrected"]) for model, row in rows.items()} == {
        "a": ("1" if only.model == "a" else "0", ""),
        "b": ("1" if only.model == "b" else "0", ""),
    }


def test_grades_that_a_policy_chose_do_not_count(tmp_path: Path) -> None:
    run = made(tmp_path)
    chosen = grades_of_run(run, graded(run, tmp_path, 0.5, policy="highest"))
    assert chosen.graded == 80
    assert chosen.broken == {"a": {}, "b": {}}


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_graded_run_read_from_its_folder_gives_the_figures_of_the_whole(share: float, tmp_path: Path) -> None:
    run = made(tmp_path, cases=24)
    texts = [output.replace(text="the same") if output.case in ("c3", "c4") else output for output in run.outputs]
    lost = run.outputs[5].replace(text=None, error="timed-out")
    run = run.replace(outputs=(*texts[:5], lost, *texts[6:]))
    place, grades = kept(run, tmp_path), graded(run, tmp_path, share)
    stored = runs.read_for_report(place)
    people, of_stored = (grades_of_run(each, grades) for each in (run, stored))
    assert people == of_stored
    whole, read = (to_dict(summarise(each, people=people)) for each in (run, stored))
    assert whole == read
    assert whole["corrected"][0]["graded"] > 2


@pytest.mark.parametrize("with_shown", [True, False])
def test_the_sample_is_that_of_all_items(with_shown: bool, tmp_path: Path) -> None:
    run = made(tmp_path)
    run = run if with_shown else run.replace(manifest=run.manifest.replace(settings={"judge_examples": 3}))
    grades = graded(run, tmp_path, 0.4)
    del grades[40:44]
    book = GradeBook.of(grades, subjects_of(run.spec.rules))
    for model in ("a", "b"):
        items = [item for item in examples_of(run).examples if item.model == model]
        wanted = [item for item in items if with_shown or not item.is_shown]
        sample = book.random_sample(OUTPUT_SUBJECT, wanted)
        assert {item_number(item.id) for item in sample} == set(grades_of_run(run, grades).broken[model])
        assert 5 < len(sample) < len(wanted)


def test_what_judges_were_shown_measures_none_of_them(tmp_path: Path) -> None:
    run = made(tmp_path)
    grades = graded(run, tmp_path, 1.0)
    shown = run.replace(manifest=run.manifest.replace(settings={"judge_examples": 2}))
    sizes = [sum(len(own) for own in grades_of_run(each, grades).broken.values()) for each in (run, shown)]
    assert sizes[0] == 160
    assert 80 < sizes[1] < 150


def test_two_runs_are_compared_by_grades_as_well(tmp_path: Path) -> None:
    before = made(tmp_path, cases=100, models=("a",))
    after = made(tmp_path, cases=100, models=("b",), seen=1.0)
    after = after.replace(manifest=after.manifest.replace(run="1123456789"))
    places = [kept(run, tmp_path) for run in (before, after)]
    bare = in_process("compare", *map(str, places), "--json", cwd=tmp_path)
    assert "corrected" not in json.loads(bare.out)
    for run in (before, after):
        graded(run, tmp_path, 0.9)
    done = in_process("compare", *map(str, places), cwd=tmp_path)
    assert done.code == 0
    assert "Corrected by people's grades a -> b goes from " in " ".join(done.out.split())
    assert "corrected by people's grades" in done.out
    (row,) = json.loads(in_process("compare", *map(str, places), "--json", cwd=tmp_path).out)["corrected"]
    assert row["graded_before"] == row["graded_after"] == 90
    assert row["corrected_difference"] == pytest.approx(row["corrected_after"] - row["corrected_before"])
    assert row["corrected_difference_low"] < row["corrected_difference"] < 0


def test_a_broken_file_of_grades_is_a_warning(tmp_path: Path) -> None:
    place = kept(made(tmp_path), tmp_path)
    (tmp_path / "prompt.grades.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    done = in_process("report", str(place), cwd=tmp_path)
    assert done.code == 0
    assert "warning: the report is made without people's grades: " in done.err
    assert "prompt.grades.jsonl:1" in done.err


def test_a_prompt_outside_the_project_is_left_alone(tmp_path: Path) -> None:
    run = made(tmp_path)
    place = kept(run, tmp_path)
    graded(run, tmp_path, 0.5)
    other = tmp_path / "other"
    other.mkdir()
    (other / "promptpex.toml").write_text("", encoding="utf-8")
    assert "Corrected" not in in_process("report", str(place), cwd=other).out


def test_how_grades_become_labels_is_said_and_printed(tmp_path: Path) -> None:
    run = made(tmp_path)
    place = kept(run, tmp_path)
    graded(run, tmp_path, 0.9)
    done = in_process("report", str(place), "--full", "--graders", "ada", "--unsure-is-bad", cwd=tmp_path)
    assert "Labels: ada alone decides;" in " ".join(done.out.split())
    assert "unsure counts as bad" in " ".join(done.out.split())
    strange = in_process("report", str(place), "--graders", "adda", cwd=tmp_path)
    assert strange.code == 2
    assert "no grader is called 'adda'; did you mean 'ada'" in strange.err


def test_without_grades_a_broken_spec_beside_the_prompt_is_not_looked_at(tmp_path: Path) -> None:
    place = kept(made(tmp_path), tmp_path)
    (tmp_path / "prompt.spec.yaml").write_text("rules: [", encoding="utf-8")
    done = in_process("report", str(place), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")


def flattered(run: Run, model: str) -> Run:
    """The run with a judge that lets everything pass that a model says."""
    verdicts = tuple(one.replace(status="pass") if one.model == model else one for one in run.verdicts)
    return run.replace(verdicts=verdicts)


def test_models_are_ranked_by_what_people_find_where_that_is_asked(tmp_path: Path) -> None:
    run = flattered(made(tmp_path, cases=150), "a")
    place = kept(run, tmp_path)

    def answer(*flags: str) -> str:
        done = in_process("report", str(place), *flags, "--json", cwd=tmp_path)
        return str(json.loads(done.out)["answer"]) if done.code == 0 else f"{done.code} {done.err}"

    by_grades = ("--rank-by", "corrected")
    assert answer().startswith("a is clearly the best, by this judge: it broke a rule in 0 of 150")
    assert answer(*by_grades).startswith("2 promptpex: to decide by corrected shares takes people's grades on 30 ")
    graded(run, tmp_path, 0.05)
    assert answer().startswith("a is clearly the best, by this judge: it broke a rule in 0 of 150")  # 15 grades
    assert "drawn at random, and a has " in answer(*by_grades)
    (tmp_path / "prompt.grades.jsonl").unlink()
    graded(run, tmp_path, 0.8)
    assert answer().startswith("a is clearly the best: it broke a rule in 0 of 150")
    words = answer(*by_grades)
    assert words.startswith("b is clearly the best by people's grades: it broke a rule in ")
    assert "a is clearly worse by people's grades than b: " in words
    assert re.search(r"of its outputs \(95% CI [\d.]+–[\d.]+%, \d+ grades\)", words)
    shown = in_process("report", str(place), *by_grades, cwd=tmp_path, env={"COLUMNS": "120"}).out
    assert re.search(r"model +decision +grades +corrected \(95% CI\)", shown)
    assert re.search(r"a +worse +\d+ +\d+%", shown)


def test_a_gate_goes_by_what_people_find_where_that_is_asked(tmp_path: Path) -> None:
    run = flattered(made(tmp_path, cases=150), "a")
    kept(run, tmp_path)
    limit, by_grades = ("gate", "--max-non-compliance", "15%"), ("--corrected", "--cannot-tell", "fail")
    assert in_process(*limit, cwd=tmp_path).code == 0
    assert in_process(*limit, *by_grades, cwd=tmp_path).code == 2
    assert in_process("gate", "--min-scored", "3", "--corrected", cwd=tmp_path).code == 2
    graded(run, tmp_path, 0.25)
    early = in_process(*limit[:2], "45%", *by_grades, cwd=tmp_path)
    assert early.code == 4
    assert re.search(r"a: corrected non-compliance is \d+% \(CI [\d.–]+%\): \d\d grades cannot tell", early.out)
    (tmp_path / "prompt.grades.jsonl").unlink()
    graded(run, tmp_path, 0.9)
    done = in_process(*limit, *by_grades, cwd=tmp_path)
    assert done.code == 1
    assert re.search(r"a: corrected non-compliance is \d+%, above 15%", done.out)
    assert in_process(*limit, cwd=tmp_path).code == 0


def test_grades_without_a_label_are_counted_beside_the_corrected_share(tmp_path: Path) -> None:
    run = made(tmp_path, cases=100, models=("a",))
    place, grades = kept(run, tmp_path), graded(run, tmp_path, 0.8)
    unsure = [one.replace(value="unsure") if number < 7 else one for number, one in enumerate(grades)]
    (tmp_path / "prompt.grades.jsonl").unlink()
    append_grades(tmp_path / "prompt.grades.jsonl", unsure)
    done = in_process("report", str(place), "--full", cwd=tmp_path, env={"COLUMNS": "200"})
    assert ", 73 grades, 7 unsure or disputed left out)." in " ".join(done.out.split())


def test_a_model_is_worse_than_before_where_people_find_it_so(tmp_path: Path) -> None:
    """The judge sees no difference."""
    before = made(tmp_path, cases=150, models=("b",))
    after = made(tmp_path, cases=150, models=("a",))
    after = after.replace(manifest=after.manifest.replace(run="1123456789"))
    places = [kept(flattered(run, run.manifest.models[0]), tmp_path) for run in (before, after)]
    line = ("compare", *map(str, places), "--fail-on-regression")
    assert in_process(*line, cwd=tmp_path).code == 0
    assert in_process(*line, "--rank-by", "corrected", cwd=tmp_path).code == 2
    for run in (before, after):
        graded(run, tmp_path, 0.9)
    done = in_process(*line, "--rank-by", "corrected", cwd=tmp_path)
    assert done.code == 1
    assert "b -> a: clearly worse by people's grades." in " ".join(done.out.split())
    assert in_process(*line, cwd=tmp_path).code == 0


def test_a_run_that_is_to_be_ranked_by_grades_asks_nobody_before_there_are_some(tmp_path: Path) -> None:
    place = kept(made(tmp_path), tmp_path)
    line = ("run", "prompt.md", "--models", "fake/m", "--judge", "none", "--author", "fake/a")
    done = in_process(*line, "--rank-by", "corrected", cwd=tmp_path)
    assert (done.code, len(list(place.parent.iterdir()))) == (2, 1)
    assert "nobody has graded an output of this prompt" in done.err
