"""Running a part of a suite, by whole commands: what is asked, where it is kept, and who is told."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from promptpex import read_run
from promptpex.cli.command_session import whole_suite_line
from tests.e2e.command import Done, in_process
from tests.e2e.faults import Place, command, place
from tests.servers import ScriptedServer, Seen, Step, completion_body

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
    assert in_process("gate", *limit, cwd=here.folder).code == 2
    assert run(here, "--first", "3", "--name", "part").code == 0
    done = in_process("gate", "part", *limit, cwd=here.folder)
    assert done.code == 0, done.err
    assert f"This run has only a part of the suite, 3 of {CASES} cases: the first 3." in done.err
    assert json.loads(in_process("gate", "part", "--json", *limit, cwd=here.folder).out)["subset"]["cases"] == 3


def test_only_failed_goes_back_to_the_latest_whole_run(here: Place) -> None:
    assert run(here, "--only-failed").code == 2
    assert run(here, "--first", "5", models="good=fake/NN,bad=fake/no-tag").code == 0
    part_alone = run(here, "--only-failed")
    assert (part_alone.code, "there is no run of the whole suite yet" in part_alone.err) == (2, True)
    assert run(here, "--case", "c1", "--name", "one").code == 0
    assert run(here).code == 0
    again = run(here, "--only-failed")
    assert again.code == 2
    assert "no case failed or was unscored in the run" in again.err


@pytest.fixture
async def chance(tmp_path: Path, scripted: ScriptedServer) -> Chance:
    """Two models that fail every other time, by chance, and never change; `a` was asked all cases, and after that both
    those that had failed."""
    (tmp_path / ".git").mkdir()
    made = Chance(place(tmp_path, cells=30), scripted, Done(0, "", ""))
    assert (await made.run("-m", "openai/a", "--name", "before")).code == 0
    done = await made.run("-m", "openai/a,openai/b", "--only-failed", "--fresh", "--name", "again")
    assert done.code == 0, done.err
    made.shown = done
    return made


@dataclass
class Chance:
    """A project with a server whose answers are drawn anew at each command."""

    here: Place
    server: ScriptedServer
    shown: Done
    turn: int = 0

    async def run(self, *more: str) -> Done:
        self.turn += 1
        self.server.otherwise = self._answer
        base = ("--api-base", self.server.url, "--judge", "none", "--no-config")
        return await command(self.here.arguments(*base, *more))

    async def on_runs(self, verb: str, *more: str) -> Done:
        return await command([verb, *more, "--results", str(self.results)])

    @property
    def results(self) -> Path:
        return self.here.folder / "results"

    def _answer(self, seen: Seen) -> Step:
        drawn = hashlib.sha256(json.dumps([self.turn, seen.body["model"], seen.body["messages"]]).encode()).digest()[0]
        return Step(body=completion_body("NN" if drawn % 2 else "no-tag"))


CLAIMS = ("clearly", "95%", "best", "worse", "better", "Undecided", "undecided", "tied")


async def test_cases_chosen_by_their_outcome_carry_no_claim_anywhere(chance: Chance) -> None:
    (folder,) = [path.parent for path in chance.results.glob("*/*/manifest.json") if '"again"' in path.read_text()]
    with (folder / "report.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    asked = int(rows[0]["outputs"])
    assert 5 < asked < 25
    answer = " ".join(chance.shown.out.split())
    for row in rows:
        assert row["chosen_by_outcome"] == "True"
        assert f"{row['model']}: {row['passed']} of the {asked} pass in this run." in answer
        for name in ("non_compliance", "ci_low", "ci_high", "worst_high", "decision", "versus", "p", "best_case"):
            assert row[name] == "", name
    assert answer.endswith("Some would by chance: run the whole suite to know.")
    assert "promptpex compare" not in answer
    page = (folder / "report.html").read_text(encoding="utf-8")
    report = await chance.on_runs("report", str(folder), "--full")
    for shown in (answer, re.sub(r"<style.*?</style>|<script.*?</script>|<details.*?</details>", "", page, flags=re.S)):
        assert not [word for word in CLAIMS if word in shown.split('<h2 id="rules')[0]], shown
    assert not [word for word in CLAIMS if word in report.out]
    as_json = json.loads((await chance.on_runs("report", str(folder), "--json")).out)
    assert all(row["ci_low"] is row["decision"] is None for row in as_json["models"])
    assert all(row["ci_low"] is None for row in as_json["rules"])
    made = read_run(folder)
    assert made.models["ci_high"].isna().all()
    assert made.models["decision"].isna().all()
    listed = json.loads((await chance.on_runs("runs", "--json")).out)[0]
    assert [one["ci_low"] for one in listed["results"]] == [None, None]


async def test_the_latest_run_that_decides_is_whole(chance: Chance) -> None:
    there = sorted(chance.here.folder.glob("results/*/*"))
    chance.server.otherwise = Step(status=401)
    chance.turn += 1
    failed = await command(
        chance.here.arguments("--api-base", chance.server.url, "--judge", "none", "--fresh", "-m", "openai/a")
    )
    assert failed.code == 3
    assert sorted(chance.here.folder.glob("results/*/*")) == there
    blessed = await chance.on_runs("bless", "--json", "--out", str(chance.here.folder / "whole.json"))
    assert json.loads(blessed.out)["cases"] == 30
    assert "failed or unscored in run" in blessed.err
    gated = await chance.on_runs("gate", "--max-non-compliance", "100%")
    assert "latest is the run" in gated.err
    part = await chance.on_runs("bless", "again", "--out", str(chance.here.folder / "part.json"))
    assert (part.code, "--partial" in part.err) == (2, True)
    assert not (chance.here.folder / "part.json").exists()
    given = await chance.on_runs("bless", "again", "--partial", "--out", str(chance.here.folder / "part.json"))
    assert given.code == 0, given.err
    assert "nothing was scored" not in (await chance.on_runs("compare", "latest", "latest")).out


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
