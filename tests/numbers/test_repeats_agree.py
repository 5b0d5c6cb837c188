"""With repeats, figures that stand beside each other do not contradict each other, however large the run is."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import pytest

from promptpex import tables
from tests.numbers.server import gate_code
from tests.numbers.world import Cells, by, cases, completions, first, rows_of, simulated, summed, table


@pytest.mark.parametrize(
    ("count", "repeats", "every"), [(20, 10, 1), (30, 5, 3), (60, 5, 6)], ids=["each case", "a third", "a sixth"]
)
def test_an_interval_beside_worse_lies_above_zero(count: int, repeats: int, every: int) -> None:
    """a breaks one repeat of a part of the cases, b nothing; that this is worse is shown beyond doubt."""
    fates = by(
        {
            "a": lambda case, repeat: "broken" if repeat == case % repeats and case % every == 0 else "kept",
            "b": first(0),
        }
    )
    _, rows = summed(simulated(["a", "b"], cases(count, 4), fates, judge=False, repeats=repeats))
    assert rows["a"]["decision"] == "worse"
    assert rows["a"]["p"] <= 0.05
    assert rows["a"]["difference_low"] > 0


def test_a_gate_on_the_same_cases_passes_who_never_fails_before_who_fails_seven_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each model in a run of its own, as in continuous integration: 20 cases ten times, some of them broken once."""
    monkeypatch.chdir(tmp_path)

    def code(failed: int, limit: str) -> int:
        fates = by({"a": lambda case, repeat: "broken" if repeat == 0 and case < failed else "kept"})
        run = simulated(["a"], cases(20, 4), fates, judge=False, repeats=10)
        return gate_code(run, f"failed-{failed}", "--max-non-compliance", limit, "--bound", "high")

    for limit in ("14.5%", "15%", "16%"):
        codes = [code(failed, limit) for failed in (0, 1, 2, 5, 7)]
        assert codes == sorted(codes)


BROKEN = {"a": {0: 4, 1: 3}, "b": {2: 2, 3: 4, 4: 2, 5: 2}}
LOST = {("a", 2, 3), ("a", 3, 3)}


def test_a_tie_that_is_claimed_holds_however_lost_repeats_came_out() -> None:
    """Eight cases four times. With both lost repeats broken a is shown to be close to b, and with other outcomes, that
    are better for a, it is not: there the repeats that disagree make the pairs worth less."""
    fates: Cells = {
        (model, case, repeat): "cut"
        if (model, case, repeat) in LOST
        else "broken"
        if repeat < BROKEN[model].get(case, 0)
        else "kept"
        for model in "ab"
        for case in range(8)
        for repeat in range(4)
    }
    outcomes = {place(whole) for whole in completions(fates)}
    assert "tied" in outcomes
    assert outcomes - {"tied", "best"}
    assert place(fates) == "undecided"


def place(fates: Cells) -> str:
    """The place of ``a`` at a tolerance of 40 points."""
    run = simulated(["a", "b"], cases(8, 4), table(fates), judge=False, repeats=4)
    question = tables.RankingOptions(tolerance=0.4)
    return tables.rankings(tables.outputs(run), run.manifest.models, question).models["fake/a"].outcome


def test_lost_repeats_of_many_take_no_more_memory_than_the_run_is_worth() -> None:
    """60 cases sixteen times, of which a fifth is cut, so that the cases have many different numbers of repeats: the
    exact test counted sums in units of the least common multiple."""
    rng = random.Random(1)
    fates: Cells = {
        (model, case, repeat): rng.choices(("kept", "broken", "cut"), (0.6, 0.2, 0.2))[0]
        for model in "ab"
        for case in range(60)
        for repeat in range(16)
    }
    run = simulated(["a", "b"], cases(60, 4), table(fates), judge=False, repeats=16)
    summed(simulated(["a", "b"], cases(60, 4), by({"a": first(3), "b": first(3)}), judge=False, repeats=16))
    tracemalloc.start()
    summary, _ = summed(run)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows_of(summary)["a"]["decision"] == "undecided"
    assert peak < 60e6
