from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.numbers.server import Place
from tests.servers import ScriptedServer


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scripted: ScriptedServer) -> Callable[[int], Place]:
    """Writes a prompt with so many cases into the folder that the test then works in."""

    def of_cases(count: int) -> Place:
        made = Place(tmp_path, scripted, count)
        made.write()
        monkeypatch.chdir(tmp_path)
        return made

    return of_cases
