"""Items that two raters labelled, as the tables that agreement is counted from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def singles(table: Sequence[Sequence[int]]) -> Any:
    """Every item of a table as a cluster of its own."""
    m = len(table)
    cells = np.repeat(np.arange(m * m), np.ravel(table))
    return np.eye(m * m, dtype=np.int64)[cells].reshape(-1, m, m)
