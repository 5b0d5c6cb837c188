"""The notebook of docs/: executed in a kernel, as a reader would, it shows what its file has."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import execute_notebook  # noqa: E402


def shown(page: dict[str, Any]) -> list[str]:
    """What cells print, and how runs and comparisons show themselves; how pandas shows a table is its own affair."""
    outputs = [output for cell in page["cells"] for output in cell.get("outputs", ())]
    printed = ["".join(output["text"]) for output in outputs if "text" in output]
    pages = ["".join(output["data"]["text/html"]) for output in outputs if "text/html" in output.get("data", ())]
    return printed + [html for html in pages if html.startswith('<div class="promptpex">')]


@pytest.mark.long
def test_the_notebook_shows_what_its_file_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    kept = execute_notebook.NOTEBOOK.read_text(encoding="utf-8")
    made = execute_notebook.executed(kept, tmp_path)
    assert len(shown(made)) == 5
    assert shown(made) == shown(json.loads(kept))
    assert list(tmp_path.joinpath("docs").iterdir()) == []


def test_the_file_is_as_the_script_writes_it() -> None:
    kept = execute_notebook.NOTEBOOK.read_text(encoding="utf-8")
    assert kept == execute_notebook.written(json.loads(kept))
    assert len(kept) < 60_000
