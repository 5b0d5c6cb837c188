"""openai/evals itself and the checks that an import makes of its classes, on the same outputs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

from agree_with_openai_evals import default_folder, is_there, python_of  # noqa: E402
from openai_evals_agreement.compare import compare  # noqa: E402


@pytest.mark.slow
@pytest.mark.skipif(
    not is_there(default_folder()),
    reason="openai/evals is not installed (scripts/agree_with_openai_evals.py --install)",
)
def test_openai_evals_and_we_agree() -> None:
    compared = compare(python_of(default_folder()), 40)
    assert compared.unexplained == []
    assert compared.same.total() >= 200
