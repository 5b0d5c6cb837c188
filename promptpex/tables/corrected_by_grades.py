"""Non-compliance corrected by people's grades on a random sample of the outputs, per model and for pairs of models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from promptpex.stats import Interval, JudgedOutputs, corrected_difference, corrected_share
from promptpex.stats.corrected_share import NOTHING
from promptpex.tables.compare_runs import name_in_both
from promptpex.tables.counts_per_case import BROKEN, KEPT, Weights, kinds_of_outputs, missing, weighed
from promptpex.tables.frames import typed
from promptpex.tables.peoples_grades import NO_ITEM, PeoplesGrades
from promptpex.tables.plain_values import plain_values

if TYPE_CHECKING:
    import pandas as pd

_DIFFERENCE = {
    "corrected_difference": "Float64",
    "corrected_difference_low": "Float64",
    "corrected_difference_high": "Float64",
}
CORRECTION_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "graded": "Int64",
    "corrected": "Float64",
    "corrected_low": "Float64",
    "corrected_high": "Float64",
    "grades_alone": "Int64",
    **_DIFFERENCE,
}
"""Columns of ``corrections``. ``graded`` are the model's outputs of the random sample with a label from people, each
text of the same inputs once; ``corrected`` is the non-compliance that grades and verdicts give together, by
prediction-powered inference, with its interval, of all usable outputs, those without a verdict too; ``grades_alone``:
so many grades without a judge would tell as much. The difference is from the model that it is compared with
(``versus``). All but ``graded`` are missing where fewer than two outputs are graded."""

CORRECTED_CHANGE_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "graded_before": "Int64",
    "graded_after": "Int64",
    "corrected_before": "Float64",
    "corrected_after": "Float64",
    **_DIFFERENCE,
}
"""Columns of ``corrected_changes``: as ``CORRECTION_COLUMNS``, in either run, on the cases of both; the difference is
after minus before."""

FEWEST = 2
"""Graded outputs from which on there is an estimate."""


def corrections(
    rows: pd.DataFrame,
    people: PeoplesGrades,
    *,
    order: Sequence[str],
    confidence: float = 0.95,
    weights: Weights | None = None,
    versus: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """A row per model, in ``order``; columns ``CORRECTION_COLUMNS``.

    Args:
        rows: a table of outputs.
        people: what people said of them.
        confidence: of the intervals.
        weights: how many times each case counts.
        versus: by model, the one that it is compared with.
    """
    per_case = _case_weights(rows, weights)

    def outputs_of(model: str, cases: Collection[str] | None = None) -> JudgedOutputs:
        return _judged(rows, people, model, per_case, cases)

    table: list[dict[str, Any]] = []
    for model in order:
        judged = outputs_of(model)
        table.append({"model": model, "graded": judged.graded, **_share_cells(judged, confidence)})
        other = (versus or {}).get(model)
        if other is not None:
            both = _answered(rows, model) & _answered(rows, other)
            table[-1] |= _difference_cells(outputs_of(model, both), outputs_of(other, both), confidence)
    return typed(table, CORRECTION_COLUMNS)


def corrected_changes(
    before: pd.DataFrame,
    after: pd.DataFrame,
    people: tuple[PeoplesGrades | None, PeoplesGrades | None],
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    weights: Weights | None = None,
) -> pd.DataFrame:
    """A row per model, from the tables of outputs of two runs, none without grades; ``CORRECTED_CHANGE_COLUMNS``.

    Args:
        before, after: tables of outputs.
        people: what people said of the outputs of either run.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
        confidence: of the intervals.
        weights: how many times each case counts.
    """
    if not any(grades is not None and grades.graded for grades in people):
        return typed([], CORRECTED_CHANGE_COLUMNS)
    per_case = _case_weights(after, weights)
    table: list[dict[str, Any]] = []
    for names in models:
        both = set(cases) & _answered(before, names[0]) & _answered(after, names[1])
        old, new = (
            _judged(rows, grades or PeoplesGrades(), name, per_case, both)
            for rows, grades, name in zip((before, after), people, names, strict=True)
        )
        row: dict[str, Any] = {
            "model": name_in_both(*names),
            "graded_before": old.graded,
            "graded_after": new.graded,
        }
        for when, judged in (("before", old), ("after", new)):
            row[f"corrected_{when}"] = _share_cells(judged, confidence).get("corrected")
        table.append(row | _difference_cells(new, old, confidence))
    return typed(table, CORRECTED_CHANGE_COLUMNS)


def with_corrections(by_model: pd.DataFrame, corrected: pd.DataFrame) -> pd.DataFrame:
    """A table of models with the columns of ``corrections`` after those that it has; as it is where there are none."""
    return by_model.merge(corrected, on="model", how="left") if len(corrected) else by_model


def _case_weights(rows: pd.DataFrame, weights: Weights | None) -> dict[str, int]:
    """How many times each case counts, in the order of the rows."""
    about = rows.drop_duplicates("case")
    rules, sides = plain_values(about["rule"]), plain_values(about["inverse"])
    return dict(zip(about["case"].tolist(), weighed(rules, sides, weights), strict=True))


def _answered(rows: pd.DataFrame, model: str) -> set[str]:
    """The cases that a model gave a usable answer to."""
    return set(rows.loc[rows["model"].isin([model]) & missing(rows, "error"), "case"])


def _judged(
    rows: pd.DataFrame,
    people: PeoplesGrades,
    model: str,
    per_case: Mapping[str, int],
    cases: Collection[str] | None,
) -> JudgedOutputs:
    """The items of a model's usable outputs: each with its case, its share of the mean over cases, the verdict of its
    first output, and people's grade where it is in the random sample."""
    import numpy as np
    import pandas as pd

    counting = [case for case, times in per_case.items() if times and (cases is None or case in cases)]
    of_model = rows["model"].isin([model]).to_numpy(bool) & missing(rows, "error")
    (places,) = np.nonzero(of_model & rows["case"].isin(counting).to_numpy(bool))
    own = rows.iloc[places]
    kind = kinds_of_outputs(own)
    verdicts = np.select([kind == BROKEN, kind == KEPT], [1, 0], NOTHING)
    numbers = {case: number for number, case in enumerate(per_case)}
    case = np.array([numbers[name] for name in own["case"].tolist()], dtype=np.int64)
    items = np.asarray(people.items, dtype=np.int64)[places] if len(people.items) else np.full(len(own), NO_ITEM)
    alone = items == NO_ITEM
    group, names = pd.factorize(np.where(alone, -2 - np.arange(len(own)), items))
    _, first = np.unique(group, return_index=True)
    share = np.array(list(per_case.values()), dtype="float64")[case] / np.bincount(case, minlength=len(per_case))[case]
    labels = people.broken.get(model, {})
    grades = np.array([int(labels[name]) if name in labels else -1 for name in names.tolist()], dtype=np.int64)
    return JudgedOutputs(case[first], np.bincount(group, share, len(first)).astype(np.float64), verdicts[first], grades)


def _share_cells(judged: JudgedOutputs, confidence: float) -> dict[str, Any]:
    if judged.graded < FEWEST:
        return {}
    corrected = corrected_share(judged, confidence=confidence)
    ends = {"corrected_low": corrected.interval.low, "corrected_high": corrected.interval.high}
    return {"corrected": corrected.interval.estimate, **ends, "grades_alone": round(corrected.alone)}


def _difference_cells(first: JudgedOutputs, second: JudgedOutputs, confidence: float) -> dict[str, Any]:
    if min(first.graded, second.graded) < FEWEST:
        return {}
    gap: Interval = corrected_difference(first, second, confidence=confidence)
    return dict(zip(_DIFFERENCE, (gap.estimate, gap.low, gap.high), strict=True))
