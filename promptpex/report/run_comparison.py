"""Two runs side by side: of the same prompt, or of two versions of it, on the same cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.codecs.wording import plural
from promptpex.core.errors import InputError, RunError
from promptpex.core.records import EXPECTED, AnyRun
from promptpex.report.corrections_in_words import corrected_change_sentences
from promptpex.report.headline import FEW
from promptpex.report.noise_in_words import noise_sentences
from promptpex.report.percentages import TableRow, percent
from promptpex.report.ranked_metric import require_metric
from promptpex.report.summary import NO_EXPECTED
from promptpex.tables import PeoplesGrades, records

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What has changed from one run to another.

    Attributes:
        models: a row per model, columns ``tables.COMPARISON_COLUMNS``.
        metrics: a row per model and metric that both runs have, columns ``tables.METRIC_CHANGE_COLUMNS``.
        corrections: the same by people's grades, columns ``tables.CORRECTED_CHANGE_COLUMNS``; empty where neither run
            has any.
        changed: the cases that one run breaks more often than the other, columns ``tables.CHANGED_COLUMNS``.
        answer: the same in plain words.
        notes: what a reader has to know about it.
        regressions: models that are shown to be worse, and not shown to be so within the tolerance.
        confidence: of the intervals.
        noise: the run-to-run noise of the models that it was measured of, rows with columns ``tables.NOISE_COLUMNS``.
    """

    models: pd.DataFrame
    metrics: pd.DataFrame
    corrections: pd.DataFrame
    changed: pd.DataFrame
    answer: str
    notes: tuple[str, ...]
    regressions: tuple[str, ...]
    confidence: float
    noise: tuple[TableRow, ...] = ()

    def _repr_html_(self) -> str:
        """What a notebook shows of it."""
        from promptpex.report.notebook import comparison_html

        return comparison_html(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.answer!r}>"


def compare_runs(
    before: AnyRun,
    after: AnyRun,
    *,
    confidence: float = 0.95,
    tolerance: float | None = None,
    weights: tables.Weights | None = None,
    rank_by: str = "non-compliance",
    people: tuple[PeoplesGrades | None, PeoplesGrades | None] = (None, None),
    noise: Sequence[TableRow] = (),
) -> RunComparison:
    """Compares two runs per model, on the cases of the same id and inputs.

    Args:
        before, after: the runs.
        confidence: of the intervals; its complement is the error rate over all models together.
        tolerance: a loss that does not count as a regression where it is shown to be no greater; None: none.
        weights: how many times each case counts.
        rank_by: what decides whether a model is worse.
        people: what people's grades say of either run.
        noise: the run-to-run noise of the models, as far as it was measured, as rows with ``tables.NOISE_COLUMNS``.

    Raises:
        RunError: the runs have no model or no case in common.
        InputError: accuracy is to decide, and the runs have none to compare.
    """
    models, cases = _models(before, after), _cases(before, after)
    rows = tables.outputs(before), tables.outputs(after)
    same = [case for case in after.suite.cases if case.id in set(cases)]
    tables.check_weights(weights or {}, [case.rule for case in same], [case.inverse for case in same])
    right = _expected(before, after, rows)
    by_model = tables.comparison(
        *rows, models=models, cases=cases, confidence=confidence, tolerance=tolerance, weights=weights, expected=right
    )
    scores = tables.scores(before), tables.scores(after)
    by_metric = tables.metric_changes(*scores, models=models, cases=cases, confidence=confidence, weights=weights)
    figures = records(by_model)
    _require_ranked(rank_by, by_metric, figures)
    corrected = tables.corrected_changes(
        *rows, people, models=models, cases=cases, confidence=confidence, weights=weights
    )
    return RunComparison(
        models=by_model,
        metrics=by_metric,
        corrections=corrected,
        changed=tables.changed(*rows, models=models, cases=cases),
        answer=" ".join([_answer(figures, by_metric), *corrected_change_sentences(records(corrected), confidence)]),
        notes=(
            *_notes(before, after, len(cases), figures),
            *_metric_note(scores, by_metric),
            *noise_sentences(noise, _differences(figures)),
        ),
        regressions=tuple(_regressions(figures, records(by_metric), rank_by, tolerance)),
        confidence=confidence,
        noise=tuple(noise),
    )


def _differences(rows: Sequence[TableRow]) -> dict[str, float]:
    """By model, how far its shares in the two runs are apart."""
    return {row["model"]: row["difference"] for row in rows if row["difference"] is not None}


def _require_ranked(rank_by: str, by_metric: pd.DataFrame, figures: Sequence[TableRow]) -> None:
    """Refuses to let something decide that the runs have not measured.

    Raises:
        InputError: with what is missing.
    """
    require_metric(rank_by, list(dict.fromkeys(by_metric["metric"].tolist())))
    if rank_by == "accuracy" and not any(row["accuracy_cases"] for row in figures):
        raise InputError(f"{NO_EXPECTED}; both runs need it, with the same expected outputs")


def to_dict(comparison: RunComparison) -> dict[str, Any]:
    """The comparison as JSON-ready data."""
    return {
        "answer": comparison.answer,
        "notes": list(comparison.notes),
        "regressions": list(comparison.regressions),
        "confidence": comparison.confidence,
        "models": records(comparison.models),
        "metrics": records(comparison.metrics),
        **({"corrected": records(comparison.corrections)} if len(comparison.corrections) else {}),
        "changed": records(comparison.changed),
        **({"noise": list(comparison.noise)} if comparison.noise else {}),
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


def _expected(
    before: AnyRun, after: AnyRun, rows: tuple[pd.DataFrame, pd.DataFrame]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Which outputs of either run are right, on the cases whose expected output is the same in both."""
    was = {case.id: (case.expected, case.also_right) for case in before.suite.cases if case.expected is not None}
    same = [case.id for case in after.suite.cases if was.get(case.id) == (case.expected, case.also_right)]
    tables_of = (
        tables.expected_outcomes(frame, tables.scores(run)) for frame, run in zip(rows, (before, after), strict=True)
    )
    one, two = (frame[frame["case"].isin(same)] for frame in tables_of)
    return one, two


def _comparisons(run: AnyRun) -> list[str]:
    """By what the outputs of a run were compared with expected ones: ``match:json``, ``judge:gpt-4o``."""
    scores = tables.scores(run)
    sources = scores.loc[scores["name"].eq(EXPECTED) & scores["value"].notna(), "source"]
    return sorted(set(map(str, sources)))


def _regressions(
    rows: Sequence[TableRow], by_metric: Sequence[TableRow], rank_by: str, tolerance: float | None
) -> Iterator[str]:
    """The models that are shown to be worse, and not to be so within the tolerance; by a metric that is shown where the
    whole interval is."""
    if rank_by not in tables.RANKED_BY:
        worse = [row for row in by_metric if row["metric"] == rank_by and row["change"] == "worse"]
        yield from (row["model"] for row in worse if tolerance is None or row["difference_low"] <= -tolerance)
        return
    prefix = "accuracy_" if rank_by == "accuracy" else ""
    for row in rows:
        if row[f"{prefix}change"] == "worse" and not row[f"{prefix}within_tolerance"]:
            yield row["model"]


def _accuracy_sentence(row: TableRow) -> str:
    """The change in accuracy; nothing where outputs were not compared in both runs."""
    if not row["accuracy_cases"]:
        return ""
    words = {"worse": "is clearly lower", "better": "is clearly higher", "undecided": "shows no clear change"}
    shares = ""
    if row["accuracy_before"] is not None:
        shares = f": {percent(row['accuracy_before'])} before, {percent(row['accuracy_after'])} after"
    of = f" ({plural(row['accuracy_cases'], 'case')} with an expected output)"
    sentence = f" Its accuracy {words[row['accuracy_change']]}{shares}{of}."
    return f"{sentence} Undecided because {row['accuracy_because']}." if row["accuracy_because"] else sentence


def _answer(rows: Sequence[TableRow], by_metric: pd.DataFrame) -> str:
    return " ".join(f"{_sentence(row)}{_accuracy_sentence(row)}{_metric_sentences(row, by_metric)}" for row in rows)


def _metric_sentences(row: TableRow, by_metric: pd.DataFrame) -> str:
    """The clear changes of a model in the owner's metrics."""
    words = {"worse": "clearly lower", "better": "clearly higher"}
    own = by_metric[by_metric["model"].isin([row["model"]]) & by_metric["change"].isin(list(words))]
    return "".join(
        f" The metric {metric['metric']} is {words[metric['change']]}: {percent(metric['mean_before'])} before, "
        f"{percent(metric['mean_after'])} after ({plural(metric['cases'], 'case')})."
        for metric in records(own)
    )


def _metric_note(scores: tuple[pd.DataFrame, pd.DataFrame], by_metric: pd.DataFrame) -> Iterator[str]:
    """Which metrics are not the same measure in both runs: other criteria, another judge, other settings."""
    marks = [
        {
            name: set(tables.counting_scores(frame, name).query("source != 'none'")["fingerprint"])
            for name in by_metric["metric"].unique()
        }
        for frame in scores
    ]
    other = [name for name, was in marks[0].items() if was != marks[1][name]]
    if other:
        yield f"Scored in another way in the two runs (criteria, judge or settings): {', '.join(other)}."


def _sentence(row: TableRow) -> str:
    if not row["cases"]:
        return f"{row['model']}: no case was scored in both runs."
    bound = "at least " if row["at_least"] else ""
    shares = (
        f"{bound}{percent(row['non_compliance_before'])} before, {bound}{percent(row['non_compliance_after'])} after"
    )
    counts = f"{row['newly_failing']} newly failing, {row['fixed']} fixed of {plural(row['cases'], 'case')}"
    words = {"worse": "is clearly worse", "better": "is clearly better", "undecided": "shows no clear change"}
    sentence = f"{row['model']} {words[row['change']]}: {shares} ({counts})."
    if row["holds_sampled"] is False:
        sentence += " This would not hold if the rules were only a sample of the prompt's."
    return f"{sentence} Undecided because {row['because']}." if row["because"] else sentence


def _notes(before: AnyRun, after: AnyRun, common: int, rows: Sequence[TableRow]) -> Iterator[str]:
    one, two = before.manifest, after.manifest
    yield (
        "points: after minus before, on cases that both runs scored; a change is clear if exact sign flips of the "
        "differences per case show it, however the unscored outputs would have come out, corrected for the number of "
        "models (Holm)."
    )
    if one.run == two.run:
        yield (
            "Both runs were made from the same prompt, spec, cases, models and settings: what differs is noise, or "
            "what a provider or promptpex has changed since."
        )
    if one.prompt_fingerprint != two.prompt_fingerprint:
        yield "The prompt has changed between the runs."
    if one.spec_digest != two.spec_digest:
        yield "The specs differ: the verdicts of the two runs rest on different rules or checks."
    if one.judges != two.judges:
        names = [", ".join(judges) or "none" for judges in (one.judges, two.judges)]
        yield f"The judges differ: {names[0]} before, {names[1]} after."
    ways = [_comparisons(run) for run in (before, after)]
    if all(ways) and ways[0] != ways[1]:
        yield f"Expected outputs were compared by {', '.join(ways[0])} before, by {', '.join(ways[1])} after."
    left = [len(run.suite.cases) - common for run in (before, after)]
    if any(left):
        yield f"Cases that are not the same in both are left out: {left[0]} of the first run, {left[1]} of the second."
    gone = [
        model for model in dict.fromkeys([*one.models, *two.models]) if (model in one.models) != (model in two.models)
    ]
    if gone and len(rows) < len(set(one.models) | set(two.models)):
        yield f"Models of one run only are left out: {', '.join(gone)}."
    for run, name in ((one, "first"), (two, "second")):
        if run.partial:
            yield f"The {name} run is not complete ({run.partial})."
    if any(row["cases"] < FEW for row in rows):
        yield f"Fewer than {FEW} cases were scored in both: only a large change could be detected."
