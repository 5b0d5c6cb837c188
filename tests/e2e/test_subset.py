"""Running a part of a suite, by whole commands: what is asked, where it is kept, and who is told."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.command_session import whole_suite_line
from tests.e2e.command import Done, in_process
from tests.e2e.faults import Place, place

CASES = 12


@pytest.fixture
def here(tmp_path: Path) -> Place:
    (tmp_path / ".git").mkdir()
    return place(tmp_path, cells=CASES)


def run(here: Place, *more: str, models: str = "fake/NN", verb: str = "run") -> Done:
    arguments = here.arguments("--models", models, "--judge", "none", *more, verb=verb)
    return in_process(*arguments, cwd=here.folder)


def manifests(here: Place) -> dict[str, dict[str, Any]]:
    read = (json.loads(path.read_text()) for path in here.folder.glob("results/*/*/manifest.json"))
    return {manifest["run"]: manifest for manifest in read}


def test_a_part_has_a_folder_of_its_own_and_is_called_one_everywhere(here: Place) -> None:
    assert run(here).code == 0
    (whole,) = manifests(here)
    done = run(here, "--first", "3", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["run"] != whole
    assert report["subset"] == {"words": "the first 3", "cases": 3, "of": CASES}
    assert report["answer"].startswith(f"Only 3 of {CASES} cases were run (the first 3).")
    assert manifests(here)[report["run"]]["subset"] == report["subset"]
    assert "subset" not in manifests(here)[whole] or manifests(here)[whole]["subset"] is None
    assert f"3 of {CASES} cases: the first 3" in (Path(report["folder"]) / "report.html").read_text(encoding="utf-8")
    shown = run(here, "--first", "3")
    assert f"Only 3 of {CASES} cases were run (the first 3)." in " ".join(shown.out.split())


def test_a_gate_on_a_part_says_so(here: Place) -> None:
    assert run(here, "--first", "3").code == 0
    limit = ("--max-non-compliance", "100%", "--results", str(here.folder / "results"))
    done = in_process("gate", *limit, cwd=here.folder)
    assert done.code == 0, done.err
    assert f"This run has only a part of the suite, 3 of {CASES} cases: the first 3." in done.err
    assert json.loads(in_process("gate", "--json", *limit, cwd=here.folder).out)["subset"]["cases"] == 3


def test_only_failed_goes_back_to_what_failed_last(here: Place) -> None:
    assert run(here, "--only-failed").code == 2
    assert run(here, "--first", "5", models="good=fake/NN,bad=fake/no-tag").code == 0
    (before,) = manifests(here)
    failed = json.loads(run(here, "--only-failed", "--json").out)
    assert failed["subset"] == {"words": f"failed or unscored in run {before}", "cases": 5, "of": CASES}
    again = run(here, "--only-failed")
    assert again.code == 2
    assert f"no case failed or was unscored in the run {failed['run']}" in again.err


def test_an_estimate_is_of_the_part(here: Place) -> None:
    done = run(here, "--first", "4", "--json", verb="estimate")
    (line,) = json.loads(done.out)
    assert line["calls"] == 4


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--first", "2", "--sample", "2"), "--first and --sample both limit the number of cases"),
        (("--case", "nonesuch"), "there is no case 'nonesuch'"),
        (("--rule", "r99"), "there is no rule 'r99'"),
        (("--first", "0"), "0 is not in the range"),
    ],
)
def test_a_wrong_choice_is_one_sentence_and_asks_nobody(here: Place, flags: tuple[str, ...], sentence: str) -> None:
    done = run(here, *flags)
    assert done.code == 2
    assert sentence in " ".join(done.err.split())
    assert manifests(here) == {}


def test_weights_of_the_whole_suite_do_not_stop_a_part(here: Place) -> None:
    assert run(here, "--first", "1", "--weights", "r1=2").code == 0
    suite = here.prompt.with_name("prompt.cases.yaml").read_text(encoding="utf-8")
    last = suite.rpartition("    rule: ")[2].split()[0]
    assert run(here, "--weights", f"{last}=2").code == 0
    done = run(here, "--first", "1", "--weights", f"{last}=2")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("run 'a b.md' --first 3 -m x --rule=r1 --only-failed --case --sample", "run 'a b.md' -m x"),
        ("run p.md --case t1 --case=t2 --sample 4 --fresh", "run p.md --fresh"),
        ("judge latest --judge m", ""),
    ],
)
def test_the_command_for_the_whole_suite_is_the_one_that_was_typed(
    typed: str, whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["promptpex", *shlex.split(typed)])
    assert whole_suite_line() == (f"promptpex {whole}" if whole else "")


def test_the_list_of_runs_says_which_are_parts(here: Place) -> None:
    assert run(here, "--first", "3").code == 0
    where = ("--results", str(here.folder / "results"))
    (listed,) = json.loads(in_process("runs", "--json", *where, cwd=here.folder).out)
    assert listed["subset"] == {"words": "the first 3", "cases": 3, "of": CASES}
    assert f"(3/{CASES})" in in_process("runs", *where, cwd=here.folder, env={"COLUMNS": "80"}).out
