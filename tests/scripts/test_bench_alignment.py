"""The measurements of what to grade next and of choices: what they rest on, and that the script runs."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import bench_alignment
from alignment_bench.recordings import recordings
from alignment_bench.summaries import Summary, differences, summary
from alignment_bench.trials import WAYS, Shares, after, grading, measured, trial
from alignment_bench.weighting import MOST
from alignment_bench.worlds import KINDS, World, simulated, split

from promptpex.alignment.choose import Contender


@pytest.mark.parametrize(
    ("coverage", "ffr", "alignment"), [(0.33, 0.10, 0.4829), (0.73, 0.39, 0.6646), (0.49, 0.39, 0.5435)]
)
def test_alignment_is_the_papers(coverage: float, ffr: float, alignment: float) -> None:
    assert Shares(3, coverage, ffr).alignment == pytest.approx(alignment, abs=5e-5)


def test_a_set_is_measured_by_what_any_of_it_fails() -> None:
    contenders = (Contender("a", ("c1",), 0b0011), Contender("b", ("c2",), 0b0110))
    world = World("w", (0, 1, 2, 3), 0b1111, {"c1": 0b0001, "c2": 0b1000}, contenders)
    assert measured(world, {"a", "b"}, 0b1111) == Shares(2, 0.5, 1.0)
    assert measured(world, {"a"}, 0b0111) == Shares(1, 1.0, 0.5)
    assert measured(world, (), 0b1111).alignment == 0


def test_a_simulated_person_grades_each_output_of_the_pool_once_and_errs_as_often_as_is_wanted() -> None:
    world = simulated(KINDS[2], 3)
    counts = [graded.bad.bit_count() + graded.good.bit_count() for graded in grading(world, WAYS[-1], 3, named=False)]
    assert counts == list(range(1, len(world.pool) + 1))
    *_, last = grading(world, WAYS[0], 3, named=False)
    errors = ((last.bad ^ world.bad) & ~world.test).bit_count()
    assert errors == pytest.approx(0.15 * len(world.pool), abs=10)


def test_the_random_sample_of_a_simulated_person_is_unbiased_where_all_grades_are_not() -> None:
    from_all, from_sample = [], []
    for seed in range(60):
        world = simulated(KINDS[0], seed)
        truth = sum(world.bad >> output & 1 for output in world.pool) / len(world.pool)
        truth += world.error * (1 - 2 * truth)
        progress = after(world, WAYS[-1], 24, seed)
        from_all.append(sum(progress.says_bad.values()) / 24 - truth)
        if progress.sample:
            from_sample.append(sum(progress.says_bad[one] for one in progress.sample) / len(progress.sample) - truth)
    assert sum(from_all) / len(from_all) > 0.04
    assert abs(sum(from_sample) / len(from_sample)) < 0.04


def test_a_trial_is_the_same_when_it_is_repeated() -> None:
    world = simulated(KINDS[0], 1)
    assert trial(world, WAYS[-1], (4, 8), 1, named=True) == trial(world, WAYS[-1], (4, 8), 1, named=True)


def test_no_output_that_is_graded_is_held_out_and_those_of_a_case_stay_together() -> None:
    world = split("r", ["a", "a", "b", "c", "c", "d"], {"r1": 1}, (), seed=1)
    pool = sum(1 << output for output in world.pool)
    assert pool ^ world.test == pool | world.test == 0b111111
    assert pool & 0b000011 in (0, 0b000011)


def test_a_summary_weighs_kinds_alike_and_knows_their_seeds_as_a_sample() -> None:
    one = summary([[0.4, 0.6], [0.9, 0.9, 0.9]])
    assert one.mean == pytest.approx(0.7)
    assert one.low < 0.7 < one.high
    assert one.spread == pytest.approx(0.1414 / 2, abs=1e-4)
    assert Summary(-0.001, -0.004, 0.0, 0.0).signed() == "+0.00 (+0.00 to +0.00)"
    assert Summary(0.5, -0.004, 1.0, 0.0).text() == "0.50 (0.00 to 1.00)"
    assert differences([[0.5, 0.7]], [[0.4, 0.9]]) == [[pytest.approx(0.1), pytest.approx(-0.2)]]


def test_the_script_prints_every_table_draws_the_pictures_and_names_what_it_skips(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plots = tmp_path / "plots"
    bench_alignment.main(["--seeds", "2", "--stops", "4,6", "--plots", str(plots), "--published", str(tmp_path)])
    printed = capsys.readouterr().out
    assert f"skipped: there are no recordings in {tmp_path}" in printed
    for way in WAYS:
        weighed = 2 * len(MOST) if way.share else 0
        assert printed.count(f"| {way.name} |") == 2 + (way.name == "random" or "a third" in way.name) + weighed
    for name in ("EvalGen's", "SPADE's cov", "SPADE's sub"):
        assert printed.count(f"| {name} |") == 3
    (picture,) = plots.iterdir()
    root = ElementTree.fromstring(picture.read_text("utf-8"))
    assert root.tag.endswith("svg")
    assert {way.name for way in WAYS} <= {element.text for element in root.iter()}


def test_recordings_are_worlds_where_they_are(shared: Path) -> None:
    first = next(recordings(shared / "published"))
    world = first.world(0)
    assert len(world.pool) > 100
    assert 0 < (world.bad & world.test).bit_count() < world.test.bit_count()
    assert {one.criteria for one in world.contenders} == {(rule,) for rule in world.broken}
