"""Blessed figures: what is kept of a run, and what a later run held against them is said to be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from promptpex.core.errors import InputError, RunError
from promptpex.core.records import Blessed, Case, CaseCounts, Run
from promptpex.report import blessed_figures_file
from promptpex.report.regression import Regressions, regressions
from promptpex.report.run_tables import tables_of
from promptpex.tables import blessed_outputs, counts_of_cases, outputs, records
from tests.tables.by_hand import colours
from tests.tables.many import many

FOLDER = Path("results/many/r1")


def blessed(run: Run) -> Blessed:
    return blessed_figures_file.bless(run, FOLDER)


def against(before: Run, after: Run, margin: float = 0.03) -> Regressions:
    return regressions(blessed(before), tables_of(after), margin=margin)


def failing(count: int, *, partial: str | None = None) -> Run:
    """60 cases of which so many fail."""
    return many(60, {"a": lambda n: n >= count}, partial=partial)


def renamed(run: Run, cases: Callable[[Case], Case]) -> Run:
    return run.replace(suite=run.suite.replace(cases=tuple(map(cases, run.suite.cases))))


def test_the_file_has_counts_and_no_text_and_comes_back(tmp_path: Path) -> None:
    made = blessed(colours())
    path = tmp_path / "prompt.blessed.json"
    blessed_figures_file.write(path, made)
    assert blessed_figures_file.read(path) == made
    text = path.read_text(encoding="utf-8")
    json.loads(text)
    assert text.count("\n") == len(made.to_dict()) + len(made.cases) + 3
    for output in colours().outputs:
        assert output.text is None or f'"{output.text}"' not in text
    assert made.cases[3].counts == (CaseCounts(), CaseCounts(failed=1)) or made.cases[3].counts[1] == CaseCounts(
        failed=1
    )


def test_what_comes_back_has_the_same_counts() -> None:
    made = many(20, {"a": lambda n: (True, False, None)[n % 3], "b": lambda n: n > 4}, repeats=3, rules=4)
    kept = blessed(made)
    ids = [case.id for case in made.suite.cases]
    assert counts_of_cases(blessed_outputs(kept), ids, kept.models) == counts_of_cases(outputs(made), ids, kept.models)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"[" * 100_000,
        b"\xff",
        b'{"prompt": "x", "run": "r", "prompt_fingerprint": "", "spec_digest": "", "suite_digest": "", '
        b'"models": ["a"], "cases": [{"id": "c", "inputs": "", "counts": []}]}',
        b'{"prompt": "x", "run": "r", "prompt_fingerprint": "", "spec_digest": "", "suite_digest": "", '
        b'"models": ["a"], "cases": [{"id": "c", "inputs": "", "counts": [{"broken": 99999999999}]}]}',
    ],
)
def test_a_damaged_file_is_one_sentence(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.blessed.json").write_bytes(data)
    with pytest.raises(RunError, match="this is not a file that `promptpex bless` wrote") as caught:
        blessed_figures_file.read(tmp_path / "x.blessed.json")
    assert "\n" not in str(caught.value)


def test_no_file_is_written_that_would_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, made = tmp_path / "prompt.blessed.json", blessed(colours())
    blessed_figures_file.write(path, made)
    monkeypatch.setattr(blessed_figures_file, "LONGEST", path.stat().st_size)
    blessed_figures_file.write(path, made)
    assert blessed_figures_file.read(path) == made
    monkeypatch.setattr(blessed_figures_file, "LONGEST", path.stat().st_size - 1)
    with pytest.raises(InputError, match="no gate reads; bless a run of fewer"):
        blessed_figures_file.write(path, made)
    assert path.stat().st_size == blessed_figures_file.LONGEST + 1


def test_a_run_in_which_nothing_was_scored_is_not_blessed() -> None:
    with pytest.raises(RunError, match="nothing was scored"):
        blessed(many(5, {"a": lambda n: None}))
    with pytest.raises(RunError, match="has not ended"):
        blessed(failing(3, partial="running"))


def test_a_rise_fails_only_beyond_noise_and_margin() -> None:
    assert not against(failing(6), failing(8)).decisions["a"].exceeded
    assert not against(failing(6), failing(6)).decisions["a"].exceeded
    assert not against(failing(20), failing(2)).decisions["a"].exceeded
    (clear,) = against(failing(6), failing(22)).decisions["a"].exceeded
    assert clear == ("non-compliance rose from 10% to 37%, +27 points (+17 to +39), clearly by more than 3 points")
    assert not against(failing(6), failing(22), margin=0.25).decisions["a"].exceeded
    passed = against(failing(6), failing(8)).passed["a"]
    assert passed.startswith("10% in the baseline, +3 points (")
    assert passed.endswith("not clearly up by more than 3 points")


def test_the_same_cases_are_compared_one_by_one() -> None:
    """A rise by 13 of 60 cases: shown where no case is fixed, and not where 6 are and 19 newly fail."""
    before, worse = failing(6), failing(19)
    mixed = many(60, {"a": lambda n: n >= 29 or n < 10})
    assert against(before, worse, margin=0.1).decisions["a"].exceeded
    assert not against(before, mixed, margin=0.1).decisions["a"].exceeded


def test_unscored_outputs_overturn_no_claim() -> None:
    """Neither that there is a regression, nor that there is none."""

    def open_(broken: int, missing: int) -> Run:
        return many(60, {"a": lambda n: None if n < missing else n >= missing + broken})

    (row,) = records(against(failing(0), open_(12, 0)).models)
    assert row["regression"] == "shown"
    unclear = against(failing(0), open_(0, 12))
    (row,) = records(unclear.models)
    assert (row["regression"], row["undecided_because"]) == ("open", "12 of 60 outputs after are unscored")
    assert "leaves open whether it rose by more than 3 points" in unclear.decisions["a"].untold[0]
    assert not unclear.decisions["a"].exceeded
    (row,) = records(against(open_(0, 20), failing(12)).models)
    assert (row["regression"], row["undecided_because"]) == ("open", "20 of 60 outputs before are unscored")
    (row,) = records(against(failing(0), open_(0, 2)).models)
    assert row["regression"] == "not shown"
    nothing = against(failing(0), many(60, {"a": lambda n: None}))
    assert nothing.decisions["a"].untold[0].startswith("nothing was scored")


def test_models_share_one_error_rate() -> None:
    """7 of 60 newly failing are clear of one model, and not of one in eight."""
    models: dict[str, Callable[[int], bool | None]] = {name: lambda n: n >= 6 for name in "bcdefgh"}
    before, alone = many(60, {"a": lambda n: n >= 6, **models}), failing(13)
    assert against(before, alone).decisions["a"].exceeded
    assert not against(before, many(60, {"a": lambda n: n >= 13, **models})).decisions["a"].exceeded


def test_a_baseline_of_other_cases_is_refused() -> None:
    other = renamed(failing(25), lambda case: case.replace(inputs={"thing": f"another {case.id}"}))
    with pytest.raises(RunError, match="none of the cases of this run"):
        against(failing(6), other)


def test_so_few_cases_that_none_could_show_a_rise_cannot_tell() -> None:
    made = against(many(4, {"a": lambda n: True}), many(4, {"a": lambda n: False}), margin=0.0)
    (words,) = made.decisions["a"].untold
    assert words.startswith("0% in the baseline, +100 points (")
    assert words.endswith("4 cases cannot show a rise by more than 0 points, 5 could")
    enough = against(many(5, {"a": lambda n: True}), many(5, {"a": lambda n: False}), margin=0.0)
    assert enough.decisions["a"].exceeded


def test_some_new_cases_leave_the_others_paired() -> None:
    grown = renamed(failing(22), lambda case: case if int(case.id[1:]) < 50 else case.replace(id=f"new-{case.id}"))
    compared = against(failing(6), grown)
    (row,) = records(compared.models)
    assert row["cases"] == 50
    assert "compared on the 50 cases that are the same" in compared.notes[0]


def test_models_and_specs_that_are_others_are_named() -> None:
    before = many(60, {"a": lambda n: n > 5, "gone": lambda n: True})
    after = many(60, {"a": lambda n: n > 5, "new": lambda n: True}, judges=("j",))
    after = after.replace(spec=after.spec.replace(rules=[one.replace(rule="Other words.") for one in after.spec.rules]))
    compared = against(before, after)
    assert list(compared.passed) == ["a"]
    notes = "\n".join(compared.notes)
    assert "not in the baseline, so held against nothing: new" in notes
    assert "in the baseline alone: gone" in notes
    assert "the spec is not that of the baseline" in notes
    assert "the judges are j; those of the baseline are none" in notes
    with pytest.raises(RunError, match="the baseline has other models"):
        against(before, many(60, {"x": lambda n: True}))
    assert against(failing(6), many(60, {"b": lambda n: n > 5})).passed.keys() == {"b"}
