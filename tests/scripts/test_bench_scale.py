"""What ``scripts/bench_scale.py`` measures, at a small size: a killed node costs what was in flight there, no more."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from scale_bench import asking, server


@pytest.mark.slow
@pytest.mark.usefixtures("ray_installed")
def test_what_a_killed_node_was_at_is_asked_again_and_nothing_is_paid_twice() -> None:
    """It is killed while all that is in flight is still to be answered: what has arrived and is not in the store yet
    would be paid twice, which no process can know of."""
    load = asking.Load("nodes", "", workers=3, count=48, concurrency=16, lose="node", after_s=0.5)
    with server.serving(latency_ms=1000) as base:
        figures = asking.measured(replace(load, base=base))
    assert figures["outputs"] == 48
    assert figures["twice"] == 0
    assert figures["max_in_flight"] <= 16
    assert figures["requests"] - 48 <= 16, "what was in flight on it; how much that was is chance"
