"""What people's grades add to a report: corrected figures, what they saved, and which judges they have tried."""

from __future__ import annotations

from collections.abc import Sequence

from promptpex.codecs.wording import plural
from promptpex.report.percentages import TableRow, confidence_interval, listed, percent, points_apart, with_ends
from promptpex.report.section import Section
from promptpex.stats import FEW_GRADES

STATES = {
    "current": "",
    "reworded": "stale: the rule was reworded",
    "another judge": "stale: the judge or what it is shown has changed",
    "never": "not calibrated",
}


def corrected_sentences(rows: Sequence[TableRow], confidence: float) -> list[str]:
    """The corrected shares in one sentence, and what the judge saved in another.

    Args:
        rows: a table of corrections (``tables.CORRECTION_COLUMNS``) as plain rows.
        confidence: of the intervals.
    """
    known = [row for row in rows if row["corrected"] is not None]
    if not known:
        return []
    shares = listed(
        f"{row['model']} {percent(row['corrected'])}"
        f" ({confidence_interval(row['corrected_low'], row['corrected_high'], confidence)},"
        f" {plural(row['graded'], 'grade')})"
        for row in known
    )
    few = [row["model"] for row in known if row["graded"] < FEW_GRADES]
    caution = f" Fewer than {FEW_GRADES} grades of {listed(few)}: treat this as a rough guide." if few else ""
    return [f"Corrected by people's grades the non-compliance is: {shares}.{caution}", *_saved(known)]


def _saved(rows: Sequence[TableRow]) -> list[str]:
    """How much grading the verdicts saved, of the model that has most grades."""
    row = max(rows, key=lambda row: int(row["graded"]))
    if row["grades_alone"] <= row["graded"]:
        return []
    of = f" of {row['model']}" if len(rows) > 1 else ""
    return [f"{row['graded']} grades{of} with the verdicts tell as much as {row['grades_alone']} would alone."]


def corrected_change_sentences(rows: Sequence[TableRow], confidence: float) -> list[str]:
    """The corrected changes from one run to another, a sentence a model.

    Args:
        rows: a table of changes (``tables.CORRECTED_CHANGE_COLUMNS``) as plain rows.
        confidence: of the intervals.
    """
    return [
        f"Corrected by people's grades {row['model']} goes from {percent(row['corrected_before'])} "
        f"({plural(row['graded_before'], 'grade')}) to {percent(row['corrected_after'])} "
        f"({plural(row['graded_after'], 'grade')}): {_gap(row)} points, {100 * confidence:g}% CI.{_caution(row)}"
        for row in rows
        if row["corrected_difference"] is not None
    ]


def _gap(row: TableRow) -> str:
    return points_apart(*(row[f"corrected_difference{end}"] for end in ("", "_low", "_high")))


def _caution(row: TableRow) -> str:
    few = min(row["graded_before"], row["graded_after"]) < FEW_GRADES
    return f" Fewer than {FEW_GRADES} grades of a run: treat this as a rough guide." if few else ""


def correction_section(
    rows: Sequence[TableRow], versus: dict[str, str], label_rules: str, confidence: float
) -> Section:
    """The corrected shares and differences; without rows where nobody has graded.

    Args:
        rows: a table of corrections as plain rows.
        versus: by model, the one that it is compared with.
        label_rules: how grades become labels, in words.
        confidence: of the intervals.
    """
    level = f"{100 * confidence:g}% CI"
    note = (
        "Non-compliance by people's grades on a random sample and the verdicts on all outputs (prediction-powered "
        f"inference, by case): right on average however wrong the verdicts are. Labels: {label_rules}. "
        f"* fewer than {FEW_GRADES} grades: a rough guide."
    )
    header = ("model", "grades", f"corrected ({level})", f"points ({level})", "than", "grades alone")
    return Section(
        "corrected", "Corrected by people's grades", note, header, tuple(_cells(row, versus) for row in rows)
    )


def _cells(row: TableRow, versus: dict[str, str]) -> tuple[str, ...]:
    few = "*" if row["graded"] < FEW_GRADES else ""
    if row["corrected"] is None:
        return (row["model"], f"{row['graded']}{few}", "–", "–", "–", "–")
    share = with_ends(row["corrected"], row["corrected_low"], row["corrected_high"])
    gap = row["corrected_difference"]
    apart = "–" if gap is None else _gap(row)
    other = "–" if gap is None else versus[row["model"]]
    return (row["model"], f"{row['graded']}{few}", share, apart, other, str(row["grades_alone"]))


def calibration_section(rows: Sequence[TableRow]) -> Section:
    """How far each judge may be trusted on each rule that it judged, and which rules nobody has tried it on.

    Args:
        rows: a table of calibrations (``tables.CALIBRATION_COLUMNS``) as plain rows.
    """
    note = (
        "Judge against people on outputs drawn at random: sensitivity is the share of what people find bad that it "
        "fails, specificity that of what they find good that it passes. `promptpex align` measures it."
    )
    header = ("rule", "judge", "calibration", "n", "sensitivity", "specificity", "kappa")
    return Section("calibration", "Judges and people", note, header, tuple(map(_calibration_cells, rows)))


def _calibration_cells(row: TableRow) -> tuple[str, ...]:
    state = STATES[row["state"]] or f"of {row['date']}"
    n = "–" if row["n"] is None else str(row["n"])
    shares = (_share(row, name) for name in ("sensitivity", "specificity"))
    kappa = "–" if row["kappa"] is None else f"{row['kappa']:.2f} ({row['kappa_low']:.2f} to {row['kappa_high']:.2f})"
    return (row["rule"], row["judge"], state, n, *shares, kappa)


def _share(row: TableRow, name: str) -> str:
    return "–" if row[name] is None else with_ends(row[name], row[f"{name}_low"], row[f"{name}_high"])
