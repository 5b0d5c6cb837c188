#!/usr/bin/env python3
"""Executes docs/notebook.ipynb in a folder of its own, offline, and writes it back with what its cells show.

    python scripts/execute_notebook.py

Needs nbclient and ipykernel, which are among the tools for development.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
SECONDS = 120
"""After which a cell is given up."""


def executed(notebook: str, folder: Path) -> dict[str, Any]:
    """The notebook with what its cells show, executed in ``folder/docs`` beside the benchmarks.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient

    (folder / "docs").mkdir()
    (folder / "benchmarks").symlink_to(ROOT / "benchmarks")
    node = nbformat.reads(notebook, as_version=4)
    client = NotebookClient(
        node, timeout=SECONDS, record_timing=False, resources={"metadata": {"path": folder / "docs"}}
    )
    client.execute()
    node.metadata = KERNEL
    return dict(json.loads(nbformat.writes(node)))


def written(notebook: dict[str, Any]) -> str:
    """The notebook as its file has it."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """Writes the notebook anew."""
    notebook = NOTEBOOK.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        NOTEBOOK.write_text(written(executed(notebook, Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
