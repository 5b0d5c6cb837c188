"""File formats: JSON lines, spreadsheet-safe CSV, Parquet, Excel, JSON in replies; files and texts in packages of their own."""

from __future__ import annotations
