"""The report of a run as files: CSV that spreadsheets open safely, and a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.codecs.files.atomic import write_text, writing
from promptpex.codecs.files.ordinary_files import refuse_led_out
from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.core.errors import RunError
from promptpex.report import html_page
from promptpex.report.page.asked import SentMessages
from promptpex.report.runs.verdict_parquet import CUBE
from promptpex.report.summary import Summary
from promptpex.tables import plain_values

if TYPE_CHECKING:
    import pandas as pd


REPORT, RESULTS, VERDICTS, SCORES = "report.csv", "results.csv", "verdicts.csv", "scores.csv"

ROWS = 20_000
"""Rows of a table that are written at a time."""


def write(summary: Summary, folder: Path, sent: SentMessages | None = None) -> list[Path]:
    """Writes ``report.csv``, ``results.csv``, ``verdicts.csv`` and ``report.html`` into a run's folder; their paths.

    Where there are scores, ``scores.csv`` is written as well, where there are metrics ``metrics.csv`` and further
    columns of the first two, where there are wrong answers ``confusions.csv``; where code and judges were both asked,
    ``agreement.csv`` and ``disagreements.csv``. People's grades add columns to the first. ``sent`` as for ``html``.

    Without ``verdicts.csv`` where the folder has its verdicts in ``verdicts.parquet``.

    Links in the place of these files are replaced.

    Raises:
        RunError: the folder cannot be written, or a link leads it elsewhere.
    """
    refuse_led_out(folder, folder.parent.parent, RunError)
    try:
        write_text(folder / REPORT, csv_text(_report(summary)), links=False)
        names = _write_parts(summary, folder)
        page = html_page.write(summary, folder, sent)
        return [*(folder / name for name in (REPORT, *names)), page, *_where_there_is_any(summary, folder)]
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


def _write_parts(summary: Summary, folder: Path) -> list[str]:
    """Writes the tables of outputs, of verdicts and of scores, some rows at a time, and reads a run in parts once; the
    files.

    Where the verdicts are a table in a Parquet file, there is no second one; a table of no scores is not written.
    """
    has_scores = not summary.made.score_kinds.empty
    files_to_write = {RESULTS: True, VERDICTS: not (folder / CUBE).exists(), SCORES: has_scores}
    for name in (name for name, is_wanted in files_to_write.items() if not is_wanted):
        (folder / name).unlink(missing_ok=True)
    metrics = summary.made.metric_counts.names
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(writing(folder / name, links=False))
            for name, is_wanted in files_to_write.items()
            if is_wanted
        }
        for number, part in enumerate(summary.made.parts()):
            writers = {
                RESULTS: tables.with_scores(part.outputs, part.scores, metrics),
                VERDICTS: part.verdicts,
                SCORES: part.scores,
            }
            for name, file in files.items():
                for text in _csv_texts(writers[name], header=number == 0):
                    file.write(text.encode("utf-8", "surrogatepass"))
    return list(files)


def csv_text(frame: pd.DataFrame) -> str:
    """A table as CSV: a header, ``\\n`` at line ends, missing values empty, no cell that a spreadsheet would run."""
    return "".join(_csv_texts(frame, header=True))


def _csv_texts(frame: pd.DataFrame, *, header: bool) -> Iterator[str]:
    if header:
        yield dump_cells([frame.columns], line_end="\n")
    for start in range(0, len(frame), ROWS):
        part = frame.iloc[start : start + ROWS]
        yield dump_cells(zip(*(_cells(part[name]) for name in part.columns), strict=True), line_end="\n")


def _cells(column: pd.Series[Any]) -> Iterable[Any]:
    """The cells of a column; a text that stands in many of them is guarded once."""
    plain = plain_values(column, missing="")
    if column.dtype != "string":
        return plain
    guarded = {text: guard(text) for text in set(plain)}
    return map(guarded.__getitem__, plain)
