"""Two runs side by side: of the same prompt, or of two versions of it, on the same cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Any, TypedDict

from promptpex import tables
from promptpex.core.errors import InputError, RunError
from promptpex.report.comparison.comparable import Comparable, comparable
from promptpex.report.comparison_in_words import change_notes, changes_answer, decided_otherwise, metric_note, no_claim
from promptpex.report.corrections_in_words import corrected_change_sentences
from promptpex.report.headline import by_these_judges
from promptpex.report.noise_in_words import noise_sentences
from promptpex.report.percentages import TableRow
from promptpex.report.ranked_metric import require_metric
from promptpex.report.run_tables import RunTables, tables_of
from promptpex.report.summary import NO_EXPECTED, unchecked_judges
from promptpex.stats import FEW_GRADES
from promptpex.tables import AnyRun, Cells, PeoplesGrades, Table, records


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What has changed from one run to another.

    Attributes:
        before, after: the tables of the runs.
        names: of each model in either run.
        cases: the ids of the cases that are the same in both and count.
        models: a row per model, columns ``tables.COMPARISON_COLUMNS``.
        rules: a row per rule and model, columns ``tables.RULE_CHANGE_COLUMNS``.
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

    before: RunTables
    after: RunTables
    names: tuple[tuple[str, str], ...]
    cases: tuple[str, ...]
    models: Table
    rules: Table
    metrics: Table
    corrections: Table
    changed: Table
    answer: str
    notes: tuple[str, ...]
    regressions: tuple[str, ...]
    confidence: float
    noise: tuple[TableRow, ...] = ()

    @property
    def is_claimed(self) -> bool:
        """Whether anything is said of the models: not where the cases of a run were chosen because they failed."""
        return not any(one.run.manifest.failed_in for one in (self.before, self.after))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.answer!r}>"


def compare_runs(
    before: AnyRun | RunTables,
    after: AnyRun | RunTables,
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
        confidence: of the intervals; its complement is the error rate over all models together.
        tolerance: a loss that does not count as a regression where it is shown to be no greater; None: none.
        weights: how many times each case counts.
        rank_by: what decides whether a model is worse.
        people, noise: people's grades of either run, and the measured noise of its models (``tables.NOISE_COLUMNS``).

    Raises:
        InputError: the runs have nothing in common, nothing was scored in one, or not by what is to decide.
    """
    both = old, new = _scored(before), _scored(after)
    runs, rows, scores = (old.run, new.run), (old.rows, new.rows), (old.metric_counts, new.metric_counts)
    models, common = _models(*runs), _cases(*runs)
    cases = _counting(new.run, common, weights)
    same: _Same = {"models": models, "cases": cases, "confidence": confidence, "weights": weights}
    by_model, what = _by_model(old, new, same, tolerance)
    by_metric, figures = tables.metric_changes(*scores, **same, same_texts=what.same_texts), records(by_model)
    corrected = tables.corrected_changes(*rows, people, **same, tolerance=tolerance or 0.0)
    notes = (*change_notes(old, new, len(common), figures), *metric_note(scores, by_metric))
    answer = _answer(figures, by_metric, corrected, (confidence, rank_by), decided_otherwise(*runs, what.unlike))
    comparison = RunComparison(
        before=old,
        after=new,
        names=tuple(models),
        cases=tuple(cases),
        models=by_model,
        rules=_by_rule(old, new, same, what),
        metrics=by_metric,
        corrections=corrected,
        changed=tables.changed(*rows, models=models, cases=cases),
        answer=" ".join([answer, *by_these_judges(max(map(unchecked_judges, both, people, repeat(rank_by))), rank_by)]),
        notes=(*notes, *noise_sentences(noise, figures)),
        regressions=tuple(_regressions(figures, by_metric, records(corrected), rank_by, tolerance)),
        confidence=confidence,
        noise=tuple(noise),
    )
    return comparison if comparison.is_claimed else _without_claims(comparison)


def _scored(run: AnyRun | RunTables) -> RunTables:
    """The tables of a run in which something was scored.

    Raises:
        RunError: nothing was, or the run has not ended.
    """
    made = tables_of(run)
    if not made.run.manifest.has_ended:
        name = made.run.manifest.run
        raise RunError(f"the run {name} has not ended, so it is not compared; the same `promptpex run` continues it")
    is_judged = "SELECT 1 FROM judged WHERE verdict IN ('pass', 'fail')"
    if not (made.rows.run.has(is_judged) or made.database.has("SELECT 1 FROM score WHERE unscored IS NULL")):
        raise RunError(f"nothing was scored in this run, so that there is nothing to compare: {made.run.manifest.run}")
    return made


def _without_claims(comparison: RunComparison) -> RunComparison:
    """What is left of a comparison where the cases of a run were chosen because they failed: what became of them."""
    tables_of_both = (comparison.models, comparison.rules, comparison.metrics)
    models, rules, metrics = map(tables.without_claims, tables_of_both)
    chosen = [one.run.manifest for one in (comparison.before, comparison.after)]
    return replace(
        comparison,
        models=models,
        rules=rules,
        metrics=metrics,
        corrections=comparison.corrections.where(lambda row: False),
        answer=no_claim(records(models), *chosen),
        notes=tuple(change_notes(comparison.before, comparison.after, len(comparison.cases), records(models))),
        regressions=(),
        noise=(),
    )


def _by_model(old: RunTables, new: RunTables, same: _Same, tolerance: float | None) -> tuple[Table, Comparable]:
    """The table of models, and what of the runs it rests on."""
    what = comparable(old, new, same["models"])
    tests = partial(tables.comparison, old.cells, new.cells, **same, tolerance=tolerance, expected=_expected(old, new))
    return tests(same_texts=what.same_texts, deciding=what.rows), what


def _by_rule(old: RunTables, new: RunTables, same: _Same, what: Comparable) -> Table:
    counts = old.rule_counts, new.rule_counts
    return tables.rule_changes(*counts, **same, same_texts=what.same_texts, unlike=what.unlike)


def _answer(
    figures: Sequence[TableRow],
    by_metric: Table,
    corrected: Table,
    options: tuple[float, str],
    unlike: str,
) -> str:
    confidence, rank_by = options
    if rank_by == "corrected":
        return " ".join(corrected_change_sentences(records(corrected), confidence, deciding=True))
    in_words = corrected_change_sentences(records(corrected), confidence)
    return " ".join([changes_answer(figures, by_metric, unlike), *in_words])


class _Same(TypedDict):
    """What all tables of a comparison are made with."""

    models: list[tuple[str, str]]
    cases: list[str]
    confidence: float
    weights: tables.Weights | None


def _counting(run: AnyRun, cases: Sequence[str], weights: tables.Weights | None) -> list[str]:
    """Those of these cases that have a weight.

    Raises:
        InputError: a weight is for no rule of the cases, or leaves none.
    """
    inside = set(cases)
    same = [case for case in run.suite.cases if case.id in inside]
    rules, inverse = [case.rule for case in same], [case.inverse for case in same]
    tables.check_weights(weights or {}, rules, inverse)
    return [case.id for case, times in zip(same, tables.weighed(rules, inverse, weights), strict=True) if times]


def require_corrected_changes(rows: Sequence[TableRow]) -> None:
    """Refuses to let corrected shares decide where people have graded too little.

    Raises:
        InputError: with what to do.
    """
    few = [
        f"{row['model']} has {row['graded_before']} and {row['graded_after']}"
        for row in rows
        if row["decision"] is None
    ]
    if few or not rows:
        raise InputError(
            f"to decide by corrected shares takes people's grades on {FEW_GRADES} outputs of each model in both runs, "
            f"drawn at random{''.join(f', and {one}' for one in few)}; grade more with `promptpex grade`"
        )


def _require_ranked(rank_by: str, by_metric: Table, figures: Sequence[TableRow]) -> None:
    """Refuses to let something decide that the runs have not measured.

    Raises:
        InputError: with what is missing.
    """
    require_metric(rank_by, list(dict.fromkeys(by_metric.column("metric"))))
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
        "rules": records(comparison.rules),
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


def _expected(before: RunTables, after: RunTables) -> tuple[Cells, Cells]:
    """Which outputs of either run are right, on the cases whose expected output is the same in both."""
    was = {case.id: (case.expected, case.also_right) for case in before.run.suite.cases if case.expected is not None}
    same = {case.id for case in after.run.suite.cases if was.get(case.id) == (case.expected, case.also_right)}
    return Cells.of(before.compared).only(same), Cells.of(after.compared).only(same)


def _regressions(
    rows: Sequence[TableRow],
    by_metric: Table,
    corrected: Sequence[TableRow],
    rank_by: str,
    tolerance: float | None,
) -> Iterator[str]:
    """The models that are shown to be worse, and not to be so within the tolerance; by a metric that is shown where the
    whole interval is.

    Raises:
        InputError: the runs have not measured what decides.
    """
    _require_ranked(rank_by, by_metric, rows)
    if rank_by not in tables.RANKED_BY:
        worse = [row for row in records(by_metric) if row["metric"] == rank_by and row["decision"] == "worse"]
        yield from (row["model"] for row in worse if tolerance is None or (row["difference_low"] or -1.0) <= -tolerance)
        return
    if rank_by == "corrected":
        require_corrected_changes(corrected)
    prefix = "accuracy_" if rank_by == "accuracy" else ""
    same_outputs = {row["model"] for row in rows if row["decision"] == "same outputs"}
    for row in corrected if rank_by == "corrected" else rows:
        if (
            row["model"] not in same_outputs
            and row[f"{prefix}decision"] == "worse"
            and not row[f"{prefix}within_tolerance"]
        ):
            yield row["model"]
