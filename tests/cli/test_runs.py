"""``promptpex runs``, and runs by name and reference in the commands that take one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.report import runs
from tests.web.stored_runs import named_run, store


@pytest.fixture
def results(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three complete runs, one that is partial, and a damaged one, the oldest first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return Path(shutil.copytree(made, tmp_path / "results"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, for each test to copy."""
    place = tmp_path_factory.mktemp("made") / "results"
    damaged = place / "colours" / "damaged"
    damaged.mkdir(parents=True)
    (damaged / "manifest.json").write_text('{"run": 3', encoding="utf-8")
    store(named_run("first", "2026-01-02T03:04:05Z"), place)
    named = named_run("second", "2026-02-02T03:04:05Z")
    store(named.replace(manifest=named.manifest.replace(name="before-the-edit")), place)
    other = named_run("other", "2026-02-20T03:04:05Z")
    store(other.replace(manifest=other.manifest.replace(prompt="letters", partial="budget")), place, report=False)
    store(named_run("third", "2026-03-02T03:04:05Z"), place)
    for age, manifest in enumerate(("colours/damaged", "colours/first", "colours/second", "letters/other")):
        os.utime(place / manifest / "manifest.json", ns=(age, age))
    return place


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_cli(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_list_fits_80_columns_and_says_what_came_of_each_run(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = called(capsys, "runs")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines]
    assert rows[1] == ["run", "prompt", "date", "(2026)", "models", "non-compliance", "size"]
    assert rows[3][:9] == ["third", "colours", "03-02", "03:04", "a", "+1", "33%", "to", "100%"]
    assert rows[4][:7] == ["other", "letters", "02-20", "03:04", "a", "+1", "budget"]
    assert rows[5][0] + rows[6][0] == "before-the-edit"
    assert rows[7][0] == "first"
    assert rows[8][:5] == ["damaged", "colours", "–", "–", "damaged"]
    assert "damaged/manifest.json: is damaged" in out
    assert called(capsys, "runs", "list") == (code, out, err)


def test_the_list_as_json_and_of_one_prompt(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "runs", "--json")
    every = json.loads(out)
    assert code == 0
    assert [run["run"] for run in every] == ["third", "other", "second", "first", "damaged"]
    assert [run["name"] for run in every] == [None, None, "before-the-edit", None, None]
    assert every[0]["results"][0]["non_compliance"] == pytest.approx(1 / 3)
    assert every[0]["bytes"] == sum(path.stat().st_size for path in (results / "colours" / "third").iterdir())
    assert every[1]["partial"] == "budget"
    _, out, _ = called(capsys, "runs", "--prompt-name", "letters", "--json")
    assert [run["run"] for run in json.loads(out)] == ["other"]


def test_long_lists_are_cut_and_hostile_names_are_shown_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(45):
        made = named_run(f"r{number}", "2026-01-02T03:04:05Z")
        manifest = made.manifest.replace(name="\x1b[31mred\u202e" * 20, models=("m\x1b]0;x\x07" * 30,), prompt="p" * 90)
        runs.begin(tmp_path / "colours" / f"r{number}", made.replace(manifest=manifest))
    code, out, _ = called(capsys, "runs", "--results", str(tmp_path))
    assert code == 0
    assert "and 5 more; --json has all" in out
    assert not {"\x1b", "\x07", "\u202e"} & set(out)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "latest~1", "--json"),
        ("gate", "before-the-edit", "--min-scored", "1"),
        ("compare", "before-the-edit~1", "colours", "--json"),
        ("export", "promptfoo", "latest~2", "-q"),
        ("export", "junit", "colours/first"),
    ],
)
def test_commands_take_references(
    results: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    code, out, err = called(capsys, *arguments)
    assert (code, err) == (0, "")
    assert out


def test_a_reference_to_nothing_is_one_sentence(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for named, why in (("latest~9", "3 runs are older than"), ("nosuch", "`promptpex runs` lists them")):
        code, out, err = called(capsys, "report", named)
        assert (code, out) == (2, "")
        assert err.startswith("promptpex: ")
        assert why in err
        assert err.count("\n") == 1
    code, _, err = called(capsys, "run", "prompt.md", "--name", "latest")
    assert (code, err) == (2, "promptpex: 'latest' means something else where a run is named; choose another name\n")


def test_pruning_says_what_goes_and_what_stays(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "runs", "prune", "--keep", "1", "--dry-run")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("kept  colours/damaged (damaged, so it is not known")
    assert lines[1] == "would delete  colours/first"
    assert lines[2] == "kept  colours/second (named before-the-edit)"
    assert lines[3].startswith("would delete 1 run, ")
    assert (results / "colours" / "first").exists()
    code, out, _ = called(capsys, "runs", "prune", "--keep", "1", "--older-than", "30d", "--json")
    made = json.loads(out)
    assert (code, made["deleted"]) == (0, [str(Path("results/colours/first"))])
    assert made["bytes"] > 1000
    assert list(made["kept"]) == [str(Path(f"results/colours/{run}")) for run in ("damaged", "second")]
    assert not (results / "colours" / "first").exists()
    code, out, _ = called(capsys, "runs", "prune", "--keep", "0", "--prompt-name", "colours", "--all")
    assert code == 0
    assert "deleted  colours/second (named before-the-edit)" in out
    assert sorted(path.name for path in results.glob("*/*")) == ["other"]
    assert called(capsys, "runs", "prune", "--keep", "5")[1] == "deleted 0 runs\n"
