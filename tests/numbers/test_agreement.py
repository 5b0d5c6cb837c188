"""How far code and judge agree, through the public API: the verdicts of one case hang together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import promptpex
from promptpex import tables
from promptpex.core.records import Completion, Request
from tests.numbers.world import World, by, cases, first, material
from tests.samples import asked
from tests.tables.cubes import cube_of


def test_repeats_and_models_of_a_case_make_the_interval_hardly_narrower(tmp_path: Path) -> None:
    """The judge disagrees with code on whole cases, whichever model and repeat: 20 cases tell as much as 20 outputs."""
    widths = {}
    for models, repeats in ((1, 1), (3, 4)):
        table = judged(tmp_path / f"{models}.db", models, repeats)
        row = table[table["rule"].isna()].iloc[0]
        assert (row["n"], row["agreed"]) == (20 * models * repeats, pytest.approx(0.75))
        widths[models] = row["agreed_high"] - row["agreed_low"]
    assert widths[3] > 0.85 * widths[1]


def judged(store: Path, models: int, repeats: int) -> pd.DataFrame:
    """20 cases of one rule that code decides; the judge, asked about it too, calls every fourth case broken."""
    prompt, spec, suite = material(cases(20, 1), 1, judge=False)
    names = [f"m{number}" for number in range(models)]
    world = World(suite, by(dict.fromkeys(names, first(0))))

    def voices(request: Request) -> str | Completion | Exception:
        if request.model != "fake/judge":
            return world(request)
        odd = any(f" c{number} " in asked(request) for number in range(0, 20, 4))
        return json.dumps({"r1": {"reason": "as it is", "verdict": "fail" if odd else "pass"}})

    run = promptpex.run(
        prompt,
        spec,
        suite,
        models=[f"fake/{name}" for name in names],
        judge="fake/judge",
        client=promptpex.FakeClient(voices),
        store=str(store),
        judge_all=True,
        repeats=repeats,
    )
    return tables.agreements(tables.verdicts(run)).frame()


@pytest.mark.long
def test_beyond_2000_cases_the_intervals_cover() -> None:
    """Each case has its own rate of agreement, alike by .3 among its five verdicts."""
    rng = np.random.default_rng(11)
    runs, share, covered, kappa = 60, 0.8, 0, 0
    for _ in range(runs):
        rates = rng.beta(share * 0.7 / 0.3, (1 - share) * 0.7 / 0.3, size=(1, 2_050, 1))
        agrees = rng.random((1, 2_050, 5)) < rates
        fails = rng.random(agrees.shape) < 0.3
        row = tables.agreements(cube_of(agrees, fails)).iloc[0]
        covered += row["agreed_low"] <= share <= row["agreed_high"]
        kappa += row["kappa_low"] <= true_kappa(share, 0.3) <= row["kappa_high"]
    # 0.95 less two and a half standard errors of 60 draws; as if all were independent it would be 0.8.
    assert covered >= 0.88 * runs
    assert kappa >= 0.88 * runs


def true_kappa(agreed: float, fails: float) -> float:
    """Cohen's kappa where code fails with one chance and the judge says the same with another."""
    second = fails * agreed + (1 - fails) * (1 - agreed)
    expected = fails * second + (1 - fails) * (1 - second)
    return (agreed - expected) / (1 - expected)
