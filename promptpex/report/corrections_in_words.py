"""What people's grades add to a report: corrected figures, what they saved, and which judges they have tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from promptpex.core.translation import Key, from_data, tr, tr_n
from promptpex.report.percentages import (
    TableRow,
    as_given,
    confidence_interval,
    kappa_with_ends,
    listed,
    percent,
    points_apart,
    with_ends,
)
from promptpex.report.text_table import Section
from promptpex.stats import FEW_GRADES

STATES: dict[str, Key | None] = {
    "current": None,
    "reworded": Key("stale: the rule was reworded"),
    "another judge": Key("stale: the judge or what it is shown has changed"),
    "never": Key("not calibrated"),
}


def by_grades(rows: Sequence[TableRow], corrected: Sequence[TableRow]) -> list[dict[str, Any]]:
    """Rows of the table of models in which the corrected shares stand in the place of the others.

    Args:
        rows: of the table of models.
        corrected: a table of corrections as plain rows.
    """
    graded = {row["model"]: row for row in corrected if row["corrected"] is not None}
    return [{**row, "graded": 0, **_in_place(graded[row["model"]])} if row["model"] in graded else {**row, "graded": 0}
            for row in rows]  # fmt: skip


def _in_place(row: TableRow) -> dict[str, Any]:
    share, low, high = (row[f"corrected{end}"] for end in ("", "_low", "_high"))
    shares = dict.fromkeys(("non_compliance", "best_case", "worst_case"), share)
    lows, highs = dict.fromkeys(("ci_low", "worst_low"), low), dict.fromkeys(("ci_high", "worst_high"), high)
    counts = {"graded": row["graded"], "left_out": row["left_out"]}
    return {**shares, **lows, **highs, **counts, "at_least": False}


def corrected_sentences(rows: Sequence[TableRow], confidence: float, *, ranked: bool = False) -> list[str]:
    """The corrected shares in one sentence, and what the judge saved in another.

    Args:
        rows: a table of corrections (``tables.CORRECTION_COLUMNS``) as plain rows.
        confidence: of the intervals.
        ranked: whether models are ranked by these shares, so that they were said before.
    """
    corrected_rows = [row for row in rows if row["corrected"] is not None]
    if not corrected_rows:
        return []
    shares = listed(
        tr_n(
            "{model} {share} ({interval}, {count} grade{left_out})",
            "{model} {share} ({interval}, {count} grades{left_out})",
            row["graded"],
            model=row["model"],
            share=percent(row["corrected"]),
            interval=confidence_interval(row["corrected_low"], row["corrected_high"], confidence),
            left_out=left_out(row),
        )
        for row in corrected_rows
    )
    models_with_few = [row["model"] for row in corrected_rows if row["graded"] < FEW_GRADES]
    sentences = [] if ranked else [tr("Corrected by people's grades the non-compliance is: {shares}.", shares=shares)]
    if models_with_few:
        models = listed(models_with_few)
        sentences.append(
            tr("Fewer than {few} grades of {models}: treat this as a rough guide.", few=FEW_GRADES, models=models)
        )
    return [*sentences, *_saved(corrected_rows)]


def left_out(row: TableRow) -> str:
    """How many graded outputs have no label, to be said after the others."""
    if not row["left_out"]:
        return ""
    return tr(", {count} unsure or disputed left out", count=row["left_out"])


def _saved(rows: Sequence[TableRow]) -> list[str]:
    """How much grading the verdicts saved, of the model that has most grades."""
    row = max(rows, key=lambda row: int(row["graded"]))
    if row["grades_alone"] <= row["graded"]:
        return []
    if len(rows) == 1:
        return [
            tr(
                "{graded} grades with the verdicts tell as much as {alone} would alone.",
                graded=row["graded"],
                alone=row["grades_alone"],
            )
        ]
    return [
        tr(
            "{graded} grades of {model} with the verdicts tell as much as {alone} would alone.",
            graded=row["graded"],
            model=row["model"],
            alone=row["grades_alone"],
        )
    ]


def corrected_change_sentences(rows: Sequence[TableRow], confidence: float, *, deciding: bool = False) -> list[str]:
    """The corrected changes from one run to another, a sentence a model.

    Args:
        rows: a table of changes (``tables.CORRECTED_CHANGE_COLUMNS``) as plain rows.
        confidence: of the intervals.
        deciding: whether they decide what is worse, which is then said first.
    """
    decisions = [tr("{model}: {decision}.", model=row["model"], decision=_decision(row)) for row in rows]
    return (decisions if deciding else []) + [
        tr(
            "Corrected by people's grades {model} goes from {before} ({grades_before}) to {after} ({grades_after}): "
            "{gap} points, {level} CI.",
            model=row["model"],
            before=percent(row["corrected_before"]),
            grades_before=_grades(row["graded_before"]),
            after=percent(row["corrected_after"]),
            grades_after=_grades(row["graded_after"]),
            gap=_gap(row),
            level=as_given(confidence),
        )
        + _caution(row)
        for row in rows
        if row["corrected_difference"] is not None
    ]


def _decision(row: TableRow) -> str:
    words = {"worse": tr("clearly worse by people's grades"), "better": tr("clearly better by people's grades")}
    return words.get(row["decision"], tr("no clear change by people's grades"))


def _grades(count: int) -> str:
    return tr_n("{count} grade", "{count} grades", count)


def _gap(row: TableRow) -> str:
    return points_apart(*(row[f"corrected_difference{end}"] for end in ("", "_low", "_high")))


def _caution(row: TableRow) -> str:
    has_few = min(row["graded_before"], row["graded_after"]) < FEW_GRADES
    return " " + tr("Fewer than {few} grades of a run: treat this as a rough guide.", few=FEW_GRADES) if has_few else ""


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
    level = as_given(confidence)
    note = tr(
        "Non-compliance by people's grades on a random sample and the verdicts on all outputs (prediction-powered "
        "inference, by case): right on average however wrong the verdicts are. Labels: {label_rules}. * fewer than "
        "{few} grades: a rough guide.",
        label_rules=from_data(label_rules),
        few=FEW_GRADES,
    )
    header = (
        Key("model"),
        Key("grades"),
        tr("corrected ({level} CI)", level=level),
        tr("points ({level} CI)", level=level),
        Key("than"),
        Key("grades alone"),
    )
    rows_shown = tuple(_cells(row, versus) for row in rows)
    return Section("corrected", tr("Corrected by people's grades"), note, header, rows_shown)


def _cells(row: TableRow, versus: dict[str, str]) -> tuple[str, ...]:
    few_mark = f"{'*' if row['graded'] < FEW_GRADES else ''}{left_out(row)}"
    if row["corrected"] is None:
        return (row["model"], f"{row['graded']}{few_mark}", "–", "–", "–", "–")
    share = with_ends(row["corrected"], row["corrected_low"], row["corrected_high"])
    gap = row["corrected_difference"]
    apart = "–" if gap is None else _gap(row)
    other = "–" if gap is None else versus[row["model"]]
    return (row["model"], f"{row['graded']}{few_mark}", share, apart, other, str(row["grades_alone"]))


def calibration_section(rows: Sequence[TableRow]) -> Section:
    """How far each judge may be trusted on each rule that it judged, and which rules nobody has tried it on.

    Args:
        rows: a table of calibrations (``tables.CALIBRATION_COLUMNS``) as plain rows.
    """
    note = tr(
        "Judge against people on outputs drawn at random: sensitivity is the share of what people find bad that it "
        "fails, specificity that of what they find good that it passes. `promptpex align` measures it."
    )
    header = (
        *(Key("rule"), Key("judge"), Key("calibration"), "n"),
        *(Key("sensitivity"), Key("specificity"), "kappa"),
    )
    return Section("calibration", tr("Judges and people"), note, header, tuple(map(_calibration_cells, rows)))


def state_in_words(state: str) -> str:
    """Why a calibration does not count; empty where it does."""
    words = STATES[state]
    return words.tr() if words is not None else ""


def _calibration_cells(row: TableRow) -> tuple[str, ...]:
    state = state_in_words(row["state"]) or tr("of {date}", date=row["date"])
    n = "–" if row["n"] is None else str(row["n"])
    shares = (_share(row, name) for name in ("sensitivity", "specificity"))
    kappa = "–" if row["kappa"] is None else kappa_with_ends(row)
    return (row["rule"], row["judge"], state, n, *shares, kappa)


def _share(row: TableRow, name: str) -> str:
    return "–" if row[name] is None else with_ends(row[name], row[f"{name}_low"], row[f"{name}_high"])
