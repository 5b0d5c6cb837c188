"""File formats: JSON lines, safe CSV, Parquet, Excel, JSON in replies. Files and texts have their own packages."""

from __future__ import annotations
