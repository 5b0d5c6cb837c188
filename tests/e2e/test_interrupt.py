"""Signals to a real process: SIGINT or SIGTERM once ends it soon with a partial report, twice at once.

After SIGKILL the folder tells one truth.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.faults import MODEL, Place, Script, command, place, reasons, sound, until
from tests.e2e.processes import asked, ended, nobody_stays, started
from tests.servers import ScriptedServer, Step, completion_body

__all__ = ["nobody_stays"]

SLOW = Step(body=completion_body("NN"), delay_s=60)


def hanging_after(count: int) -> Script:
    """The first ``count`` requests are answered, the others hang."""
    return Script(lambda number, seen: SLOW if number >= count else None)


async def sent(script: Script, count: int) -> None:
    """Waits until so many requests came."""
    await until(lambda: script.sent >= count)


def written(folder: Path) -> list[str]:
    """Names of the spec and case files in a folder."""
    return sorted(path.name for path in folder.glob("*.yaml"))


async def test_once_ends_a_hanging_run_soon_and_reports_what_there_is(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = hanging_after(5)
    process = await started(asked(here, scripted), here)
    await sent(script, 9)
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 130, done.err
    rows = here.rows()
    sound(here, done, rows)
    assert reasons(rows) == {"cut-by-stop": 4, "interrupted": 3}
    assert "9 requests sent (5 answered)" in done.out
    assert here.manifest()["partial"] == "interrupted"
    last = done.err.strip().splitlines()[-1]
    assert last.startswith("promptpex: stopped; the answers so far are kept. To continue: promptpex run ")
    script.fault = lambda number, seen: None
    resumed = await command(asked(here, scripted))
    assert resumed.code == 0, resumed.err
    assert reasons(here.rows()) == {}
    assert script.twice == 0
    assert sum(script.paid.values()) == 12
    assert "partial" not in here.manifest()


async def test_twice_ends_at_once_and_the_store_is_whole(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = hanging_after(5)
    process = await started(asked(here, scripted), here, forked=False)
    await sent(script, 9)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    await process.stderr.readuntil(b"stopping: ")
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 130, done.err
    assert "Traceback" not in done.err
    assert done.out == "", "it waited for what was in flight, and reported"
    assert here.manifest()["partial"] == "running"
    assert "To continue: promptpex run " in done.err
    assert len(here.stored()) == 5
    assert not here.store.with_name("store.db-wal").exists(), "the store was not closed"
    script.fault = lambda number, seen: None
    assert (await command(asked(here, scripted))).code == 0
    assert sum(script.paid.values()) == 12


async def test_while_the_author_works_nothing_half_made_is_written(tmp_path: Path, scripted: ScriptedServer) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Answer in one word: what colour is a {{thing}}?\n", encoding="utf-8")
    here = Place(tmp_path, prompt, 0)
    script = scripted.otherwise = hanging_after(0)
    process = await started(
        [*asked(here, scripted), "--judge", "none", "--author", f"{MODEL}?api_base={scripted.url}/v1"], here
    )
    await sent(script, 1)
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert done.code == 130, done.err
    assert "Traceback" not in done.err
    assert "To continue: promptpex run " in done.err
    assert written(tmp_path) == []


async def test_while_it_waits_for_another_process_it_ends_as_soon(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = hanging_after(0)
    await started(asked(here, scripted), here)
    await sent(script, 4)
    waiting = await started(asked(here, scripted, "--results", str(tmp_path / "other")), here)
    await until(lambda: any((tmp_path / "other").glob("*/.*.lock")))
    await asyncio.sleep(0.5)
    waiting.send_signal(signal.SIGINT)
    done = await ended(waiting)
    assert done.code == 130, done.err
    assert script.sent == 4, "what another process asks was asked"


@pytest.mark.parametrize("pause", [0.0, 0.3])
async def test_many_in_a_row_end_it_with_its_own_code(tmp_path: Path, scripted: ScriptedServer, pause: float) -> None:
    """A build server that is impatient sends several; none may end the process while it closes the store."""
    here = place(tmp_path)
    script = scripted.otherwise = hanging_after(5)
    process = await started(asked(here, scripted), here)
    await sent(script, 9)
    for _ in range(12):
        if process.returncode is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)  # asyncio's own way may reap the process and lose its code
        await asyncio.sleep(pause)
    done = await ended(process)
    assert done.code == 130, done.err
    assert "Traceback" not in done.err
    assert len(here.stored()) == 5


async def test_a_folder_of_a_killed_run_tells_one_truth(tmp_path: Path, scripted: ScriptedServer) -> None:
    """A run that a budget cut is gone on with and killed: nothing of the first execution stands beside the second."""
    here = place(tmp_path)
    script = scripted.otherwise = hanging_after(8)
    first = await command(asked(here, scripted, "--max-requests", "6"))
    assert reasons(here.rows()) == {"budget": 6}, first.err
    (folder,) = (path.parent for path in here.folder.glob("results/*/*/manifest.json"))
    gate = ["gate", str(folder), "--max-non-compliance", "100%", "--bound", "point"]
    cut = await command(gate)
    assert (cut.code, "This run is not complete (budget)" in cut.err) == (1, True)
    process = await started(asked(here, scripted), here)
    await sent(script, 8)
    await until(lambda: (folder / "outputs.jsonl").read_bytes().count(b"\n") >= 8)
    runs = ["runs", "--json", "--results", str(here.folder / "results")]
    assert [run["partial"] for run in json.loads((await command(runs)).out)] == ["running"]
    process.kill()
    await process.wait()
    assert not (folder / "verdicts.jsonl").exists()
    refused = await command(gate)
    assert (refused.code, "has not ended" in refused.err) == (2, True)
    assert [run["partial"] for run in json.loads((await command(runs)).out)] == ["killed"]
    assert "killed" in (await command(runs[:1] + runs[2:])).out
    report = await command(["report", str(folder), "--json"])
    summary = json.loads(report.out)
    assert (summary["partial"], [model["scored"] for model in summary["models"]]) == ("killed", [0])
    assert "(<bdi>killed</bdi>)" in (folder / "report.html").read_text(encoding="utf-8")
    script.fault = lambda number, seen: None
    whole = await command(asked(here, scripted))
    assert whole.code == 0, whole.err
    assert sum(script.paid.values()) == 12, "an answer was paid for twice"
    assert reasons(here.rows()) == {}
    passed = await command(gate)
    assert (passed.code, "not complete" in passed.err) == (0, False)


async def test_a_run_that_is_killed_before_its_first_answer_leaves_no_run(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = hanging_after(0)
    process = await started(asked(here, scripted), here)
    await sent(script, 4)
    process.kill()
    await process.wait()
    listed = await command(["runs", "--json", "--results", str(here.folder / "results")])
    assert (listed.code, json.loads(listed.out)) == (0, [])
    script.fault = lambda number, seen: None
    assert (await command(asked(here, scripted))).code == 0
    assert not list(here.folder.glob("results/*/.*")), "the lock of the killed process stayed"
