"""A comparison of two runs as tables of texts: the terminal and the local page show the same."""

from __future__ import annotations

from promptpex.report.ids import shortened
from promptpex.report.percentages import TableRow, percent
from promptpex.report.run_comparison import RunComparison
from promptpex.report.section import Section
from promptpex.tables import records

P = "p (Holm)"
GRADES = "grades before, after"
GIVE_WAY = ("before", "after", "newly failing", "fixed", P, GRADES)
"""Columns of a comparison that a narrow terminal goes without, the last one first."""

NONE = "–"


def compared_sections(comparison: RunComparison) -> list[Section]:
    """What changed, per model: the outputs that break a rule, the right ones, and the owner's metrics; those of them
    that there are."""
    points = f"points ({100 * comparison.confidence:g}% CI)"
    figures = ("change", "before", "after", points)
    models = records(comparison.models)
    right = [row for row in models if row["accuracy_cases"]]
    own = [_metric_cells(row) for row in records(comparison.metrics)]
    made = (
        Section(
            "broken",
            "Outputs that break a rule",
            "",
            ("model", *figures, "newly failing", "fixed", P),
            tuple(map(_cells, models)),
        ),
        Section("right", "Right outputs", "", ("model", *figures, P), tuple(map(_accuracy_cells, right))),
        Section(
            "corrected",
            "Outputs that break a rule, corrected by people's grades",
            "",
            ("model", "before", "after", points, GRADES),
            tuple(map(_corrected_cells, records(comparison.corrections))),
        ),
        Section("metrics", "Own metrics", "", ("model: metric", *figures, P), tuple(own)),
    )
    return [section for section in made if section.rows]


def changed_section(comparison: RunComparison) -> Section:
    """The cases that one run breaks more often than the other."""
    names = ("model", "case", "change", "broken_rules", "output")
    rows = tuple(tuple(str(row[name] or "") for name in names) for row in records(comparison.changed))
    return Section("changed", "Cases that changed", "", (*names[:3], "rules", "output"), rows, file="--json")


def _cells(row: TableRow) -> tuple[str, ...]:
    counts = (f"{row[run]} of {row[f'{run}_scored']}" for run in ("before", "after"))
    low, high = row["difference_low"], row["difference_high"]
    apart = NONE if low is None else _points(row["difference"], low, high)
    return (row["model"], row["change"], *counts, apart, str(row["newly_failing"]), str(row["fixed"]), _p(row))


def _corrected_cells(row: TableRow) -> tuple[str, ...]:
    low, high = row["corrected_difference_low"], row["corrected_difference_high"]
    points = NONE if low is None else _points(row["corrected_difference"], low, high)
    shares = (_share(row[f"corrected_{when}"]) for when in ("before", "after"))
    return (row["model"], *shares, points, f"{row['graded_before']}, {row['graded_after']}")


def _accuracy_cells(row: TableRow) -> tuple[str, ...]:
    low, high = row["accuracy_difference_low"], row["accuracy_difference_high"]
    points = NONE if low is None else _points(row["accuracy_difference"], low, high)
    shares = (_share(row[f"accuracy_{when}"]) for when in ("before", "after"))
    return (row["model"], row["accuracy_change"], *shares, points, _p(row, "accuracy_"))


def _metric_cells(row: TableRow) -> tuple[str, ...]:
    name, low, high = f"{shortened(row['model'])}: {row['metric']}", row["difference_low"], row["difference_high"]
    if low is None:
        return (name, row["change"], *(NONE,) * 4)
    shares = (_share(row[f"mean_{when}"]) for when in ("before", "after"))
    return (name, row["change"], *shares, _points(row["difference"], low, high), _p(row))


def _share(share: float | None) -> str:
    return NONE if share is None else percent(share)


def _points(difference: float | None, low: float, high: float) -> str:
    """A difference with its interval, in percentage points."""
    ends = f"{100 * low:+z.0f} to {100 * high:+z.0f}"
    return f"({ends})" if difference is None else f"{100 * difference:+z.0f} ({ends})"


def _p(row: TableRow, prefix: str = "") -> str:
    value = row[f"{prefix}p_adjusted"]
    return NONE if value is None else f"{value:.3g}"
