"""Run folders: what a run leaves on disk, and reading it back."""

from __future__ import annotations

from promptpex.report.runs.execution_folder import RunPlace
from promptpex.report.runs.parts import NotInOrderError, read_for_report
from promptpex.report.runs.references import (
    LATEST,
    Tell,
    all_of,
    checked_name,
    latest,
    latest_of,
    made_earlier,
    may_decide,
    resolve,
)
from promptpex.report.runs.run_folder import (
    RecordWriter,
    begin,
    finish,
    folder_for,
    outputs_of,
    read,
    read_columns,
    read_inputs,
    read_manifest,
    read_scores,
)
from promptpex.report.runs.run_spool import RunRecords
from promptpex.report.runs.verdict_parquet import lacks_parquet

__all__ = [
    "LATEST",
    "NotInOrderError",
    "RecordWriter",
    "RunPlace",
    "RunRecords",
    "Tell",
    "all_of",
    "begin",
    "checked_name",
    "finish",
    "folder_for",
    "latest",
    "lacks_parquet",
    "latest_of",
    "made_earlier",
    "may_decide",
    "outputs_of",
    "read",
    "read_columns",
    "read_for_report",
    "read_inputs",
    "read_manifest",
    "read_scores",
    "resolve",
]
