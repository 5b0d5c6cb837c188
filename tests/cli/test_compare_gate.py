"""``compare``, ``gate`` and ``report`` on runs in folders, as a person calls them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import Run
from promptpex.report import runs
from tests.tables.many import many

Passes = Callable[[int], bool | None]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


def kept(results: Path, name: str, **passes: Passes) -> Path:
    return keep(results, name, many(60, passes))


def keep(results: Path, name: str, made: Run) -> Path:
    folder = runs.folder_for(results, made.prompt.name, name)
    runs.finish(folder, made.replace(manifest=made.manifest.replace(run=name)))
    return folder


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_cli(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_certain_regression_fails_only_where_it_shall(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(results, "old", a=lambda n: True, b=lambda n: n % 2 == 0)
    kept(results, "new", a=lambda n: n >= 20, b=lambda n: n % 2 == 0)
    code, out, err = called(capsys, "compare", "old", "new")
    assert (code, err) == (0, "")
    assert "a is clearly worse: 0% before, 33% after (20 newly failing, 0 fixed of 60 cases)." in " ".join(out.split())
    assert "+33 (" in out
    code, _, err = called(capsys, "compare", "old", "new", "--fail-on-regression")
    assert code == 1
    assert "clearly worse than before: a" in err
    assert called(capsys, "compare", "new", "old", "--fail-on-regression")[0] == 0
    assert called(capsys, "compare", "old", "old", "--fail-on-regression")[0] == 0


def test_the_comparison_for_machines_has_all(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = kept(results, "old", a=lambda n: True, gone=lambda n: True)
    made = many(30, {"a": lambda n: n >= 20, "come": lambda n: True}, prompt_fingerprint="f2", spec_digest="d9")
    made = made.replace(spec=made.spec.replace(rules=[one.replace(rule="Other words.") for one in made.spec.rules]))
    second = keep(results, "new", made)
    code, out, _ = called(capsys, "compare", str(first), str(second), "--json")
    comparison = json.loads(out)
    assert code == 0
    assert comparison["regressions"] == []
    assert "but not by the same (rules r1, r2)" in comparison["answer"]
    assert [row["model"] for row in comparison["models"]] == ["a"]
    assert comparison["models"][0]["cases"] == 30
    assert len(comparison["changed"]) == 20
    notes = " ".join(comparison["notes"])
    for part in ("prompt has changed", "specs differ", "30 of the first run, 0 of the second", "gone, come"):
        assert part in notes


def test_runs_with_nothing_in_common_are_refused(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(results, "old", a=lambda n: True, b=lambda n: True)
    kept(results, "new", c=lambda n: True, d=lambda n: True)
    code, _, err = called(capsys, "compare", "old", "new")
    assert code == 2
    assert "no model in common" in err


def test_the_page_is_written_where_the_second_run_is_or_where_one_says(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = kept(results, "old", a=lambda n: True), kept(results, "new", a=lambda n: n >= 20)
    code, out, _ = called(capsys, "compare", "old", "new")
    page = new / "compared-with-old.html"
    assert (code, f"Side by side: {page.relative_to(results.parent)}" in out or str(page) in out) == (0, True)
    assert "a is clearly worse: 0% before, 33% after" in page.read_text(encoding="utf-8")
    page.unlink()
    assert "page" not in json.loads(called(capsys, "compare", "old", "new", "--json")[1])
    assert not page.exists()
    elsewhere = results.parent / "what changed.html"
    made = json.loads(called(capsys, "compare", "old", "new", "--json", "--out", str(elsewhere))[1])
    assert made["page"] == str(elsewhere)
    assert made["rules"][0]["newly_failing"] == 20
    (old / "report.html").write_text("old", encoding="utf-8")
    called(capsys, "compare", "old", "new", "--out", str(elsewhere))
    link = f'href="{(old / "report.html").relative_to(results.parent).as_posix()}"'
    assert link in elsewhere.read_text(encoding="utf-8")
    code, _, err = called(capsys, "compare", "old", "new", "--out", str(old / "report.html" / "x.html"))
    assert code == 2
    assert "name another file with --out" in err


GATES: list[tuple[list[str], str]] = [
    (["--max-non-compliance", "30%"], "pass"),
    (["--max-non-compliance", "20%"], "cannot tell"),
    (["--max-non-compliance", "10%"], "FAIL"),
    (["--max-non-compliance", "0.2", "--bound", "high"], "FAIL"),
    (["--max-non-compliance", "10%", "--bound", "low"], "cannot tell"),
    (["--max-non-compliance", "5%", "--bound", "low"], "FAIL"),
    (["--max-non-compliance", "30%", "--bound", "high"], "pass"),
    (["--max-non-compliance", "10%", "--max-non-compliance", "a=15%"], "cannot tell"),
    (["--min-scored", "60"], "pass"),
    (["--min-scored", "61"], "FAIL"),
]


@pytest.mark.parametrize(("limits", "expected"), GATES)
def test_the_gate_holds_each_model_to_its_limits(
    results: Path, capsys: pytest.CaptureFixture[str], limits: list[str], expected: str
) -> None:
    """``a`` breaks 8 of 60 (13%, 5.9 to 25%), ``b`` nothing."""
    kept(results, "one", a=lambda n: n >= 8, b=lambda n: True)
    code, out, err = called(capsys, "gate", "one", *limits)
    assert out.startswith(f"{expected}  a: ")
    assert code == (expected == "FAIL")
    assert expected != "pass" or "non-compliance is 13% (CI 5.9–25%), 60 scored outputs" in out
    assert ("gate failed" in err) == (expected == "FAIL")


def test_a_gate_that_cannot_tell_says_so_first_and_how_many_cases_would(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(results, "few", many(3, {"a": lambda n: True}))
    code, out, err = called(capsys, "gate", "--max-non-compliance", "10%")
    first = "cannot tell  a: non-compliance is 0% (CI 0–71%): 3 cases cannot tell this from 10%; about 36 would"
    assert (code, out, err) == (0, f"{first}\n", "")
    code, out, err = called(capsys, "gate", "--max-non-compliance", "10%", "--cannot-tell", "fail")
    assert (code, out.strip(), err) == (4, first, "promptpex: gate cannot tell: 1 of 1 model (a)\n")
    made = json.loads(called(capsys, "gate", "--max-non-compliance", "10%", "--json")[1])
    assert (made["passed"], made["outcome"], made["models"]) == (False, "cannot tell", {"a": []})
    assert made["cannot_tell"]["a"][0] == first.partition("a: ")[2]
    kept(results, "enough", a=lambda n: True)
    assert called(capsys, "gate", "--max-non-compliance", "10%")[1].startswith("pass  a: ")


def test_a_run_that_is_not_complete_does_not_pass(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its three cases would pass, or show no rise, only since a budget cut the others."""
    kept(results, "whole", a=lambda n: n % 2 == 0)
    keep(results, "cut", many(60, {"a": lambda n: True}, asked=lambda model, n: n < 40, partial="budget"))
    for limit in (["--max-non-compliance", "70%"], ["--baseline", "whole"]):
        code, out, _ = called(capsys, "gate", "cut", *limit)
        assert code == 1
        assert out.startswith("FAIL  a: the run is not complete (budget)")
        assert called(capsys, "gate", "cut", *limit, "--allow-partial")[0] == 0


def test_a_run_without_a_single_verdict_is_refused(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(results, "one", a=lambda n: None)
    kept(results, "two", a=lambda n: True)
    for command in (("gate", "one", "--max-non-compliance", "1"), ("compare", "one", "two"), ("compare", "two", "one")):
        code, out, err = called(capsys, *command)
        assert (code, out) == (2, "")
        assert "nothing was scored in this run" in err
    assert not list(results.glob("*/*/compared-with-*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a limit"),
        (["--max-non-compliance", "lots"], "not a share"),
        (["--max-non-compliance", "150%"], "not a share"),
        (["--max-non-compliance", "other=5%"], "not a model of the run"),
        (["--min-metric", "tone=0.8"], "means go from 0 to 100; write tone=80"),
    ],
)
def test_a_gate_that_cannot_be_kept_is_bad_usage(
    results: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    kept(results, "one", a=lambda n: True)
    code, _, err = called(capsys, "gate", "one", *arguments)
    assert code == 2
    assert message in err


def report(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "report.csv").open(encoding="utf-8", newline="") as file:
        return {row["model"]: row for row in csv.DictReader(file)}


def test_report_takes_another_tolerance_model_and_level(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = kept(results, "one", a=lambda n: n >= 2, b=lambda n: n >= 5)
    code, out, _ = called(capsys, "report", "one")
    assert code == 0
    assert report(folder)["b"]["decision"] == "undecided"
    assert "95% CI" in out
    assert called(capsys, "report", "one", "--tolerance", "30%")[0] == 0
    assert report(folder)["b"]["decision"] == "tied"
    code, out, _ = called(capsys, "report", "one", "--against", "b", "--confidence", "80%", "--json")
    summary: dict[str, Any] = json.loads(out)
    assert (summary["confidence"], [row["decision"] for row in summary["models"]]) == (0.8, ["tied", "reference"])
    assert summary["answer"].startswith("Compared with b")
    code, _, err = called(capsys, "report", "one", "--against", "z")
    assert code == 2
    assert "no model 'z'" in err


def test_a_run_that_was_killed_is_called_incomplete_and_passes_no_gate(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kept(results, "new", a=lambda n: True)
    runs.begin(folder, runs.read(folder))
    code, _, err = called(capsys, "gate", "new", "--max-non-compliance", "100%")
    assert code == 2
    assert "has not ended" in err
    kept(results, "old", a=lambda n: True)
    for pair in (("old", "new"), ("new", "old")):
        code, _, err = called(capsys, "compare", *pair)
        assert (code, "the run new has not ended" in err, "`promptpex run` continues it" in err) == (2, True, True)
    code, out, _ = called(capsys, "report", "new")
    assert "ended before its report" in " ".join(out.split())
