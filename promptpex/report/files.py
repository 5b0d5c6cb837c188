"""The report of a run as files: CSV that spreadsheets open safely, and a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex import tables
from promptpex.codecs.files.atomic import write_text, writing
from promptpex.codecs.files.ordinary_files import refuse_led_out
from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.core.errors import RunError
from promptpex.report import html_page
from promptpex.report.page.asked import SentMessages
from promptpex.report.summary import Summary
from promptpex.tables import Table, columns_of

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

    Links in the place of these files are replaced.

    Raises:
        RunError: the folder cannot be written, or a link leads it elsewhere.
    """
    refuse_led_out(folder, folder.parent.parent, RunError)
    try:
        write_text(folder / REPORT, csv_text(_report(summary)), links=False)
        names = _write_rows(summary, folder)
        page = html_page.write(summary, folder, sent)
        return [*(folder / name for name in (REPORT, *names)), page, *_where_there_is_any(summary, folder)]
    except OSError as error:
        raise RunError(f"cannot write the report ({error.strerror}); make the folder writable", path=folder) from error


def _report(summary: Summary) -> Table:
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


def _write_rows(summary: Summary, folder: Path) -> list[str]:
    """Writes the tables of outputs, of verdicts and of scores, some rows at a time; a table of no scores is not
    written."""
    database = summary.made.database
    tables_to_write = {RESULTS: tables.scored_outputs(database), VERDICTS: tables.verdict_rows(database)}
    if database.has("SELECT 1 FROM score"):
        tables_to_write[SCORES] = tables.score_rows(database)
    else:
        (folder / SCORES).unlink(missing_ok=True)
    for name, (kinds, rows) in tables_to_write.items():
        with writing(folder / name, links=False) as file:
            for text in _csv_texts(kinds, rows):
                file.write(text.encode("utf-8", "surrogatepass"))
    return list(tables_to_write)


def csv_text(table: Table | pd.DataFrame) -> str:
    """A table as CSV: a header, ``\\n`` at line ends, missing values empty, no cell that a spreadsheet would run."""
    if isinstance(table, Table):
        return "".join(_csv_texts(table.kinds, table.tuples()))
    columns = columns_of(table)
    kinds = {name: "string" if table[name].dtype == "string" else "" for name in columns}
    return "".join(_csv_texts(kinds, zip(*columns.values(), strict=True)))


def _csv_texts(kinds: Mapping[str, str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield dump_cells([kinds], line_end="\n")
    left = iter(rows)
    while part := list(islice(left, ROWS)):
        columns = (_cells(column, kind) for column, kind in zip(zip(*part, strict=True), kinds.values(), strict=True))
        yield dump_cells(zip(*columns, strict=True), line_end="\n")


def _cells(column: Sequence[Any], kind: str) -> Iterable[Any]:
    """The cells of a column; a text that stands in many of them is guarded once."""
    if kind == "boolean":
        return ["" if value is None else bool(value) for value in column]
    if kind != "string":
        return ["" if value is None else value for value in column]
    guarded = {text: "" if text is None else guard(text) for text in set(column)}
    return map(guarded.__getitem__, column)
