"""Candidates that are named while the author writes them, and files that are the same as without."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from promptpex.config import load
from promptpex.core.events import Event, Notice
from promptpex.workflow.project_files import files_of
from promptpex.workflow.session import open_session
from promptpex.workflow.synthesizing import SynthesisWishes, synthesize
from tests.stream_server import CUT, END, HANGS_S, Gate, Part, Reply, StreamServer, whole
from tests.workflow.criteria.criteria_bench import CAPITALS

PROMPT = "Name the colour of {{thing}} in capitals.\n"
CRITERION = (
    "prompt: colours.md\ncriteria:\n  - id: capitals\n    text: The colour is written in capitals.\n    origin: added\n"
)


def _prompt(path: Path) -> Path:
    (path / "colours.synthesis").mkdir(parents=True)
    (path / "colours.synthesis" / "candidates.yaml").write_text(CRITERION, encoding="utf-8")
    (path / "versions").mkdir()
    (path / "versions" / "first.md").write_text(PROMPT, encoding="utf-8")
    (path / "colours.md").write_text(PROMPT, encoding="utf-8")
    return path / "colours.md"


async def _made(path: Path, replies: Sequence[Reply], *, watched: bool, gate: Gate | None = None) -> list[str]:
    """What is named of candidates; the gate opens when the first is named."""
    prompt, named = _prompt(path), list[str]()

    def hear(event: Event) -> None:
        if isinstance(event, Notice) and event.message.startswith("candidates: "):
            named.append(event.message.removeprefix("candidates: "))
            if gate is not None:
                assert gate.opened.is_set() == (len(named) > 1)
                gate.opened.set()

    rest = list(replies)

    def answer(body: dict[str, Any]) -> Reply:
        is_wanted = body["response_format"]["json_schema"]["name"] == "candidates"
        return rest.pop(0) if is_wanted else web.json_response(whole("[]"))

    async with StreamServer([answer]) as server:
        given = {"author": f"openai/any?api_base={server.url}", "store": str(path / "store.db")}
        async with open_session(load(given, start=path, env={}), emit=hear) as session:
            wishes = SynthesisWishes(versions=[path / "versions"], watched=watched)
            await asyncio.wait_for(synthesize(session, files_of(prompt), wishes), HANGS_S)
        assert bool(server.bodies[-1].get("stream")) == watched
    return named


def _file(path: Path) -> bytes:
    return (path / "colours.synthesis" / "candidates.yaml").read_bytes()


async def test_each_is_named_when_it_is_written_and_named_again_when_it_is_taken_back(tmp_path: Path) -> None:
    good, shouts = (json.dumps(one) for one in CAPITALS[:2])
    gate = Gate()
    broken: list[Part] = ["[", good, gate, ",", CUT]
    named = await _made(tmp_path / "watched", [broken, ["[", shouts, "]", *END]], watched=True, gate=gate)
    assert named == [
        "all_capitals (regex) for capitals",
        "the reply broke off, and with it all_capitals",
        "shouts (python) for capitals",
    ]
    assert await _made(tmp_path / "not", [["[", shouts, "]", *END]], watched=False) == []
    assert _file(tmp_path / "watched") == _file(tmp_path / "not")
