"""What most tests of the report card begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.alignment.folders import AlignedFolder
from tests.workflow.alignment.aligned_world import aligned_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AlignedFolder:
    """A folder of 20 outputs with candidates and verdicts, nobody's grades among them; the working folder."""
    monkeypatch.chdir(tmp_path)
    return aligned_world(tmp_path)
