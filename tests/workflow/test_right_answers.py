"""A model that always says the same keeps the rules of a tagger and is seldom right: the report says both."""

from __future__ import annotations

import asyncio
import csv
import shutil
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.config import load
from promptpex.llm.fake import FakeClient
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.workflow.pipeline import run
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "speech-tag"


async def always_nn(folder: Path) -> Path:
    for name in ("prompt.md", "prompt.spec.yaml", "prompt.cases.yaml"):
        shutil.copyfile(BENCHMARK / name, folder / name)
    given = {
        "models": ["fake/nn"],
        "judge": ["none"],
        "store": str(folder / "store.db"),
        "results": str(folder / "results"),
    }
    async with open_session(load(given, start=folder, env={}), provider=FakeClient(lambda request: "NN")) as session:
        _, where = await run(session, files_of(folder / "prompt.md"))
        assert where is not None
    write(summarise(runs.read(where), folder=where), where)
    return where


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_model_that_always_says_nn_is_compliant_right_on_3_of_20_and_not_called_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = asyncio.run(always_nn(tmp_path))
    (row,) = rows(where / "report.csv")
    assert (row["non_compliant"], row["scored"], row["non_compliance"]) == ("0", "30", "0.0")
    assert (row["accuracy"], row["accuracy_scored"], row["accuracy_right"]) == ("0.15", "20", "3")
    assert 0.03 < float(row["accuracy_ci_low"]) < 0.15 < float(row["accuracy_ci_high"]) < 0.4
    scores = rows(where / "scores.csv")
    assert [one["value"] for one in scores].count("1.0") == 3
    assert {one["source"] for one in scores} == {"match:normalised"}
    monkeypatch.chdir(tmp_path)
    assert run_cli(["report"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    answer = printed[printed.rindex("fake/nn broke") :]
    assert "broke at least one rule in 0 of 30 scored outputs" in answer.split(".")[0]
    assert "was right in 3 of 20 outputs (15%" in answer
    assert "good" not in printed
    assert run_cli(["gate", "--max-non-compliance", "5%"]) == 0
    assert run_cli(["gate", "--min-accuracy", "90%"]) == 1
    assert "accuracy is 15%, below 90%" in capsys.readouterr().out
    assert run_cli(["gate", "--min-accuracy", "fake/nn=10%", "--max-non-compliance", "5%"]) == 0
    assert run_cli(["gate", "--min-accuracy", "much"]) == 2
    assert "--min-accuracy" in capsys.readouterr().err
    assert run_cli(["judge", "--judge", "none", "--match", "exact"]) == 0
    assert {one["source"] for one in rows(where / "scores.csv")} == {"match:exact"}


@pytest.mark.parametrize("flag", [[], ["--drop-worse"]])
def test_ranking_by_an_accuracy_that_there_will_not_be_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], flag: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.md").write_text("Name {{thing}}.\n", encoding="utf-8")
    (tmp_path / "prompt.spec.yaml").write_text(
        "prompt: prompt.md\nrules: [{id: r1, rule: One word.}]\n", encoding="utf-8"
    )
    cases = "prompt: prompt.md\ncases: [{id: c1, rule: r1, inputs: {thing: a}}]\n"
    (tmp_path / "prompt.cases.yaml").write_text(cases, encoding="utf-8")
    code = run_cli(["run", "prompt.md", "-m", "fake/a", "-j", "none", "--rank-by", "accuracy", *flag])
    assert code == 2
    err = capsys.readouterr().err
    assert ("--drop-worse goes by non-compliance" if flag else "needs cases with an expected output") in err
    assert not (tmp_path / "results").exists()
