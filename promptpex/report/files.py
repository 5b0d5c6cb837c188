"""The report of a run as files: CSV that spreadsheets open safely, and a page."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.codecs.atomic import write_text
from promptpex.codecs.ordinary_files import refuse_led_out
from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.core.errors import RunError
from promptpex.report import html
from promptpex.report.page.asked import SentMessages
from promptpex.report.summary import Summary
from promptpex.tables import plain_values

if TYPE_CHECKING:
    import pandas as pd


def write(summary: Summary, folder: Path, sent: SentMessages | None = None) -> list[Path]:
    """Writes ``report.csv``, ``results.csv``, ``verdicts.csv`` and ``report.html`` into a run's folder; their paths.

    Where there are scores, ``scores.csv`` is written as well, where there are metrics ``metrics.csv`` and further
    columns of the first two, where there are wrong answers ``confusions.csv``; where code and judges were both asked,
    ``agreement.csv`` and ``disagreements.csv``. People's grades add columns to the first. ``sent`` as for ``html``.

    Links in the place of these files are replaced.

    Raises:
        RunError: the folder cannot be written, or a link leads it elsewhere.
    """
    frames = {
        "report.csv": _report(summary),
        "results.csv": tables.with_scores(summary.outputs, summary.scores),
        "verdicts.csv": summary.verdicts,
    }
    refuse_led_out(folder, folder.parent.parent, RunError)
    try:
        for name, frame in frames.items():
            write_text(folder / name, csv_text(frame), links=False)
        page = html.write(summary, folder, sent)
        return [*(folder / name for name in frames), page, *_where_there_is_any(summary, folder)]
    except OSError as error:
        raise RunError(f"cannot write the report ({error.strerror}); make the folder writable", path=folder) from error


def _report(summary: Summary) -> pd.DataFrame:
    """The table of models with what metrics and people's grades add to it."""
    by_model = tables.with_metrics(summary.models, summary.metrics)
    by_people = summary.by_people
    return by_model if by_people is None else tables.with_corrections(by_model, by_people.corrections)


def _where_there_is_any(summary: Summary, folder: Path) -> list[Path]:
    """Writes the tables that most runs have no use for; one of an earlier judging, now empty, is taken away."""
    written = []
    for name, frame in {
        "scores.csv": summary.scores,
        "metrics.csv": summary.metrics,
        "confusions.csv": summary.details.confusions,
        "agreement.csv": summary.details.agreements,
        "disagreements.csv": summary.details.disagreements,
    }.items():
        if len(frame):
            write_text(folder / name, csv_text(frame), links=False)
            written.append(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    return written


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV: a header, ``\\n`` at line ends, missing values empty, no cell that a spreadsheet would run."""
    rows = zip(*(_cells(frame[name]) for name in frame.columns), strict=True)
    return dump_cells(chain([frame.columns], rows), line_end="\n")


def _cells(column: pd.Series[Any]) -> Iterable[Any]:
    """The cells of a column; a text that stands in many of them is guarded once."""
    plain = plain_values(column, missing="")
    if column.dtype != "string":
        return plain
    guarded = {text: guard(text) for text in set(plain)}
    return map(guarded.__getitem__, plain)
