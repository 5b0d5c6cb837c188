"""Non-compliance corrected by people's grades on a random sample of the outputs, per model and for pairs of models."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from promptpex.core.errors import InputError
from promptpex.stats import (
    FEW_GRADES,
    Interval,
    JudgedOutputs,
    Losses,
    PairTests,
    corrected_difference,
    corrected_share,
    corrected_statements,
    decide,
    holm,
)
from promptpex.stats.corrected_share import NOTHING
from promptpex.tables.compare_runs import name_in_both
from promptpex.tables.counts_per_case import Weights, weighed
from promptpex.tables.database_sql import BROKEN, KEPT
from promptpex.tables.peoples_grades import NO_ITEM, PeoplesGrades
from promptpex.tables.rankings import Decision, RankingOptions, Rankings, require_no_looks
from promptpex.tables.run_rows import Rows, Source, rows_of
from promptpex.tables.table import Table

_DIFFERENCE = {
    "corrected_difference": "Float64",
    "corrected_difference_low": "Float64",
    "corrected_difference_high": "Float64",
}
CORRECTION_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "graded": "Int64",
    "left_out": "Int64",
    "corrected": "Float64",
    "corrected_low": "Float64",
    "corrected_high": "Float64",
    "grades_alone": "Int64",
    **_DIFFERENCE,
}
"""Columns of ``corrections``. ``graded`` are the model's outputs of the random sample with a label from people, each
text of the same inputs once; ``left_out`` those whose grades give no label, being unsure or at odds, so that they
leave the sample; ``corrected`` is the non-compliance that grades and verdicts give together, by
prediction-powered inference, with its interval, of all usable outputs, those without a verdict too; ``grades_alone``:
so many grades without a judge would tell as much. The difference is from the model that it is compared with
(``versus``). All but the first two are missing where fewer than two outputs are graded."""

CORRECTED_CHANGE_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "graded_before": "Int64",
    "graded_after": "Int64",
    "corrected_before": "Float64",
    "corrected_after": "Float64",
    **_DIFFERENCE,
    "decision": "string",
    "within_tolerance": "boolean",
}
"""Columns of ``corrected_changes``: as ``CORRECTION_COLUMNS``, in either run, on the cases of both; the difference is
after minus before. ``decision`` is ``worse``, ``better`` or ``unclear``, corrected by Holm over the models, and
``within_tolerance`` whether the rise is shown to be less; both are missing where grades are too few to decide."""

FEWEST = 2
"""Graded outputs from which on there is an estimate."""


def corrections(
    source: Source,
    people: PeoplesGrades,
    *,
    order: Sequence[str],
    confidence: float = 0.95,
    weights: Weights | None = None,
    versus: Mapping[str, str] | None = None,
) -> Table:
    """A row per model, in ``order``; columns ``CORRECTION_COLUMNS``.

    Args:
        source: a run, or a table of outputs.
        people: what people said of them.
        confidence: of the intervals.
        weights: how many times each case counts.
        versus: by model, the one that it is compared with.
    """
    rows = rows_of(source)
    graded = _GradedRun(rows, people, _case_weights(rows, weights))
    table: list[dict[str, Any]] = []
    for model in order:
        judged = graded.outputs_of(model)
        counts = {"graded": judged.graded, "left_out": people.left_out.get(model, 0)}
        table.append({"model": model, **counts, **_share_cells(judged, confidence)})
        other = (versus or {}).get(model)
        if other is not None:
            table[-1] |= _difference_cells(*graded.on_both(model, other), confidence)
    return Table.of(table, CORRECTION_COLUMNS)


def corrected_changes(
    before: Source,
    after: Source,
    people: tuple[PeoplesGrades | None, PeoplesGrades | None],
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    weights: Weights | None = None,
    tolerance: float = 0.0,
) -> Table:
    """A row per model, from the tables of outputs of two runs, none without grades; ``CORRECTED_CHANGE_COLUMNS``.

    Args:
        before, after: tables of outputs.
        people: what people said of the outputs of either run.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
        confidence: of the intervals.
        weights: how many times each case counts.
        tolerance: the rise that one is ready to accept.
    """
    if not any(grades is not None and grades.graded for grades in people):
        return Table.of([], CORRECTED_CHANGE_COLUMNS)
    old_rows, new_rows = rows_of(before), rows_of(after)
    per_case = _case_weights(new_rows, weights)
    table: list[dict[str, Any]] = []
    tested: dict[int, _Tested] = {}
    for number, names in enumerate(models):
        both = set(cases) & _answered(old_rows, names[0]) & _answered(new_rows, names[1])
        old, new = (
            _judged(rows, grades or PeoplesGrades(), name, per_case, both)
            for rows, grades, name in zip((old_rows, new_rows), people, names, strict=True)
        )
        row: dict[str, Any] = {
            "model": name_in_both(*names),
            "graded_before": old.graded,
            "graded_after": new.graded,
        }
        for when, judged in (("before", old), ("after", new)):
            row[f"corrected_{when}"] = _share_cells(judged, confidence).get("corrected")
        table.append(row | _difference_cells(new, old, confidence))
        if not (too_few(old) or too_few(new)):
            tested[number] = _tested(new, old, tolerance)
    for number, cells in _decided(tested, round(1.0 - confidence, 12)).items():
        table[number] |= cells
    return Table.of(table, CORRECTED_CHANGE_COLUMNS)


_Tested = tuple[float, float, bool]
"""Of two runs of a model: the p-values of a change and of a rise within the tolerance, and whether it is a rise."""


def _tested(new: JudgedOutputs, old: JudgedOutputs, tolerance: float) -> _Tested:
    (risen, close), (fallen, _) = corrected_statements(new, old, tolerance), corrected_statements(old, new, tolerance)
    return min(risen, fallen), close, risen < fallen


def _decided(tested: Mapping[int, _Tested], alpha: float) -> dict[int, dict[str, Any]]:
    """What is shown of the models, by their numbers; each kind of statement is corrected over all of them."""
    changed, close = (holm([one[at] for one in tested.values()]) for at in (0, 1))
    return {
        number: {
            "decision": ("worse" if rises else "better") if p <= alpha else "unclear",
            "within_tolerance": p_close <= alpha,
        }
        for (number, (_, _, rises)), p, p_close in zip(tested.items(), changed, close, strict=True)
    }


def corrected_rankings(
    source: Source, people: PeoplesGrades | None, order: Sequence[str], options: RankingOptions
) -> Rankings:
    """The decisions about the models by their corrected shares, in place of those by the verdicts alone.

    Args:
        source: a run, or a table of outputs.
        people: what people said of them.
        order: all models.
        options: what they are compared with.

    Raises:
        InputError: people have graded too few outputs of a model, or the run stopped when something else was decided.
    """
    require_no_looks(options)
    if options.older_rule:
        raise InputError("this run stopped asking by an older rule, which no test goes with; run it again")
    rows = rows_of(source)
    graded = _GradedRun(rows, people or PeoplesGrades(), _case_weights(rows, options.weights))
    judged = {model: graded.outputs_of(model) for model in order}
    require_grades(judged)
    shares = {model: corrected_share(one).interval.estimate or 0.0 for model, one in judged.items() if one.graded}
    counts = tuple(one.graded for one in judged.values())
    losses = Losses(tuple(order), counts, tuple(shares.get(model, 0.0) for model in order))
    shown = decide(losses, _tests(graded, list(shares), options), alpha=options.alpha, against=options.against)
    decisions = {}
    for name, model in shown.models.items():
        gap = None
        if shown.anchor is not None and shown.anchor != name and {name, shown.anchor} <= set(shares):
            gap = _gap(*graded.on_both(name, shown.anchor), options.confidence)
        decisions[name] = Decision.of(model, shown.anchor, gap, None)
    return Rankings(decisions, options)


@dataclass(frozen=True)
class _GradedRun:
    """A table of outputs, what people said of them, and how many times each case counts."""

    rows: Rows
    people: PeoplesGrades
    per_case: Mapping[str, int]

    def outputs_of(self, model: str, cases: Collection[str] | None = None) -> JudgedOutputs:
        """Those of a model; ``cases``: only on these."""
        return _judged(self.rows, self.people, model, self.per_case, cases)

    def on_both(self, first: str, second: str) -> tuple[JudgedOutputs, JudgedOutputs]:
        """Those of two models on the cases that both answered."""
        both = _answered(self.rows, first) & _answered(self.rows, second)
        return self.outputs_of(first, both), self.outputs_of(second, both)


def _tests(graded: _GradedRun, models: Sequence[str], options: RankingOptions) -> PairTests:
    tests = PairTests({}, {})
    for couple in permutations(models, 2):
        if options.against in (None, *couple):
            pair = graded.on_both(*couple)
            few = min(outputs.graded for outputs in pair) < FEWEST
            p = (1.0, 1.0) if few else corrected_statements(*pair, options.tolerance)
            tests.worse[couple], tests.close[couple] = p
    return tests


def require_grades(judged: Mapping[str, JudgedOutputs]) -> None:
    """Refuses to decide by the grades of so few outputs that the intervals are rough guides.

    Raises:
        InputError: with the models that have too few.
    """
    few = [f"{model} has {outputs.graded}" for model, outputs in judged.items() if too_few(outputs)]
    if few:
        raise InputError(
            f"to decide by corrected shares takes people's grades on {FEW_GRADES} outputs of each model, drawn at "
            f"random, and {', '.join(few)}; grade more with `promptpex grade`"
        )


def too_few(outputs: JudgedOutputs) -> bool:
    """Whether people have graded too few of some outputs to decide by them: fewer than 30, and not all."""
    return outputs.graded < min(FEW_GRADES, max(FEWEST, len(outputs.cases))) and len(outputs.cases) > 0


def with_corrections(by_model: Table, corrected: Table) -> Table:
    """A table of models with the columns of ``corrections`` after those that it has; as it is where there are none."""
    if not len(corrected):
        return by_model
    rows, kinds = {row["model"]: row for row in corrected.records()}, dict(corrected.kinds)
    del kinds["model"]
    models = by_model.column("model")
    return by_model.with_columns(kinds, {name: [rows.get(model, {}).get(name) for model in models] for name in kinds})


def _case_weights(rows: Rows, weights: Weights | None) -> dict[str, int]:
    """How many times each case counts, in the order of the rows."""
    about = rows.query("c.id, c.aim, c.inverse", "GROUP BY c.number ORDER BY min(t.place)").fetchall()
    names, rules, sides = zip(*about, strict=True) if about else ((), (), ())
    return dict(zip(names, weighed(rules, sides, weights), strict=True))


_USABLE = "WHERE m.name = CAST(? AS TEXT) AND o.error IS NULL"


def _answered(rows: Rows, model: str) -> set[str]:
    """The cases that a model gave a usable answer to."""
    return {case for (case,) in rows.query("DISTINCT c.id", _USABLE, [model])}


def _judged(
    rows: Rows,
    people: PeoplesGrades,
    model: str,
    per_case: Mapping[str, int],
    cases: Collection[str] | None,
) -> JudgedOutputs:
    """The items of a model's usable outputs: each with its case, its share of the mean over cases, the verdict of its
    first output, and people's grade where it is in the random sample."""
    import numpy as np

    numbers = {
        case: number for number, case in enumerate(per_case) if per_case[case] and (cases is None or case in cases)
    }
    usable = rows.query("t.place, c.id, t.kind", f"{_USABLE} ORDER BY t.place", [model])
    own = [(place, numbers[case], kind) for place, case, kind in usable if case in numbers]
    place, case, kind = np.array(own, dtype=np.int64).reshape(-1, 3).T
    verdicts = np.select([kind == BROKEN, kind == KEPT], [1, 0], NOTHING)
    items = np.asarray(people.items, dtype=np.int64)[place] if len(people.items) else np.full(len(own), NO_ITEM)
    items = np.where(items == NO_ITEM, -2 - np.arange(len(own)), items)
    names, first, group = np.unique(items, return_index=True, return_inverse=True)
    order = np.argsort(first)
    names, first, group = names[order], first[order], np.argsort(order)[group]
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
    gap = _gap(first, second, confidence)
    return {} if gap is None else dict(zip(_DIFFERENCE, (gap.estimate, gap.low, gap.high), strict=True))


def _gap(first: JudgedOutputs, second: JudgedOutputs, confidence: float) -> Interval | None:
    if min(first.graded, second.graded) < FEWEST:
        return None
    return corrected_difference(first, second, confidence=confidence)
