"""The tables of a run as CSV files that spreadsheets open safely."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from promptpex.codecs.atomic import write_text
from promptpex.codecs.csvsafe import guard
from promptpex.report.summary import Summary

if TYPE_CHECKING:
    import pandas as pd


def write(summary: Summary, folder: Path) -> list[Path]:
    """Writes ``report.csv``, ``results.csv`` and ``verdicts.csv`` into a run's folder, and returns their paths."""
    frames = {"report.csv": summary.models, "results.csv": summary.outputs, "verdicts.csv": summary.verdicts}
    for name, frame in frames.items():
        write_text(folder / name, csv_text(frame))
    return [folder / name for name in frames]


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV: a header, ``\\n`` at line ends, missing values empty, no cell that a spreadsheet would run."""
    safe = frame.copy()
    for name in frame.columns[frame.dtypes == "string"]:
        safe[name] = frame[name].map(guard, na_action="ignore")
    return safe.to_csv(index=False, lineterminator="\n")
