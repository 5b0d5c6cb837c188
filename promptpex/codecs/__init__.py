"""File formats and files: JSON lines, spreadsheet-safe CSV, JSON in replies, atomic writes, ordinary files, locks."""

from __future__ import annotations
