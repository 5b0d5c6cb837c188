"""``overview.csv``: the published summary of a benchmark, held against its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from promptpex.core.errors import RunError
from promptpex.core.records import Problem
from promptpex.interchange import csv_table
from promptpex.paper.published.results import Result


def against_overview(path: Path, results: Sequence[Result]) -> list[Problem]:
    """Where the summary differs from the rows, as with a results file that is cut off; empty without a summary.

    Raises:
        RunError: the summary is damaged; with the line.
    """
    if not path.is_file():
        return []
    columns = ("model", "tests", "baseline", "tests positive compliant", "tests negative compliant")
    problems: list[Problem] = []
    for row in csv_table.read(path, columns, what="overview", error=RunError):
        for column, counted in _counts(row["model"], results).items():
            if row[column].strip() != str(counted):
                message = f"{row['model']}: the overview says {row[column][:20]!r} {column}, the results {counted}"
                problems.append(Problem.warning(path, row.number, message))
    return problems


def _counts(model: str, results: Sequence[Result]) -> dict[str, int]:
    rows = [row for row in results if row.model == model]
    generated = [row for row in rows if not row.baseline]
    passed = [row for row in generated if row.compliance == "ok"]
    return {
        "tests": len(generated),
        "baseline": len(rows) - len(generated),
        "tests positive compliant": sum(not row.inverse for row in passed),
        "tests negative compliant": sum(row.inverse for row in passed),
    }
