"""Run folders: what a run leaves on disk, and reading it back."""

from __future__ import annotations

from promptpex.report.runs.execution_folder import RunPlace
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
    read_for_report,
    read_inputs,
    read_manifest,
    read_scores,
)
from promptpex.report.runs.run_spool import RunRecords
from promptpex.tables import AnyRun

__all__ = [
    "LATEST",
    "AnyRun",
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
    "latest_of",
    "made_earlier",
    "may_decide",
    "outputs_of",
    "read",
    "read_for_report",
    "read_inputs",
    "read_manifest",
    "read_scores",
    "resolve",
]
