"""The package as a whole: its names, and that importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

from promptpex import stats
from tests.stats.references import wilson


def test_every_public_name_is_there() -> None:
    assert stats.__all__ == sorted(set(stats.__all__))
    no_function = {"DEFAULT_TOLERANCE", "FEW_GRADES", "Completion", "Reading"}
    assert all(callable(getattr(stats, name)) for name in stats.__all__ if name not in no_function)


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys, promptpex.stats; print({'numpy', 'scipy', 'statsmodels', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_published_intervals_are_as_wide_as_the_field_says() -> None:
    """20 of 48 non-compliant: what a table prints as 42% is anything between 29 and 56%."""
    got = wilson(20, 48)
    assert 0.25 < got.width < 0.28
