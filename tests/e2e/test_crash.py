"""SIGKILL at any moment: a small share of ``scripts/kill_runs.py``, whose tally is in ``docs/reliability.md``."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.e2e.command import ROOT


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_runs_killed_at_random_moments_lose_nothing_and_pay_again_what_was_in_flight() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "kill_runs.py"), "--kills", "6", "--outputs", "100"]
    done = subprocess.run(
        [*script, "--seconds", "240"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    (whole,) = (row for row in rows if row[0] == "all")
    kills, kept, lost, _, _, not_in_flight = (int(cell.replace(",", "")) for cell in whole[1:])
    assert kills > 0
    assert kept > 0
    assert (lost, not_in_flight) == (0, 0)
