"""What ``scripts/bench_scale.py check`` measures: every engine prints the same, and the figures are there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.command import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

from scale_bench.checking import CHECKS, Load, one

from tests.engines.test_ray_cluster import needs_ray


@pytest.mark.parametrize("checks", CHECKS)
def test_processes_print_what_one_does(checks: str, tmp_path: Path) -> None:
    alone, two = (one(Load("local", workers, checks, 600, str(tmp_path))) for workers in (1, 2))
    assert alone["sha256"] == two["sha256"]
    assert alone["cpu"] > 0
    assert alone["mb"] > 1


@needs_ray
@pytest.mark.slow
@pytest.mark.usefixtures("ray")
def test_a_cluster_prints_the_same(tmp_path: Path) -> None:
    alone, cluster = (one(Load(way, 2, "plain", 600, str(tmp_path))) for way in ("local", "ray"))
    assert alone["sha256"] == cluster["sha256"]
