"""SIGKILL at any moment: a small share of ``scripts/kill_runs.py``, whose tally is in ``docs/reliability.md``."""

from __future__ import annotations

import argparse
import sys

import pytest

from tests.e2e.command import ROOT
from tests.fork_server.start import forking

sys.path.insert(0, str(ROOT / "scripts"))

import kill_runs


@pytest.mark.long
async def test_runs_killed_at_random_moments_lose_nothing_and_pay_again_what_was_in_flight(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONUTF8", "1")  # as forked commands have it
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    asked = argparse.Namespace(kills=6, outputs=100, seconds=240, seed=0)
    with forking():
        code = await kill_runs.campaign_of(asked)
    shown = capsys.readouterr()
    assert code == 0, shown.out + shown.err
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.out.splitlines()]
    (whole,) = (row for row in rows if row[0] == "all")
    kills, kept, lost, _, _, not_in_flight = (int(cell.replace(",", "")) for cell in whole[1:])
    assert kills > 0
    assert kept > 0
    assert (lost, not_in_flight) == (0, 0)
