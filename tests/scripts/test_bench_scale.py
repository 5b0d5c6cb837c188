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
def test_all_is_answered_where_a_node_is_killed_and_what_was_in_flight_at_most_is_asked_again() -> None:
    """How much of that had been answered, and is paid twice, depends on the moment: a reply that has arrived and is not
    in the store yet is lost with its node. ``tests/e2e/test_asking_on_ray.py`` kills while nothing is on its way."""
    load = asking.Load("nodes", "", workers=2, count=48, concurrency=16, lose="node", after_s=0.1)
    with server.serving(latency_ms=300) as base:
        figures = asking.measured(replace(load, base=base))
    assert figures["outputs"] == 48
    assert figures["max_in_flight"] <= 16
    assert figures["twice"] <= figures["requests"] - 48 <= 16
