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


def test_a_loss_within_the_tolerance_is_no_regression(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(results, "old", a=lambda n: True)
    kept(results, "new", a=lambda n: n >= 8)
    assert called(capsys, "compare", "old", "new", "--fail-on-regression")[0] == 1
    assert called(capsys, "compare", "old", "new", "--fail-on-regression", "--regression-margin", "30%")[0] == 0


def test_the_comparison_for_machines_has_all(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = kept(results, "old", a=lambda n: True, gone=lambda n: True)
    made = many(30, {"a": lambda n: n >= 20, "come": lambda n: True}, prompt_fingerprint="f2", spec_digest="d9")
    made = made.replace(spec=made.spec.replace(rules=[one.replace(rule="Other words.") for one in made.spec.rules]))
    second = keep(results, "new", made)
    code, out, _ = called(capsys, "compare", str(first), str(second), "--json")
    comparison = json.loads(out)
    assert code == 0
    assert comparison["regressions"] == ["a"]
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


def test_one_model_against_its_successor(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(results, "old", v1=lambda n: n > 20)
    kept(results, "new", v2=lambda n: True)
    assert "v1 -> v2 is clearly better" in " ".join(called(capsys, "compare", "old", "new")[1].split())


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


GATES: list[tuple[list[str], int]] = [
    (["--max-non-compliance", "20%"], 0),
    (["--max-non-compliance", "10%"], 1),
    (["--max-non-compliance", "0.2", "--bound", "high"], 1),
    (["--max-non-compliance", "10%", "--bound", "low"], 0),
    (["--max-non-compliance", "30%", "--bound", "high"], 0),
    (["--max-non-compliance", "10%", "--max-non-compliance", "a=15%"], 0),
    (["--min-scored", "60"], 0),
    (["--min-scored", "61"], 1),
]


@pytest.mark.parametrize(("limits", "expected"), GATES)
def test_the_gate_holds_each_model_to_its_limits(
    results: Path, capsys: pytest.CaptureFixture[str], limits: list[str], expected: int
) -> None:
    """``a`` breaks 8 of 60 (13%, 5.9 to 25%), ``b`` nothing."""
    kept(results, "one", a=lambda n: n >= 8, b=lambda n: True)
    code, out, err = called(capsys, "gate", "one", *limits)
    assert code == expected
    assert ("FAIL  a" in out) == bool(expected)
    assert expected or "pass  a: non-compliance is 13% (CI 5.9–25%), 60 scored outputs" in out
    assert ("gate failed" in err) == bool(expected)


def test_nothing_scored_does_not_pass_a_gate(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(results, "one", a=lambda n: None)
    code, out, _ = called(capsys, "gate", "--max-non-compliance", "1", "--json")
    assert code == 1
    assert json.loads(out) == {"run": "one", "passed": False, "models": {"a": ["nothing was scored"]}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a limit"),
        (["--max-non-compliance", "lots"], "not a share"),
        (["--max-non-compliance", "150%"], "not a share"),
        (["--max-non-compliance", "other=5%"], "not a model of the run"),
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
    code, out, _ = called(capsys, "report", "new")
    assert "ended before its report" in " ".join(out.split())


@pytest.mark.parametrize(
    ("width", "left_out"), [(120, ""), (80, "fixed, p (Holm)"), (70, "newly failing, fixed, p (Holm)")]
)
def test_the_comparison_fits_the_terminal_and_breaks_no_word(
    results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, left_out: str
) -> None:
    """What has no room is left out and said, and no name of a model or header is cut."""
    monkeypatch.setenv("COLUMNS", str(width))
    folders = [
        kept(results, "old", **{"openai/gpt-4o-mini": lambda n: True}),
        kept(results, "new", **{"openai/gpt-4o-mini": lambda n: n >= 20}),
    ]
    _, out, _ = called(capsys, "compare", *map(str, folders))
    assert max(len(line) for line in out.splitlines() if not line.startswith("Side by side: ")) <= width
    row = next(line.split() for line in out.splitlines() if line.startswith(" openai/gpt-4o-mini "))
    assert row[1:8] == ["worse", "0", "of", "60", "20", "of", "60"]
    assert " ".join(row[8:12]) == "+33 (+23 to +46)"
    assert ("Hidden at this width: " + left_out in out) if left_out else "Hidden" not in out
