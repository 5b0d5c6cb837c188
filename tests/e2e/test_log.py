"""``--log``: every request of a real run, its failures and its retries."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.e2e.faults import MODEL, Script, command, place
from tests.servers import ScriptedServer, Step, error_body

BROKEN = Step(status=503, body=b"down")
BLOCKED = Step(status=400, body=error_body("blocked", "content_filter"))


async def test_the_log_of_a_run_tells_what_was_asked_and_what_came(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=8)
    script = scripted.otherwise = Script(lambda number, seen: {0: BROKEN, 3: BLOCKED}.get(number))
    log = tmp_path / "run.jsonl"
    asked = here.arguments("--models", f"{MODEL}?api_base={scripted.url}/v1", "--concurrency", "1", "--log", str(log))
    done = await command(asked)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    counts = Counter(line["event"] for line in lines)
    assert counts["Answered"] == sum(script.paid.values()) == 7
    assert counts["Retrying"] == 1
    assert counts["Failed"] == 1
    assert counts["StepDone"] == 8
    assert [line["reason"] for line in lines if line["event"] == "Failed"] == ["filtered"]
    assert {line["request"] for line in lines if line["event"] == "Answered"} == set(here.stored())
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    again = await command(asked)
    assert again.code == 0, again.err
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert sum(line["event"] == "Answered" and line["cached"] for line in lines) == 7
