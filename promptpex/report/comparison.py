"""Two runs side by side: of the same prompt, or of two versions of it, on the same cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.core.errors import RunError
from promptpex.core.records import AnyRun
from promptpex.report.headline import FEW, percent
from promptpex.report.summary import records

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Comparison:
    """What has changed from one run to another.

    Attributes:
        models: a row per model, columns ``tables.COMPARISON_COLUMNS``.
        changed: the cases that one run breaks more often than the other, columns ``tables.CHANGED_COLUMNS``.
        answer: the same in plain words.
        notes: what a reader has to know beside it.
        regressions: models that are shown to be worse, and not shown to be so within the tolerance.
        confidence: of the intervals.
    """

    models: pd.DataFrame
    changed: pd.DataFrame
    answer: str
    notes: tuple[str, ...]
    regressions: tuple[str, ...]
    confidence: float


def compare_runs(
    before: AnyRun,
    after: AnyRun,
    *,
    confidence: float = 0.95,
    tolerance: float | None = None,
    weights: tables.Weights | None = None,
) -> Comparison:
    """Compares two runs per model, on the cases of the same id and inputs.

    Args:
        before, after: the runs.
        confidence: of the intervals; its complement is the error rate over all models together.
        tolerance: a loss that does not count as a regression where it is shown to be no greater; None: none.
        weights: how many times each case counts.

    Raises:
        RunError: the runs have no model or no case in common.
    """
    models, cases = _models(before, after), _cases(before, after)
    rows = tables.outputs(before), tables.outputs(after)
    same = [case for case in after.suite.cases if case.id in set(cases)]
    tables.check_weights(weights or {}, [case.rule for case in same], [case.inverse for case in same])
    found = tables.comparison(
        *rows, models=models, cases=cases, confidence=confidence, tolerance=tolerance, weights=weights
    )
    told = records(found)
    return Comparison(
        models=found,
        changed=tables.changed(*rows, models=models, cases=cases),
        answer=" ".join(_sentence(row) for row in told),
        notes=tuple(_notes(before, after, len(cases), told)),
        regressions=tuple(row["model"] for row in told if row["change"] == "worse" and not row["within_tolerance"]),
        confidence=confidence,
    )


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON-ready data."""
    return {
        "answer": comparison.answer,
        "notes": list(comparison.notes),
        "regressions": list(comparison.regressions),
        "confidence": comparison.confidence,
        "models": records(comparison.models),
        "changed": records(comparison.changed),
    }


def _models(before: AnyRun, after: AnyRun) -> list[tuple[str, str]]:
    old, new = before.manifest.models, after.manifest.models
    common = [(model, model) for model in old if model in new]
    if not common and len(old) == len(new) == 1:
        return [(old[0], new[0])]
    if not common:
        raise RunError(f"the runs have no model in common: {', '.join(old)} and {', '.join(new)}")
    return common


def _cases(before: AnyRun, after: AnyRun) -> list[str]:
    old = {case.id: case.inputs for case in before.suite.cases}
    same = [case.id for case in after.suite.cases if case.id in old and old[case.id] == case.inputs]
    if not same:
        raise RunError("the runs have no case in common; a case is the same if its id and its inputs are")
    return same


def _sentence(row: dict[str, Any]) -> str:
    if not row["cases"]:
        return f"{row['model']}: no case was scored in both runs."
    bound = "at least " if row["at_least"] else ""
    shares = (
        f"{bound}{percent(row['non_compliance_before'])} before, {bound}{percent(row['non_compliance_after'])} after"
    )
    counts = f"{row['broke']} of {row['cases']} cases got worse, {row['mended']} better"
    words = {
        "worse": "is shown to be worse",
        "better": "is shown to be better",
        "undecided": "is not shown to have changed",
    }
    told = f"{row['model']} {words[row['change']]}: {shares} ({counts})."
    if row["holds_sampled"] is False:
        told += " It would not be shown if the rules were only a sample of the prompt's."
    return f"{told} Undecided because {row['because']}." if row["because"] else told


def _notes(before: AnyRun, after: AnyRun, common: int, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    one, two = before.manifest, after.manifest
    yield (
        "points: after minus before, on cases that both runs scored; a change is shown by exact sign flips of the "
        "differences of the cases, however the unscored outputs would have come out, corrected over the models by Holm."
    )
    if one.prompt_fingerprint != two.prompt_fingerprint:
        yield "The prompt has changed between the runs."
    if one.spec_digest != two.spec_digest:
        yield "The specs differ: the verdicts of the two runs rest on other rules or checks."
    if one.judges != two.judges:
        told = [", ".join(judges) or "none" for judges in (one.judges, two.judges)]
        yield f"The judges differ: {told[0]} before, {told[1]} after."
    left = [len(run.suite.cases) - common for run in (before, after)]
    if any(left):
        yield f"Left out are cases that are not the same in both: {left[0]} of the first run, {left[1]} of the second."
    gone = [
        model for model in dict.fromkeys([*one.models, *two.models]) if (model in one.models) != (model in two.models)
    ]
    if gone and len(rows) < len(set(one.models) | set(two.models)):
        yield f"Left out are models of one run alone: {', '.join(gone)}."
    for run, name in ((one, "first"), (two, "second")):
        if run.partial:
            yield f"The {name} run is not complete ({run.partial})."
    if any(row["cases"] < FEW for row in rows):
        yield f"Fewer than {FEW} cases were scored in both: only a large change could be seen."
