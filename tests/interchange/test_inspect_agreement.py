"""inspect_ai itself on a suite of ours, and ourselves on its logs; skipped where it is not installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from agreement.suites import answers_for  # noqa: E402
from inspect_agreement.compare import agreements  # noqa: E402
from inspect_agreement.program import Inspect, default_folder  # noqa: E402

PROGRAM = Inspect(default_folder())


@pytest.mark.skipif(
    not PROGRAM.is_there, reason="inspect_ai is not installed (scripts/agree_with_inspect.py --install)"
)
@pytest.mark.slow
def test_inspect_and_we_agree_on_a_suite_of_ours(tmp_path: Path) -> None:
    suite = ROOT / "benchmarks" / "classify"
    (agreement,) = agreements(PROGRAM, [suite], tmp_path, answers_for(suite))
    assert agreement.different == []
    assert agreement.requests[1] == 0
    assert agreement.theirs
