"""Several prompts in one command: what is asked, shared, told and left, by whole commands."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.batch_project import manifests, run, run_json, write_project, write_prompt
from tests.e2e.command import in_process


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path, alpha=2, beta=5, gamma=9)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Such a project whose prompts were run, and what the command printed."""
    project = write_project(tmp_path_factory.mktemp("made"), alpha=2, beta=5, gamma=9)
    return project, run_json(project, "--name", "before-edit")


@pytest.fixture
def batch(made: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """What the command printed that ran the prompts of ``ran``."""
    return made[1]


@pytest.fixture
def ran(made: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    """A copy of a project whose prompts were run."""
    return Path(shutil.copytree(made[0], tmp_path / "ran"))


def test_each_prompt_has_the_run_that_it_has_alone_and_one_table_and_page_have_all(ran: Path) -> None:
    project, done = ran, run(ran, "--name", "before-edit")
    assert done.code == 0, done.err
    alone = json.loads(run(project, "prompts/beta.md", "--json").out)
    kept = manifests(project)
    assert alone["run"] == kept["beta"]["run"]
    assert alone["answers"] == {"asked": 0, "stored": 2 * 5}
    lines = done.out.splitlines()
    assert lines[0].startswith("3 prompts: outputs that break a rule")
    assert [line.split()[0] for line in lines if line[:5] in ("alpha", "beta ", "gamma")] == ["alpha", "beta", "gamma"]
    (folder,) = (project / "results" / "batches").iterdir()
    assert f"Index: results/batches/{folder.name}/index.html" in lines
    assert "good: " in lines[-2] + lines[-3]
    with (folder / "models.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["prompt"], row["model"]) for row in rows][:3] == [
        ("alpha", "good"),
        ("alpha", "bad"),
        ("beta", "good"),
    ]
    manifest = json.loads((folder / "batch.json").read_text(encoding="utf-8"))
    assert [part["run"] for part in manifest["parts"]] == [f"{name}/{kept[name]['run']}" for name in sorted(kept)]


def test_a_budget_is_one_for_all_and_leaves_each_prompt_as_many_answers(project: Path) -> None:
    report = run_json(project, "--max-requests", "12")
    assert report["requests"]["sent"] == 12
    asked = {name: one["asked"] for name, one in manifests(project).items()}
    assert asked == {"alpha": 4, "beta": 4, "gamma": 4}
    assert {name: one.get("partial") for name, one in manifests(project).items()} == {
        "alpha": None,
        "beta": "budget",
        "gamma": "budget",
    }
    again = run_json(project)
    assert again["requests"]["sent"] == 32 - 12
    assert again["batch"] == report["batch"]
    assert not any(one.get("partial") for one in manifests(project).values())


def test_all_problems_of_all_prompts_are_told_before_anything_is_asked(project: Path) -> None:
    write_prompt(
        project / "prompts",
        "delta",
        cases=2,
        spec="rules: [{id: r1, rule: x, checks: [{kind: is-jsonn}]}, {id: r2, rule: y, chekcs: []}]\n",
    )
    (project / "prompts" / "epsilon.md").write_text("{{broken", encoding="utf-8")
    (project / "prompts" / "epsilon.cases.yaml").write_text("cases: []\n", encoding="utf-8")
    done = run(project)
    assert done.code == 2
    assert "problems first" in done.err
    assert all(words in done.err for words in ("delta.spec.yaml:", "is-jsonn", "chekcs", "epsilon.md"))
    assert not (project / "results").exists()


def test_one_prompt_without_an_answer_stops_no_other_and_the_gravest_code_counts(project: Path) -> None:
    bare = project / "prompts" / "prompt.md"
    bare.write_text("Say {{thing}}.", encoding="utf-8")
    done = run(project, "--author", "fake/nothing", "--fail-above", "50%")
    assert done.code == 3, done.err
    assert set(manifests(project)) == {"alpha", "beta", "gamma"}
    assert "prompts/prompt.md: " in done.out
    assert "alpha: --fail-above fails bad" in done.err
    bare.unlink()
    assert run(project, "--fail-above", "50%").code == 1


def test_a_choice_of_cases_is_made_in_each_prompt_and_leaves_out_those_without(project: Path) -> None:
    report = run_json(project, "--case", "t7")
    assert [part["prompt"] for part in report["prompts"]] == ["gamma"]
    report = run_json(project, "--first", "1")
    assert report["requests"]["sent"] == 6
    done = run(project, "--case", "nosuch")
    assert done.code == 2
    assert "prompts/alpha.md: there is no case 'nosuch'" in done.err


def test_prompts_under_settings_of_their_own_are_not_run_together(project: Path) -> None:
    write_prompt(project / "prompts" / "own", "other", cases=1)
    (project / "prompts" / "own" / "promptpex.toml").write_text("seed = 3\n", encoding="utf-8")
    done = run(project)
    assert done.code == 2
    assert "these prompts have different settings files" in done.err
    assert run(project, "--config", "promptpex.toml").code == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("prompts", "--spec", "x.spec.yaml"), "--spec names a file of one prompt"),
        (("empty",), "no prompt in this folder"),
    ],
)
def test_wrong_usage_is_one_sentence(project: Path, arguments: tuple[str, ...], why: str) -> None:
    (project / "empty").mkdir()
    done = run(project, *arguments)
    assert (done.code, done.err.count("promptpex:")) == (2, 1)
    assert why in " ".join(done.err.split())


def test_latest_is_the_batch_where_several_runs_will_do_and_else_has_to_be_named(ran: Path) -> None:
    limit = ("--max-non-compliance", "10%")
    gated = in_process("gate", *limit, "--json", cwd=ran)
    assert gated.code == 1
    assert [one["prompt"] for one in json.loads(gated.out)["runs"]] == ["alpha", "beta", "gamma"]
    assert "gate failed: 3 of 3 prompts (alpha, beta, gamma)" in gated.err
    assert in_process("gate", "prompts/", "--max-non-compliance", "100%", cwd=ran).code == 0
    refused = in_process("judge", "latest", cwd=ran)
    assert refused.code == 2
    assert "of 3 prompts (alpha, beta, gamma); name one of them" in refused.err
    assert run(ran, "prompts/beta.md").code == 0
    one = in_process("gate", *limit, "--json", cwd=ran)
    assert json.loads(one.out)["run"] == manifests(ran)["beta"]["run"]


def test_a_gate_over_all_says_in_every_format_what_it_cannot_decide(ran: Path) -> None:
    write_prompt(ran / "prompts", "delta", cases=1)
    for layout in ("text", "json", "markdown", "github", "junit"):
        gated = in_process("gate", "prompts", "--max-non-compliance", "10%", "--format", layout, cwd=ran)
        assert gated.code == 2
        assert "there is no run of it yet" in gated.out
        assert "the gate cannot decide about 1 of 4 prompts" in gated.err
        assert all(name in gated.out for name in ("alpha", "beta", "gamma", "delta"))


def test_every_prompt_is_blessed_in_a_file_of_its_own_and_gated_against_it(ran: Path) -> None:
    assert in_process("bless", "prompts/", cwd=ran).code == 0
    assert len(list((ran / "prompts").glob("*.blessed.json"))) == 3
    gated = in_process("gate", "--baseline", "blessed", "--json", cwd=ran)
    assert gated.code == 0, gated.err
    assert all("baseline" in one for one in json.loads(gated.out)["runs"])
    assert in_process("bless", "prompts/", "--out", "x.json", cwd=ran).code == 2


def test_an_estimate_has_a_line_for_each_prompt_and_one_sum(project: Path) -> None:
    done = in_process("estimate", "prompts", "--models", "fake/RED", "--case", "t?", cwd=project)
    assert done.code == 0, done.err
    lines = [line.split() for line in done.out.splitlines()]
    assert [line[:2] for line in lines if line[:1] in (["alpha"], ["beta"], ["gamma"])] == [
        ["alpha", "2"],
        ["beta", "5"],
        ["gamma", "9"],
    ]
    assert done.out.splitlines()[-1].startswith("16 requests")
    part = in_process("estimate", "prompts", "--models", "fake/RED", "--case", "t7", "--json", cwd=project)
    assert [(line["prompt"], line["calls"]) for line in json.loads(part.out)] == [("prompts/gamma.md", 1)]


def test_a_damaged_batch_is_one_sentence_until_something_else_is_run(ran: Path, batch: dict[str, Any]) -> None:
    made = batch["batch"]
    (ran / "results" / "batches" / made / "batch.json").write_text("{", encoding="utf-8")
    gated = in_process("gate", "--max-non-compliance", "100%", cwd=ran)
    assert (gated.code, gated.err.count("promptpex:")) == (2, 1)
    assert "is damaged; run the same `promptpex run` again to restore it, or remove this file" in gated.err
    assert in_process("runs", cwd=ran).code == 0
    assert run(ran, "prompts/alpha.md", "--fresh").code == 0
    assert in_process("gate", "--max-non-compliance", "100%", cwd=ran).code == 0


def test_a_warning_says_which_prompt_it_is_about(project: Path) -> None:
    spec = project / "prompts" / "beta.spec.yaml"
    spec.write_text(
        spec.read_text(encoding="utf-8").replace(
            "    rule: The answer is a", "    source: no such words\n    rule: The answer is a"
        )
    )
    done = run(project, "--judge", "fake/yes", "--judge-all", models="fake/RED")
    assert "warning: prompts/beta.md: " in done.err
    assert "alpha.md: " not in done.err


def test_a_batch_from_elsewhere_names_no_run_outside_the_folder_of_the_runs(ran: Path, batch: dict[str, Any]) -> None:
    file = ran / "results" / "batches" / batch["batch"] / "batch.json"
    outside = ran / "elsewhere" / "alpha"
    outside.parent.mkdir()
    (ran / "results" / "alpha").rename(outside)
    moved = file.read_text(encoding="utf-8").replace('"alpha/', '"../elsewhere/alpha/')
    file.write_text(moved, encoding="utf-8")
    gated = in_process("gate", batch["batch"], "--max-non-compliance", "100%", cwd=ran)
    assert gated.code == 2
    assert "its run ../elsewhere/alpha/" in gated.out
    assert "is gone" in gated.out
