"""A batch's report as files of its folder: ``index.html`` and ``models.csv``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import refuse_led_out
from promptpex.core.errors import RunError
from promptpex.core.translation import from_data, tr
from promptpex.report.batches.batch_in_words import decisions_in_words
from promptpex.report.batches.batch_report import BatchReport, ReportedPart
from promptpex.report.caveats_in_words import FEW, scored_cases
from promptpex.report.files import csv_text
from promptpex.report.html_page import rendered
from promptpex.report.page.addresses import address
from promptpex.report.page.script import SORTING, script, script_policy
from promptpex.report.percentages import TableRow, at_least, ends
from promptpex.report.terminal.ending import PAGE
from promptpex.tables import records

INDEX = "index.html"
TABLE = "models.csv"


def write_index(report: BatchReport) -> Path:
    """Writes the page and the table of a batch, and gives the path of the page.

    Raises:
        RunError: the folder cannot be written, or a link leads it elsewhere.
    """
    refuse_led_out(report.folder, report.folder.parent.parent, RunError)
    try:
        write_text(report.folder / TABLE, csv_text(report.by_prompt), links=False)
        write_text(report.folder / INDEX, index_html(report), links=False)
    except OSError as error:
        message = f"cannot write the index ({error.strerror}); make the folder writable"
        raise RunError(message, path=report.folder) from error
    return report.folder / INDEX


def page_beside(one: ReportedPart) -> str:
    """The address of a run's page as seen from the batch's folder; empty where there is none."""
    return "" if one.part.run is None or one.summary is None else f"../../{quote(one.part.run)}/{PAGE}"


def index_html(
    report: BatchReport,
    tabs: Sequence[tuple[str, str, bool]] = (),
    *,
    page_of: Callable[[ReportedPart], str] = page_beside,
) -> str:
    """The page of a batch: links to the reports of its runs; the same report gives the same bytes.

    Args:
        tabs: where a server shows it, the other pages: title, address, whether this page belongs there.
        page_of: the address of a run's page; empty where there is none.
    """
    return rendered(
        "batch.html.jinja",
        tabs=tabs,
        report=report,
        rows=[_row(report, one, page_of(one)) for one in report.parts],
        by_model=[(row, decisions_in_words(row)) for row in records(report.by_model)],
        script=Markup(script(SORTING)),
        policy=Markup(script_policy(SORTING)),
    )


def _row(report: BatchReport, one: ReportedPart, page: str) -> dict[str, Any]:
    """A prompt as the page shows it: what it is called, where its report is, and a cell for each model."""
    cells = []
    for model in report.models:
        figures = report.cells.get((one.part.file, model))
        failures = f"{page}#{address(model=model, verdict='fail')}" if figures and figures["non_compliant"] else page
        has_few = figures is not None and scored_cases(figures) < FEW
        label = "" if figures is None else f"{report.names[one.part.file]}, {model}: {_in_words(figures)}"
        cells.append({"model": model, "figures": figures, "link": failures, "few": has_few, "label": label})
    manifest = one.summary.run.manifest if one.summary is not None else None
    cases = one.summary.run.suite.usable() if one.summary is not None else ()
    return {
        "name": report.names[one.part.file],
        "part": one.part,
        "page": page,
        "partial": manifest.partial if manifest is not None else None,
        "subset": manifest.subset.in_words if manifest is not None and manifest.subset is not None else None,
        "cases": len(cases),
        "cells": cells,
    }


def _in_words(row: TableRow) -> str:
    """A model's figures on a prompt, for those who do not see the colour of their cell."""
    if not row["scored"]:
        return tr("nothing scored")
    scored = row["usable"] if row["at_least"] else row["scored"]
    counts = tr("fails in {broken} of {scored}", broken=row["non_compliant"], scored=scored)
    if row["non_compliance"] is None:
        return counts
    share = at_least(row["non_compliance"], row["at_least"])
    return f"{counts}, {share} ({ends(row['ci_low'], row['ci_high'])}), {from_data(row['decision'])}"
