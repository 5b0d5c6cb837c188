"""``bless`` and ``gate --baseline``, as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import Run
from promptpex.report import runs
from tests.tables.many import many


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with its prompt and two runs of it, the later one far worse."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "shop.md").write_text("x {{thing}}", encoding="utf-8")
    keep("old", many(60, {"a": lambda n: n >= 6}))
    keep("new", many(60, {"a": lambda n: n >= 22}))
    return tmp_path


def keep(name: str, made: Run) -> None:
    made = made.replace(
        manifest=made.manifest.replace(run=name, created="2026-11-22T00:00:00Z"),
        prompt=made.prompt.replace(path="shop.md"),
    )
    runs.finish(runs.folder_for(Path("results"), made.manifest.prompt, name), made)


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_cli(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_run_is_blessed_and_the_next_one_held_against_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = called(capsys, "bless", "old")
    assert (code, out) == (0, "shop.blessed.json: 1 model on 60 cases, of the run old\n")
    assert json.loads((project / "shop.blessed.json").read_text(encoding="utf-8"))["run"] == "old"
    code, out, err = called(capsys, "gate", "new", "--baseline", "blessed", "--max-regression", "3%")
    assert code == 1
    assert out.startswith("FAIL  a: non-compliance rose from 10% to 37%, +27 points (")
    assert "gate failed: 1 of 1 model (a)" in err
    code, out, _ = called(capsys, "gate", "old", "--max-regression", "3%", "--max-non-compliance", "25%")
    assert code == 0
    assert out.startswith("pass  a: non-compliance is 10% (CI ")
    assert "10% in the baseline, +0 points" in out
    code, out, _ = called(capsys, "gate", "old", "--baseline", "blessed", "--max-non-compliance", "5%")
    assert (code, "non-compliance is 10%, above 5%" in out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("gate", "new", "--baseline", "blessed"), "there are no blessed figures yet"),
        (("gate", "new", "--max-regression", "3"), "not a share"),
        (("gate", "new", "--baseline", "nosuch"), "no such run"),
        (("gate", "new", "--baseline", "shop.md"), "this is not a file that `promptpex bless` wrote"),
        (("gate", "new"), "--min-scored or --baseline"),
        (("bless", "nosuch"), "no such run"),
        (("bless", "new", "--out", "shop.md/x.json"), "name another file with --out"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], why: str
) -> None:
    code, out, err = called(capsys, *arguments)
    assert (code, out) == (2, "")
    assert why in err
    assert err.count("\n") == 1


def test_a_prompt_elsewhere_and_another_prompt_are_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "shop.md").unlink()
    code, _, err = called(capsys, "bless", "old")
    assert (code, "name the file of its blessed figures" in err) == (2, True)
    assert called(capsys, "bless", "old", "--out", "b.json")[0] == 0
    data = json.loads((project / "b.json").read_text(encoding="utf-8"))
    (project / "b.json").write_text(json.dumps({**data, "prompt": "letters"}), encoding="utf-8")
    code, _, err = called(capsys, "gate", "new", "--baseline", "b.json")
    assert (code, "the baseline is of the prompt letters" in err) == (2, True)


def test_a_part_of_a_suite_is_blessed_with_a_word(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep("partial", many(60, {"a": lambda n: n >= 6}, asked=lambda model, n: n < 40, partial="budget"))
    code, _, err = called(capsys, "bless", "partial")
    assert (code, "not complete (budget)" in err, Path("shop.blessed.json").exists()) == (2, True, False)
    code, out, err = called(capsys, "bless", "partial", "--partial")
    assert (code, out) == (0, "shop.blessed.json: 1 model on 40 cases, of the run partial\n")
    assert err == "note: this run is not complete (budget)\n"


def test_outputs_that_are_those_of_the_baseline_are_never_a_regression(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every verdict turns, by the same rules and judge; then half of the verdicts go missing as well."""
    good = many(60, {"a": lambda n: True})
    keep("good", good)
    assert called(capsys, "bless", "good")[0] == 0
    assert "a 1" not in (project / "shop.blessed.json").read_text(encoding="utf-8")
    for turned in (lambda n: False, lambda n: None if n % 2 else True):
        keep("again", many(60, {"a": turned}).replace(outputs=good.outputs))
        code, out, _ = called(capsys, "gate", "again", "--baseline", "blessed")
        assert code == 0
        assert out.startswith("pass  a: ")
    keep("again", many(60, {"a": lambda n: False}).replace(outputs=good.outputs))
    _, out, err = called(capsys, "gate", "again", "--baseline", "good")
    assert "without the cases whose answers are the same no rise by more than 0 points is shown" in out
    assert "answers of a to 60 cases are those of the baseline" in err
    keep("worse", many(60, {"a": lambda n: False}))
    assert called(capsys, "gate", "worse", "--baseline", "blessed")[0] == 1


def test_a_rise_by_other_rules_or_judges_is_not_the_models(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called(capsys, "bless", "old")[0] == 0
    keep("judged", many(60, {"a": lambda n: n >= 22}, judges=("other",)))
    code, out, err = called(capsys, "gate", "judged", "--baseline", "blessed")
    assert code == 0
    assert out.startswith("cannot tell  a: non-compliance rose from 10% to 37%, +27 points (")
    assert "by other rules or judges" in out
    assert "the judges are other" in err


def test_a_baseline_whose_cases_were_chosen_because_they_failed_tells_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = {"words": "failed or unscored in run old", "cases": 6, "of": 60}
    keep("part", many(6, {"a": lambda n: True}, subset=part))
    assert called(capsys, "bless", "part", "--partial")[0] == 0
    for baseline in ("blessed", "part"):
        code, out, _ = called(capsys, "gate", "new", "--baseline", baseline)
        assert code == 0
        assert out.startswith("cannot tell  a: the cases were chosen because they failed or were unscored in run old")
