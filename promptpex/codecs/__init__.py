"""Formats in and out: YAML with line numbers and small edits, spreadsheet-safe CSV, JSON lines, atomic writes."""

from __future__ import annotations
