"""Tables of verdicts from arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from promptpex.tables import VERDICT_COLUMNS


def cube_of(agrees: Any, fails: Any) -> pd.DataFrame:
    """Code and a judge on rules x cases x models: whether they agree, and whether code fails it."""
    rule, case, model = (part.ravel() for part in np.indices(agrees.shape))
    keys = {"rule": rule, "case": case, "model": model}
    asked = pd.DataFrame({name: [f"{name}{number}" for number in numbers.tolist()] for name, numbers in keys.items()})
    failed_by_source = {"check:x": fails.ravel(), "judge:j": (fails == agrees).ravel()}
    both = [
        asked.assign(status=np.where(failed, "fail", "pass"), source=source, repeat=0, turn=0)
        for source, failed in failed_by_source.items()
    ]
    return pd.concat(both).reindex(columns=list(VERDICT_COLUMNS)).astype(dict(VERDICT_COLUMNS))
