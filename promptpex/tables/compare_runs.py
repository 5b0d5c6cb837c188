"""Two runs side by side: which models are shown to have become better or worse on the same cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from promptpex.stats import Completion, Grid, Reading, holm, more_failures_p, pair, share, statements, tie_p
from promptpex.tables.accuracy import ACCURACY_CHANGE_COLUMNS, accuracy_change
from promptpex.tables.counts_per_case import COUNTED, Counted, Weights, counted
from promptpex.tables.frames import TEXT, marked, typed
from promptpex.tables.paired_cells import RUNS, cells_of_both
from promptpex.tables.plain_values import records
from promptpex.tables.proportions import difference
from promptpex.tables.rankings import missing_in_words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

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
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float = 0.95,
    tolerance: float | None = None,
    weights: Weights | None = None,
    expected: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    same_texts: Sequence[Collection[str]] = (),
    deciding: tuple[pd.DataFrame, pd.DataFrame] | None = None,
) -> pd.DataFrame:
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
    rows = compared(before, after, cases=cases, deciding=deciding)
    if expected is not None and all(len(frame) for frame in expected):
        same = set(cases) & set(expected[0]["case"]) & set(expected[1]["case"])
        of_accuracy = compared(*expected, cases=same)
        rows = [{**row, **accuracy_change(of)} for row, of in zip(rows, of_accuracy, strict=True)]
    return typed(rows, COMPARISON_COLUMNS)


def _compared(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    confidence: float,
    tolerance: float | None,
    weights: Weights | None,
    same_texts: Sequence[Collection[str]],
    deciding: tuple[pd.DataFrame, pd.DataFrame] | None = None,
) -> list[dict[str, Any]]:
    """The rows of one comparison: of outputs that break a rule, or of those that are wrong."""
    alpha, sides = round(1.0 - confidence, 12), deciding or (before, after)
    both = [counts_of_both(before, after, names, cases, weights) for names in models]
    tested = [
        counts_of_both(*sides, names, cases, weights, same) for names, same in zip(models, same_texts, strict=True)
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
    before: pd.DataFrame, after: pd.DataFrame, names: tuple[str, str], same: Collection[str], weights: Weights | None
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


Chosen = Callable[[Sequence[int]], "pd.DataFrame"]
"""Gives the outputs of a run at some places, with their texts."""


def changed(
    before: pd.DataFrame,
    after: pd.DataFrame,
    *,
    models: Sequence[tuple[str, str]],
    cases: Collection[str],
    chosen: tuple[Chosen, Chosen] | None = None,
) -> pd.DataFrame:
    """A row per model and case that one run breaks more often than the other, new ones first; ``CHANGED_COLUMNS``.

    Args:
        before, after: tables of outputs.
        models: each model's name in the first and in the second run.
        cases: the ids of the cases that are the same in both.
        chosen: give outputs of the runs with their texts, where the tables have none.
    """
    import numpy as np

    cells = cells_of_both(before, after, models, cases)
    passed, failed = ([cells[f"{run}_{kind}"].to_numpy() for run in RUNS] for kind in ("passed", "failed"))
    scored = [good + bad for good, bad in zip(passed, failed, strict=True)]
    shift = failed[AFTER] * scored[BEFORE] - failed[BEFORE] * scored[AFTER]
    model = cells["model"].to_numpy()
    order = np.lexsort((np.arange(len(cells)), model, shift < 0))
    changed_order = order[(shift != 0)[order]]
    texts = [
        _texts(rows if chosen is None else chosen[at], cells[f"{run}_failing"].to_numpy()[changed_order[worse]])
        for at, (rows, run, worse) in enumerate(
            zip((before, after), RUNS, (shift[changed_order] < 0, shift[changed_order] > 0), strict=True)
        )
    ]
    names, of_case = [name_in_both(*both) for both in models], cells["case"].tolist()
    rows = (
        {
            "model": names[model[at]],
            "case": of_case[at],
            "change": "newly failing" if shift[at] > 0 else "fixed",
            "before": f"{passed[BEFORE][at]} of {scored[BEFORE][at]}",
            "after": f"{passed[AFTER][at]} of {scored[AFTER][at]}",
            **next(texts[AFTER if shift[at] > 0 else BEFORE]),
        }
        for at in changed_order.tolist()
    )
    return typed(rows, CHANGED_COLUMNS)


def _texts(rows: pd.DataFrame | Chosen, places: npt.NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    """Of the outputs at these places one after the other, which rules each breaks, and its text."""
    import numpy as np

    if not len(places):
        return
    order = np.unique(places)
    rows_shown = rows(order.tolist()) if callable(rows) else rows.iloc[order]
    texts = records(rows_shown[["broken_rules", "output"]])
    yield from (texts[at] for at in np.searchsorted(order, places).tolist())


def counts_of_both(
    before: pd.DataFrame,
    after: pd.DataFrame,
    names: tuple[str, str],
    cases: Collection[str],
    weights: Weights | None,
    same_texts: Collection[str] = (),
) -> Counted:
    """Both runs of one model as rows ``BEFORE`` and ``AFTER`` of counts, on the cases that are the same; of those that
    have the same answers in both runs the second came out as the first."""
    import pandas as pd

    parts, same = [], frozenset(cases)
    for rows, name, run in zip((before, after), names, RUNS, strict=True):
        inside = marked(rows["model"], name.__eq__) & marked(rows["case"], same.__contains__)
        rows_inside = rows.loc[inside, [column for column in rows.columns if column in COUNTED]]
        parts.append(rows_inside.assign(model=pd.array([run] * len(rows_inside), dtype=TEXT)))
    if same_texts:
        parts = _tied(parts[BEFORE], parts[AFTER], frozenset(same_texts))
    return counted(pd.concat(parts, ignore_index=True), RUNS, weights=weights)


def _tied(old: pd.DataFrame, new: pd.DataFrame, same: frozenset[str]) -> list[pd.DataFrame]:
    """The rows of both, where some cases came out alike and none of their outputs is open."""
    import pandas as pd

    was, now = (marked(rows["case"], same.__contains__) for rows in (old, new))
    tied = old[was]
    tied = tied.assign(verdict=tied["verdict"].where(tied["verdict"].eq("fail").fillna(False), "pass"), asked=True)
    tied = tied.drop(columns=[name for name in ("error", "unscored") if name in tied])
    again = tied.assign(model=pd.array([RUNS[AFTER]] * len(tied), dtype=TEXT))
    return [old[~was], new[~now], tied, again]


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
