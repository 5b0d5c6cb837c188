"""What becomes of a complete run when its command is given again: fresh, killed in the middle, twice at once."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from pathlib import Path

from tests.e2e.faults import GOOD, Place, Script, command, place, until
from tests.e2e.processes import asked, ended, nobody_stays, started
from tests.samples import contents
from tests.servers import ScriptedServer, Seen, Step, completion_body

__all__ = ["nobody_stays"]

OTHER = Step(body=completion_body("VB"))


def folders(here: Place) -> list[Path]:
    return sorted(path.parent for path in here.folder.glob("results/*/*/manifest.json"))


def partial(folder: Path) -> str | None:
    reason = json.loads((folder / "manifest.json").read_text(encoding="utf-8")).get("partial")
    assert reason is None or isinstance(reason, str)
    return reason


async def test_fresh_answers_are_kept_beside_the_first_and_compared(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path)
    scripted.otherwise = GOOD
    assert (await command(asked(here, scripted))).code == 0
    (first,) = folders(here)
    before = contents(first)
    again = await command(asked(here, scripted))
    assert re.search(r"nothing has changed since \d{4}-\d\d-\d\d \d\d:\d\d UTC: ", again.err)
    assert folders(here) == [first]
    assert contents(first) == before
    scripted.otherwise = OTHER
    fresh = await command(asked(here, scripted, "--fresh", "--name", "today"))
    assert fresh.code == 0
    assert f"promptpex compare {first.name} {first.name}-2" in fresh.err
    assert folders(here) == [first, first.with_name(f"{first.name}-2")]
    assert contents(first) == before
    compared = await command(["compare", "latest~1", "today", "--json", "--results", str(here.folder / "results")])
    assert compared.code == 0
    (row,) = json.loads(compared.out)["models"]
    assert row["cases"] == here.cells


async def test_a_fresh_run_that_is_killed_goes_on_and_the_complete_one_stays(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    here = place(tmp_path)
    scripted.otherwise = GOOD
    assert (await command(asked(here, scripted))).code == 0
    (first,) = folders(here)
    before = contents(first)

    def hangs(number: int, seen: Seen) -> Step | None:
        return Step(body=completion_body("VB"), delay_s=60) if number >= 5 else None

    script = scripted.otherwise = Script(hangs, OTHER)
    process = await started(asked(here, scripted, "--fresh"), here)
    second = first.with_name(f"{first.name}-2")
    await until(
        lambda: (second / "outputs.jsonl").exists() and (second / "outputs.jsonl").read_bytes().count(b"\n") == 5
    )
    process.send_signal(signal.SIGKILL)
    assert (await ended(process)).code == -signal.SIGKILL
    assert partial(second) == "running"
    assert contents(first) == before
    script.fault = lambda number, seen: None
    sent = script.sent
    assert (await command(asked(here, scripted))).code == 0
    assert folders(here) == [first, second]
    assert partial(second) is None
    assert script.sent == sent  # the answers of before are in the store
    assert (second / "outputs.jsonl").read_bytes().count(b"\n") == here.cells
    assert contents(first) == before


async def test_two_that_run_the_same_at_once_ask_once_and_leave_one_run(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    here = place(tmp_path)
    script = scripted.otherwise = Script(good=Step(body=GOOD.body, delay_s=0.05))
    both = [await started(asked(here, scripted), here) for _ in range(2)]
    for done in await asyncio.gather(*map(ended, both)):
        assert done.code == 0, done.err
        assert "Traceback" not in done.err
    (folder,) = folders(here)
    assert partial(folder) is None
    assert script.sent == here.cells
    assert (folder / "outputs.jsonl").read_bytes().count(b"\n") == here.cells
    assert (folder / "report.html").exists()
    assert not list(here.folder.glob("results/*/.*"))
