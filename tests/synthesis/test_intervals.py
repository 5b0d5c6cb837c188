"""Figures of a choice that it was not fitted to, its curve, and what it changes."""

from __future__ import annotations

import io
import json
import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.cli.main import run_cli
from promptpex.core.errors import SynthesisError
from promptpex.stats import folds_of
from promptpex.synthesis.choice.choose import (
    Choose,
    choose_from_matrix,
    cross_fitted,
    curve,
    ffr_of_all_outputs,
    only,
    shares,
)
from promptpex.synthesis.choice.problem_of_folder import problem_of
from promptpex.synthesis.choice.saved_choice import CHOICE, SavedChoice
from promptpex.synthesis.selection.methods import select
from promptpex.synthesis.selection.problem import SelectionLimits, SelectionProblem
from tests.synthesis.test_problem_of_folder import COLUMNS, LABELS, LIMITS, Desk, matrix_of

__all__ = ["desk"]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    return Desk(tmp_path)


def noise(seed: int, *, examples: int, candidates: int, bad: float = 0.4) -> SelectionProblem:
    """Candidates that have nothing to do with the labels."""
    rng = random.Random(seed)
    labels = "".join("0" if rng.random() < bad else "1" for _ in range(examples))
    rows = ["".join("0" if rng.random() < 0.15 else "1" for _ in range(candidates)) for _ in range(examples)]
    return SelectionProblem.from_rows(labels, rows, candidates)


LOOSE = SelectionLimits(Fraction(2, 5), Fraction(1, 4))


def by(problem: SelectionProblem, limits: SelectionLimits = LOOSE) -> Choose:
    """Chooses from parts of a problem."""
    return lambda examples: select(only(problem, examples), "cov", limits, seconds=5).chosen


def test_figures_where_a_choice_was_made_are_better_than_elsewhere() -> None:
    gaps = []
    clusters = [str(number) for number in range(40)]
    for seed in range(4):
        problem = noise(seed, examples=40, candidates=20)
        chosen = by(problem)(range(40))
        held_out = cross_fitted(problem, clusters, by(problem))
        assert chosen is not None
        assert held_out is not None
        here = shares(problem, problem.flagged_by(chosen), clusters)
        assert here.ffr is not None
        assert here.coverage is not None
        assert held_out.shares.ffr is not None
        assert held_out.shares.coverage is not None
        assert (here.coverage.estimate or 0) >= 0.4
        gaps.append((here.coverage.estimate or 0) - (held_out.shares.coverage.estimate or 0))
        # What has nothing to do with the labels flags good and bad alike.
        assert abs((held_out.shares.coverage.estimate or 0) - (held_out.shares.ffr.estimate or 0)) < 0.3
    assert sum(gaps) / len(gaps) > 0.15


@settings(max_examples=30, deadline=None)
@given(
    labels=st.text("01", min_size=0, max_size=40),
    groups=st.lists(st.integers(0, 9), min_size=40, max_size=40),
    seed=st.integers(0, 5),
)
def test_folds_keep_clusters_whole_and_spread_both_kinds(labels: str, groups: list[int], seed: int) -> None:
    clusters = [str(group) for group in groups[: len(labels)]]
    folds = folds_of([sign == "0" for sign in labels], clusters, seed=seed)
    assert len(folds) == len(labels)
    assert len(set(zip(clusters, folds, strict=True))) == len(set(clusters))
    count = max(folds, default=0) + 1
    for label in "01":
        with_label = {cluster for cluster, sign in zip(clusters, labels, strict=True) if sign == label}
        assert count == 1 or len(with_label) >= count
    if len(set(clusters)) == len(clusters) and count > 1:
        sizes = Counter(fold for fold, sign in zip(folds, labels, strict=True) if sign == "0")
        assert max(sizes.values()) - min(sizes.values()) <= 1


def test_too_few_examples_to_hold_some_out() -> None:
    problem = SelectionProblem.from_rows("0111", ["0", "1", "1", "1"], 1)
    assert cross_fitted(problem, list("abcd"), by(problem)) is None


def test_a_fold_in_which_nothing_keeps_the_limits_is_counted_and_left_out() -> None:
    problem = SelectionProblem.from_rows("0011", ["01", "10", "11", "11"], 2)
    held_out = cross_fitted(problem, list("abcd"), by(problem, SelectionLimits()))
    assert held_out is not None
    assert (held_out.folds, held_out.without) == (2, 0)
    assert held_out.shares.coverage is not None
    assert held_out.shares.coverage.estimate == 0.0
    nothing = cross_fitted(problem, list("abcd"), lambda part: None)
    assert nothing is not None
    assert (nothing.without, nothing.shares.coverage, nothing.shares.ffr) == (2, None, None)


def test_intervals_know_of_cases_with_several_outputs() -> None:
    problem = SelectionProblem.from_rows("0" * 12, ["0"] * 6 + ["1"] * 6, 1)
    alone = shares(problem, problem.fails[0], [str(number) for number in range(12)]).coverage
    together = shares(problem, problem.fails[0], [str(number // 3) for number in range(12)])
    assert alone is not None
    assert together.coverage is not None
    assert together.coverage.width > alone.width
    assert together.ffr is None


def test_a_part_of_a_problem_is_the_same_problem_with_fewer_rows() -> None:
    problem = SelectionProblem.from_rows("0101", ["01", "10", "11", "00"], 2)
    assert only(problem, [0, 3]) == SelectionProblem.from_rows("01", ["01", "00"], 2).__class__(
        examples=2, good=0b10, fails=(0b11, 0b10), example_names=("0", "3")
    )


def test_the_curve_rises_and_agrees_with_trying_every_set() -> None:
    for seed in range(8):
        problem = noise(seed, examples=14, candidates=5)
        points = curve(problem, seconds=20)
        best: dict[int, int] = {}
        for members in range(1 << 5):
            flagged = problem.flagged_by(number for number in range(5) if members >> number & 1)
            alarms, caught = (flagged & problem.good).bit_count(), (flagged & problem.bad).bit_count()
            best[alarms] = max(best.get(alarms, 0), caught)
        rising: list[tuple[int, int]] = []
        for alarms in sorted(best):
            if not rising or best[alarms] > rising[-1][1]:
                rising.append((alarms, best[alarms]))
        assert [(point.flagged, point.caught) for point in points] == rising
        assert all(point.proven for point in points)


def test_outputs_without_a_label_sharpen_the_false_failure_rate() -> None:
    rng = random.Random(5)
    columns: dict[str, str] = dict.fromkeys("abcd", "")
    labels = ""
    for number in range(400):
        is_good = rng.random() < 0.6
        labels += ("g" if is_good else "b") if number < 80 else "-"
        for name in columns:
            columns[name] += "f" if rng.random() < (0.12 if is_good else 0.6) else "p"
    made = problem_of(matrix_of(columns, labels), (), LIMITS)
    limits = SelectionLimits(ffr=LIMITS.ffr * 2)
    held_out = cross_fitted(made.problem, [one.cluster for one in made.examples], by(made.problem, limits))
    assert held_out is not None
    everywhere = ffr_of_all_outputs(made.matrix, made.problem, made.rows, made.columns, held_out)
    assert everywhere is not None
    assert held_out.shares.ffr is not None
    assert (everywhere.labelled, everywhere.unlabelled, everywhere.interval.method) == (80, 320, "prediction-powered")
    assert everywhere.interval.width < held_out.shares.ffr.width
    truth = sum(one.label == "good" for one in made.examples)
    assert everywhere.kind == truth
    labelled = problem_of(matrix_of({name: signs[:80] for name, signs in columns.items()}, labels[:80]), (), limits)
    assert ffr_of_all_outputs(labelled.matrix, labelled.problem, labelled.rows, labelled.columns, held_out) is None


def test_select_shows_figures_held_out_and_the_curve(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {"one": "p" * 20 + "f" * 10, "two": "p" * 18 + "ff" + "f" * 12}
    desk.write({name: signs[:30] for name, signs in columns.items()}, "g" * 20 + "b" * 9 + "-")
    assert run_cli(["select", "p.synthesis", "--curve", "--method", "cov"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "On the examples that it was chosen by: coverage 100% (66–100%), FFR 0% (0–17%)." in out
    assert "without the examples that it is counted on (5 folds): coverage 100%" in out
    assert "prediction-powered" not in out  # too few good outputs are flagged for that
    assert "FFR coverage candidates 0% 100% 1" in out
    assert run_cli(["select", "p.synthesis", "--curve", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["held_out"]["folds"] == 5
    assert given["intervals"]["coverage"]["n"] == 9
    assert given["held_out"]["coverage"]["n"] == 9
    assert [(one["flagged"], one["caught"]) for one in given["curve"]] == [(0, 9)]
    assert given["change"]["lost"] == []
    assert run_cli(["select", "p.synthesis"]) == 0
    assert "FFR coverage candidates" not in " ".join(capsys.readouterr().out.split())


def test_a_choice_beyond_its_limit_goes_into_the_spec_when_the_user_says_so(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(4)
    columns = {f"c{number}": "".join("pf"[rng.random() < 0.12] for _ in range(40)) for number in range(30)}
    desk.write(columns, "g" * 28 + "b" * 12)
    spec = Path("p.spec.yaml")
    choose = ["select", "p.synthesis", "--into-spec"]
    out = Path("chosen.yaml")
    assert run_cli([*choose, "--out", str(out)]) == 2
    printed = capsys.readouterr()
    assert "The FFR limit is not kept on outputs held out:" in " ".join(printed.out.split())
    assert "nothing is written: label more outputs" in printed.err
    assert not spec.exists()
    assert not out.exists()
    for answer, is_written in (("n\n", False), ("y\n", True)):
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        assert run_cli(choose) == 0
        assert "Add the chosen ones to the spec all the same? [y/N]" in capsys.readouterr().err
        assert spec.exists() == is_written
    assert run_cli([*choose, "--method", "cov", "--ffr", "1"]) == 0


class Terminal(io.StringIO):
    """A keyboard on which this is typed."""

    def isatty(self) -> bool:
        return True


def test_intervals_held_out_hold_the_true_shares_of_the_chosen_set() -> None:
    """Plain intervals hold the FFR in 83% of these choices."""
    held = []
    rng = random.Random(2)
    for _ in range(60):
        bad = [number < 12 for number in range(40)]
        rates = [(rng.betavariate(1, 6), rng.betavariate(1, 20)) for _ in range(40)]
        rows = ["".join("10"[rng.random() < rate[0 if is_bad else 1]] for rate in rates) for is_bad in bad]
        made = choose_from_matrix(SelectionProblem.from_rows("0" * 12 + "1" * 28, rows, 40), "sub")
        assert made.chosen is not None
        assert made.held_out is not None
        for share, place in ((made.held_out.shares.coverage, 0), (made.held_out.shares.ffr, 1)):
            assert share is not None
            true = 1.0 - math.prod(1.0 - rates[one][place] for one in made.chosen)
            held.append(share.low <= true <= share.high)
    assert sum(held) >= 114


def test_a_new_choice_says_what_it_loses(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.write(COLUMNS, LABELS)
    assert run_cli(["select", "p.synthesis", "--coverage", "1", "--ffr", "0"]) == 0
    assert "Since the last choice" not in capsys.readouterr().out
    changed = {**{name: signs for name, signs in COLUMNS.items() if name != "one"}, "new": "fppppppp"}
    desk.write(changed, "gggbbbbb")
    assert run_cli(["select", "p.synthesis", "--coverage", ".6", "--ffr", "1"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Since the last choice: 1 bad output caught before and not now: c7." in out
    assert "1 example whose label has changed: c3." in out
    assert "1 candidate chosen before and not now: one." in out


@pytest.mark.parametrize("text", ["{", "[]", '{"method": 1}', "[" * 100_000])
def test_a_damaged_last_choice_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "selection.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SynthesisError, match="this is not a file of the last choice; remove it"):
        CHOICE.read(file)
    assert CHOICE.read(tmp_path / "nothing.json") is None
    assert SavedChoice(method="cov", coverage_limit=0.6, ffr_limit=0.25).flagged == ()
