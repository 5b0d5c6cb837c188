"""Where failures take longer, runs that end early cover the truth: a share of what the simulation does."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import simulated_deadlines as simulated


@pytest.mark.long
def test_intervals_cover_the_truth_however_a_run_ends() -> None:
    for name, joined, *_ in simulated.lines(np.random.default_rng(1), 30):
        assert float(joined) >= 90, name
