"""A comparison of two runs as tables of texts: the terminal and the local page show the same."""

from __future__ import annotations

from collections.abc import Iterator

from promptpex.core.translation import Key, digits, from_data, tr
from promptpex.report.ids import shortened
from promptpex.report.percentages import TableRow, as_given, percent, points_apart
from promptpex.report.run_comparison import RunComparison
from promptpex.report.text_table import Section
from promptpex.tables import records

P = "p (Holm)"
GRADES = Key("grades before, after")
GIVE_WAY = (Key("before"), Key("after"), Key("newly failing"), Key("fixed"), P, GRADES)
"""Columns of a comparison that a narrow terminal goes without, the last one first."""

NONE = "–"


def compared_sections(comparison: RunComparison) -> list[Section]:
    """What changed, per model: the outputs that break a rule, the right ones, and the owner's metrics; those of them
    that there are."""
    if not comparison.is_claimed:
        return [_counted(comparison)]
    points = tr("points ({level} CI)", level=as_given(comparison.confidence))
    figures = (Key("change"), Key("before"), Key("after"), points)
    models = records(comparison.models)
    right = [row for row in models if row["accuracy_cases"]]
    own = [_metric_cells(row) for row in records(comparison.metrics)]
    all_sections = (
        Section(
            "broken",
            tr("Outputs that break a rule"),
            "",
            (Key("model"), *figures, Key("newly failing"), Key("fixed"), P),
            tuple(map(_cells, models)),
        ),
        Section("right", tr("Right outputs"), "", (Key("model"), *figures, P), tuple(map(_accuracy_cells, right))),
        Section(
            "corrected",
            tr("Outputs that break a rule, corrected by people's grades"),
            "",
            (Key("model"), Key("before"), Key("after"), points, GRADES),
            tuple(map(_corrected_cells, records(comparison.corrections))),
        ),
        Section("metrics", tr("Own metrics"), "", (Key("model: metric"), *figures, P), tuple(own)),
    )
    return [section for section in all_sections if section.rows]


def _counted(comparison: RunComparison) -> Section:
    """What became of the cases, where that says nothing of the models."""
    header = (Key("model"), Key("before"), Key("after"), Key("newly failing"), Key("fixed"))
    rows = (
        (row["model"], *_counts(row), str(row["newly_failing"]), str(row["fixed"]))
        for row in records(comparison.models)
    )
    return Section("broken", tr("Outputs that break a rule"), "", header, tuple(rows))


def changed_section(comparison: RunComparison) -> Section:
    """The cases that one run breaks more often than the other."""
    rows = tuple(
        (row["model"], row["case"], from_data(row["change"]), row["broken_rules"] or "", row["output"] or "")
        for row in records(comparison.changed)
    )
    header = (Key("model"), Key("case"), Key("change"), Key("rules"), Key("output"))
    return Section("changed", tr("Cases that changed"), "", header, rows, file="--json")


def _cells(row: TableRow) -> tuple[str, ...]:
    return (
        row["model"],
        _decision(row["decision"]),
        *_counts(row),
        _apart(row),
        str(row["newly_failing"]),
        str(row["fixed"]),
        _p(row),
    )


def _counts(row: TableRow) -> Iterator[str]:
    """The failures before and after."""
    return (tr("{some} of {all}", some=row[run], all=row[f"{run}_scored"]) for run in ("before", "after"))


def _corrected_cells(row: TableRow) -> tuple[str, ...]:
    grades = f"{row['graded_before']}, {row['graded_after']}"
    return (row["model"], *_shares(row, "corrected"), _apart(row, "corrected_"), grades)


def _accuracy_cells(row: TableRow) -> tuple[str, ...]:
    apart = _apart(row, "accuracy_")
    return (row["model"], _decision(row["accuracy_decision"]), *_shares(row, "accuracy"), apart, _p(row, "accuracy_"))


def _metric_cells(row: TableRow) -> tuple[str, ...]:
    name = f"{shortened(row['model'])}: {row['metric']}"
    if row["difference"] is None:
        return (name, _decision(row["decision"]), *(NONE,) * 4)
    return (name, _decision(row["decision"]), *_shares(row, "mean"), _apart(row), _p(row))


def _shares(row: TableRow, what: str) -> Iterator[str]:
    """A share before and after."""
    shares = (row[f"{what}_{when}"] for when in ("before", "after"))
    return (NONE if share is None else percent(share) for share in shares)


def _apart(row: TableRow, prefix: str = "") -> str:
    """How far before and after are apart, with the interval."""
    return points_apart(*(row[f"{prefix}difference{end}"] for end in ("", "_low", "_high")))


def _decision(decision: str | None) -> str:
    return NONE if decision is None else from_data(decision)


def _p(row: TableRow, prefix: str = "") -> str:
    value = row[f"{prefix}p_adjusted"]
    return NONE if value is None else digits(f"{value:.3g}")
