"""Two runs side by side: which models are shown to have become better or worse on the same cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from promptpex.stats import Completion, Grid, Reading, holm, more_failures_p, pair, share, statements, tie_p
from promptpex.tables.accuracy import ACCURACY_CHANGE_COLUMNS, accuracy_change
from promptpex.tables.counts_per_case import KINDS, CaseFacts, Cells, Counted, Weights, counted
from promptpex.tables.database_sql import BROKEN, KEPT, UNASKED
from promptpex.tables.paired_cells import RUNS, cells_of_both
from promptpex.tables.proportions import difference
from promptpex.tables.rankings import missing_in_words
from promptpex.tables.run_rows import Rows, Source, rows_of
from promptpex.tables.table import Table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

FIGURES_OF_BOTH: Mapping[str, str] = {
    "cases": "Int64",
    "before": "Int64",
    "before_scored": "Int64",
    "after": "Int64",
    "after_scored": "Int64",
    "non_compliance_before": "Float64",
    "non_compliance_after": "Float64",
    "newly_failing": "Int64",
    "fixed": "Int64",
    "still_failing": "Int64",
    "at_least": "boolean",
    "difference": "Float64",
    "difference_low": "Float64",
    "difference_high": "Float64",
    "p": "Float64",
    "p_adjusted": "Float64",
    "decision": "string",
}
"""The columns that every comparison of outputs has; ``COMPARISON_COLUMNS`` says what they mean."""

COMPARISON_COLUMNS: Mapping[str, str] = {
    "model": "string",
    **FIGURES_OF_BOTH,
    "same_texts": "Int64",
    "changed_same_texts": "Int64",
    "undecided_because": "string",
    "within_tolerance": "boolean",
    **ACCURACY_CHANGE_COLUMNS,
}
"""Columns of ``comparison``. ``before`` and ``after`` are the outputs that break a rule in either run, of those scored,
on the ``cases`` scored in both; the two shares are means over these cases of the case's mean over its repeats, and
``difference`` is the second minus the first, with Tango's interval. Where usable answers have no verdict
(``at_least``) counts and shares are of all usable answers, and the shares lower bounds. ``newly_failing`` and
``fixed`` are the cases whose mean went up or down, whatever missing verdicts would have been, ``still_failing`` those
without missing ones that are broken as often as before. ``p``
is that of exact sign flips of the differences of the cases, at the completion of the unscored outputs that speaks most
against a change, and ``p_adjusted`` is corrected over the models by Holm; both are missing where there is no
difference. Of the cases ``same_texts`` have the same answers in both runs, and ``changed_same_texts`` are newly failing
or fixed all the same: these count as no difference in the tests, since only their verdicts can have changed.
``decision`` is ``worse`` or ``better`` where it is shown by the rules that were decided alike, ``same outputs`` where
every case that changed has the same answers, else ``undecided``, with ``undecided_because`` where unscored outputs keep
it so. The interval is at the level of all models together, and missing where it would contradict the decision.
``within_tolerance``: shown to be less than the tolerance worse, if there is one, corrected over the models by Holm.
The rest is in ``ACCURACY_CHANGE_COLUMNS``."""

CHANGED_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "case": "string",
    "change": "string",
    "before": "string",
    "after": "string",
    "broken_rules": "string",
    "output": "string",
}
"""Columns of ``changed``: a case that breaks its rules in more of its repeats in one run than in the other; ``before``
and ``after`` are passed of scored repeats; the rest is of an output of the worse run that breaks a rule."""

BEFORE, AFTER = 0, 1
WHEN = ((BEFORE, "outputs before"), (AFTER, "outputs after"))


def comparison(
    before: Source | Cells,
    after: Source | Cells,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    tolerance: float | None = None,
    weights: Weights | None = None,
    expected: tuple[Source | Cells, Source | Cells] | None = None,
    same_texts: Sequence[Collection[str]] = (),
    deciding: tuple[Source | Cells, Source | Cells] | None = None,
) -> Table:
    """A row per model, from the tables of outputs of two runs; columns ``COMPARISON_COLUMNS``.

    Args:
        before, after: tables of outputs.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
        confidence: of the intervals; its complement is the error rate over all models together.
        tolerance: the loss that one is ready to accept, as a share.
        weights: how many times each case counts.
        expected: which outputs of either run are right (``expected_outcomes``), on cases whose expected output is the
            same; without it the accuracy is missing.
        same_texts: for each model the cases whose answers are the same in both runs.
        deciding: the outputs of both by the rules that were decided alike; None: all were.
    """
    same_texts = same_texts or [()] * len(models)
    compared = partial(
        _compared, models=models, confidence=confidence, tolerance=tolerance, weights=weights, same_texts=same_texts
    )
    both = Cells.of(before), Cells.of(after)
    sides = both if deciding is None else (Cells.of(deciding[0]), Cells.of(deciding[1]))
    rows = compared(*both, cases=cases, deciding=sides)
    right = (Cells.of(expected[0]), Cells.of(expected[1])) if expected is not None else None
    if right is not None and all(one.cases for one in right):
        same = set(cases) & set(right[0].places) & set(right[1].places)
        of_accuracy = compared(*right, cases=same, deciding=right)
        rows = [{**row, **accuracy_change(of)} for row, of in zip(rows, of_accuracy, strict=True)]
    return Table.of(rows, COMPARISON_COLUMNS)


def _compared(
    before: Cells,
    after: Cells,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float,
    tolerance: float | None,
    weights: Weights | None,
    same_texts: Sequence[Collection[str]],
    deciding: tuple[Cells, Cells],
) -> list[dict[str, Any]]:
    """The rows of one comparison: of outputs that break a rule, or of those that are wrong."""
    alpha = round(1.0 - confidence, 12)
    both = [counts_of_both(before, after, names, cases, weights) for names in models]
    tested = [
        counts_of_both(*deciding, names, cases, weights, same) for names, same in zip(models, same_texts, strict=True)
    ]
    changes = [likelier_change(counts.asked) for counts in tested]
    adjusted = holm([p for _, p in changes])
    adjusted_as_observed = holm([likelier_change(counts.asked, reading="seen")[1] for counts in tested])
    close = holm([_tie_p(counts.asked, tolerance) for counts in tested]) if tolerance is not None else []
    rows = []
    for number, (names, counts, (change, p)) in enumerate(zip(models, both, changes, strict=True)):
        is_significant, figures = adjusted[number] <= alpha, figures_of_both(counts, 1.0 - alpha / len(models))
        has_difference = figures.get("difference_low") is not None
        figures |= same_text_counts(before, after, names, set(cases) & set(same_texts[number]), weights)
        figures["decision"] = change if is_significant else _unshown(figures)
        rows.append(
            {
                "model": name_in_both(*names),
                **without_contradiction(figures),
                "p": p if has_difference else None,
                "p_adjusted": adjusted[number] if has_difference else None,
                "undecided_because": missing_in_words(tested[number].asked, WHEN)
                if not is_significant and adjusted_as_observed[number] <= alpha
                else None,
                "within_tolerance": close[number] <= alpha if close and _common(counts.asked) else None,
            }
        )
    return rows


def same_text_counts(
    before: Cells, after: Cells, names: tuple[str, str], same: Collection[str], weights: Weights | None
) -> dict[str, int]:
    """How many cases have the same answers in both runs, and how many of them came out otherwise."""
    if not same:
        return {"same_texts": 0, "changed_same_texts": 0}
    figures = figures_of_both(counts_of_both(before, after, names, same, weights), 0.95)
    return {"same_texts": len(same), "changed_same_texts": figures["newly_failing"] + figures["fixed"]}


def _unshown(figures: Mapping[str, Any]) -> str:
    """What is said where no change is shown."""
    changed = figures["newly_failing"] + figures["fixed"]
    return "same outputs" if changed and changed == figures["changed_same_texts"] else "undecided"


def without_contradiction(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures of a change without its interval where that says something else than the decision, which rests on
    exact tests that are corrected by Holm."""
    low, high = figures.get("difference_low"), figures.get("difference_high")
    if low is None or high is None:
        return figures
    agrees = {"worse": low > 0, "better": high < 0}.get(figures["decision"], low <= 0 <= high)
    return figures if agrees else {**figures, "difference_low": None, "difference_high": None}


def name_in_both(before: str, after: str) -> str:
    """How a row calls a model of two runs, whose name may have changed."""
    return before if before == after else f"{before} -> {after}"


def changed(
    before: Source,
    after: Source,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
) -> Table:
    """A row per model and case that one run breaks more often than the other, new ones first; ``CHANGED_COLUMNS``.

    Args:
        before, after: tables of outputs.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
    """
    sides = rows_of(before), rows_of(after)
    cells = cells_of_both(*sides, models, cases)
    (failed_before, passed_before, _), (failed_after, passed_after, _) = (counts.T for counts in cells.counts)
    shift = failed_after * (failed_before + passed_before) - failed_before * (failed_after + passed_after)
    order = sorted(shift.nonzero()[0].tolist(), key=lambda at: (shift[at] < 0, cells.models[at]))
    texts = [
        _texts(side, [int(failing[at]) for at in order if (shift[at] > 0) == (run == AFTER)])
        for run, (side, failing) in enumerate(zip(sides, cells.failing, strict=True))
    ]
    rows = []
    for at in order:
        run = AFTER if shift[at] > 0 else BEFORE
        broken_rules, output = texts[run].get(int(cells.failing[run][at]), (None, None))
        rows.append(
            {
                "model": name_in_both(*models[cells.models[at]]),
                "case": cells.cases[at],
                "change": "newly failing" if run == AFTER else "fixed",
                "before": f"{passed_before[at]} of {failed_before[at] + passed_before[at]}",
                "after": f"{passed_after[at]} of {failed_after[at] + passed_after[at]}",
                "broken_rules": broken_rules,
                "output": output,
            }
        )
    return Table.of(rows, CHANGED_COLUMNS)


def _texts(rows: Rows, places: Sequence[int]) -> dict[int, tuple[str | None, str | None]]:
    """Of the outputs at these places which rules each breaks, and its text."""
    with rows.run.chosen(places) as chosen:
        texts = rows.query("t.place, t.broken_rules, o.text", f"WHERE t.place IN {chosen}")
        return {place: (broken_rules, text) for place, broken_rules, text in texts}


def counts_of_both(
    before: Cells,
    after: Cells,
    names: tuple[str, str],
    cases: Collection[str],
    weights: Weights | None,
    same_texts: Collection[str] = (),
) -> Counted:
    """Both runs of one model as rows ``BEFORE`` and ``AFTER`` of counts, on the cases that are the same; of those that
    have the same answers in both runs the second came out as the first."""
    import numpy as np

    same, tied = frozenset(cases), frozenset(same_texts)
    old, new = (_of_model(side, name, same) for side, name in zip((before, after), names, strict=True))
    alike = [case for case in old if case in tied]
    order = list(dict.fromkeys([*(case for side in (old, new) for case in side if case not in tied), *alike]))
    counts = np.zeros((2, len(order), KINDS), dtype=np.int64)
    for number, case in enumerate(order):
        for row, side in enumerate((old, new)):
            if case in side and case not in tied:
                counts[row, number] = side[case][1]
        if case in tied:
            broken = old[case][1][BROKEN]
            counts[:, number, [BROKEN, KEPT]] = broken, old[case][1][: UNASKED + 1].sum() - broken
    facts = tuple((old.get(case) or new[case])[0] for case in order)
    return counted(Cells(RUNS, facts, counts), RUNS, weights=weights)


def _of_model(cells: Cells, name: str, cases: Collection[str]) -> dict[str, tuple[CaseFacts, Ints]]:
    """The counts of a model by case, of those of which it has an output."""
    if name not in cells.models:
        return {}
    own = cells.counts[cells.models.index(name)]
    there = own[:, : UNASKED + 1].any(axis=1).tolist()
    return {
        case.id: (case, counts)
        for case, counts, is_there in zip(cells.cases, own, there, strict=True)
        if is_there and case.id in cases
    }


def likelier_change(grid: Grid, *, reading: Reading = "against") -> tuple[str, float]:
    """The likelier of ``worse`` and ``better``, and its p-value."""
    ways = (("worse", AFTER, BEFORE), ("better", BEFORE, AFTER))
    changes = [(name, more_failures_p(statements(grid, one, two, reading=reading).worse)) for name, one, two in ways]
    return min(changes, key=lambda change: change[1])


def _tie_p(grid: Grid, tolerance: float) -> float:
    return tie_p(statements(grid, AFTER, BEFORE).close, tolerance)


def _common(grid: Grid) -> int:
    return pair(grid, BEFORE, AFTER).n


def figures_of_both(counts: Counted, confidence: float) -> dict[str, Any]:
    """Counts, shares and difference on the cases that were scored in both runs; where usable answers have no verdict,
    on those that were answered in both, and of the failures that are known."""
    import numpy as np

    bound = bool(counts.incomplete)
    grid = counts.usable if bound else counts.asked
    how: Completion = "best" if bound else "seen"
    both = grid.only(np.flatnonzero((grid.sizes(how) > 0).all(axis=0)))
    paired = pair(both, AFTER, BEFORE, (how, how))
    cells: dict[str, Any] = {
        "cases": paired.n,
        "before": int(both.broken[BEFORE].sum()),
        "before_scored": int(both.sizes(how)[BEFORE].sum()),
        "after": int(both.broken[AFTER].sum()),
        "after_scored": int(both.sizes(how)[AFTER].sum()),
        **_of_cases(both, bound=bound),
        "at_least": bound,
    }
    if not paired.n:
        return cells
    shares = share(both, BEFORE, how), share(both, AFTER, how)
    cells |= {"non_compliance_before": shares[BEFORE], "non_compliance_after": shares[AFTER]}
    gap = difference(counts, AFTER, BEFORE, confidence)
    return cells | ({"difference": gap.estimate, "difference_low": gap.low, "difference_high": gap.high} if gap else {})


def _of_cases(both: Grid, *, bound: bool) -> dict[str, int]:
    """How many cases are newly failing, fixed and still failing, however those without a verdict would have come out.

    Args:
        bound: whether those count among the sizes.
    """
    sizes, open_ = both.sizes("best" if bound else "seen"), both.open if bound else 0 * both.open
    least, most = both.broken, both.broken + open_
    newly = least[AFTER] * sizes[BEFORE] > most[BEFORE] * sizes[AFTER]
    fixed = most[AFTER] * sizes[BEFORE] < least[BEFORE] * sizes[AFTER]
    still = ~newly & ~fixed & ~open_.any(axis=0) & (least[AFTER] > 0)
    return {"newly_failing": int(newly.sum()), "fixed": int(fixed.sum()), "still_failing": int(still.sum())}
