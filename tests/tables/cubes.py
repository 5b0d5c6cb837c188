"""Tables of verdicts from arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from promptpex.tables import VERDICT_COLUMNS, Table


def cube_of(agrees: Any, fails: Any) -> pd.DataFrame:
    """Code and a judge on rules x cases x models: whether they agree, and whether code fails it."""
    numbers: dict[str, Any] = dict(zip(("rule", "case", "model"), np.indices(agrees.shape).reshape(3, -1), strict=True))
    names = {
        name: _coded([f"{name}{number}" for number in range(size)], np.tile(numbers[name], 2))
        for name, size in zip(numbers, agrees.shape, strict=True)
    }
    failed = np.concatenate([fails.ravel(), (fails == agrees).ravel()]).astype(np.int64)
    data = {
        **names,
        "status": _coded(["pass", "fail"], failed),
        "source": _coded(["check:x", "judge:j"], np.repeat([0, 1], agrees.size)),
        "repeat": _coded([0], np.zeros_like(failed)),
        "turn": _coded([0], np.zeros_like(failed)),
    }
    return Table(VERDICT_COLUMNS, data, len(failed)).frame()


def _coded(values: list[Any], codes: Any) -> list[Any]:
    return [values[code] for code in codes]
