"""Run folders: what a run leaves on disk, and reading it back."""

from __future__ import annotations

from promptpex.report.runs.folder import (
    RecordWriter,
    all_of,
    begin,
    finish,
    folder_for,
    latest,
    latest_of,
    made_before,
    read,
    read_columns,
    read_manifest,
    read_scores,
    resolve,
)

__all__ = [
    "RecordWriter",
    "all_of",
    "begin",
    "finish",
    "folder_for",
    "latest",
    "latest_of",
    "made_before",
    "read",
    "read_columns",
    "read_manifest",
    "read_scores",
    "resolve",
]
