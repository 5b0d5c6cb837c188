"""The fault campaign: servers that fail in every way they do, and what is left afterwards.

After each fault every committed reply is there, none is paid twice, every missing output has its true reason, the
exit code is right and there is no traceback; and the same command without the fault asks only what is missing.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from promptpex.llm.providers.http import MAX_REPLY_BYTES
from tests.e2e.faults import GOOD, Fault, Mortal, Script, campaign, command, place, reasons, sound, until
from tests.servers import ScriptedServer, Seen, Step, completion_body, error_body

REFUSED = Step(status=429, body=error_body("slow down", "rate_limit_exceeded"))
LATER = Step(status=429, body=error_body("slow down", "rate_limit_exceeded"), headers={"Retry-After": "0.3"})
LONG_AGO = Step(status=429, body=b"", headers={"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"})
FAR_AHEAD = Step(status=429, body=b"", headers={"Retry-After": "Thu, 31 Dec 2099 23:59:59 GMT"})
"""As they come when the server's clock or ours has jumped."""

BROKEN = Step(status=500, body=b"oops")


@pytest.fixture(autouse=True)
def few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROMPTPEX_MAX_ATTEMPTS", "3")


def first(count: int, step: Step) -> Fault:
    """The first ``count`` requests fail so."""
    return lambda number, seen: step if number < count else None


def after(count: int, step: Step) -> Fault:
    """All requests but the first ``count`` fail so."""
    return lambda number, seen: step if number >= count else None


def always(step: Step) -> Fault:
    """All requests fail so."""
    return lambda number, seen: step


def one_question(step: Step) -> Fault:
    """The question that came first fails so, however often it is asked."""
    chosen: list[str] = []

    def fault(number: int, seen: Seen) -> Step | None:
        text = str(seen.body["messages"])
        if not chosen:
            chosen.append(text)
        return step if text == chosen[0] else None

    return fault


PASSING: list[tuple[str, Fault]] = [
    ("429 storm without Retry-After", first(4, REFUSED)),
    ("429 storm, Retry-After: a date in the past", first(6, LONG_AGO)),
    (
        "503 with an HTML page",
        first(2, Step(status=503, body=b"<html>down</html>", headers={"Content-Type": "text/html"})),
    ),
    ("connection cut in the middle of the body", first(2, Step(drop=60))),
    ("half a JSON document, twice", first(2, Step(body=completion_body("NN")[:50]))),
]


@pytest.mark.parametrize("fault", [fault for _, fault in PASSING], ids=[name for name, _ in PASSING])
async def test_what_passes_costs_patience_and_no_answer(tmp_path: Path, scripted: ScriptedServer, fault: Fault) -> None:
    await campaign(place(tmp_path), scripted, fault, "--concurrency", "4", expected={}, code=0)


LASTING: list[tuple[str, Step, str]] = [
    ("one question always gives 500", BROKEN, "unavailable"),
    ("one question drips, 16 bytes in 0.5 s", Step(drip_s=0.5), "timed-out"),
    ("one question gives half a JSON document", Step(body=completion_body("NN")[:50]), "malformed"),
    ("one question gives an HTML page as 200", Step(body=b"<p>hi", headers={"Content-Type": "text/html"}), "malformed"),
    ("one question gives bytes that are not text", Step(body=b"\xff\xfe\x00" * 400), "malformed"),
    ("one question is filtered", Step(status=400, body=error_body("blocked", "content_filter")), "filtered"),
    (
        "one question is too long",
        Step(status=400, body=error_body("too long", "context_length_exceeded")),
        "context-too-small",
    ),
    ("one question is redirected", Step(status=302, headers={"Location": "http://127.0.0.1:1/"}), "bad-request"),
]


@pytest.mark.parametrize(("step", "reason"), [each[1:] for each in LASTING], ids=[name for name, _, _ in LASTING])
async def test_what_lasts_is_the_outcome_of_that_question_alone(
    tmp_path: Path, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch, step: Step, reason: str
) -> None:
    monkeypatch.setenv("PROMPTPEX_MAX_ATTEMPTS", "2")
    flags = ("--concurrency", "4", "--timeout", "2")
    await campaign(place(tmp_path), scripted, one_question(step), *flags, expected={reason: 1}, code=0)


NOBODY: list[tuple[str, Step, str]] = [
    ("429 without end", LATER, "rate-limited"),
    ("429, Retry-After: a date far ahead", FAR_AHEAD, "rate-limited"),
    ("401", Step(status=401, body=error_body("bad key", "invalid_api_key")), "not-authorised"),
    ("410, the model is retired", Step(status=410, body=error_body("model is retired")), "retired-model"),
]


@pytest.mark.parametrize(("step", "reason"), [each[1:] for each in NOBODY], ids=[name for name, _, _ in NOBODY])
async def test_a_server_that_gives_nothing_ends_the_run_soon_with_code_3(
    tmp_path: Path, scripted: ScriptedServer, step: Step, reason: str
) -> None:
    here = place(tmp_path, cells=6)
    flags = ("--concurrency", "4", "--timeout", "3")
    await campaign(here, scripted, always(step), *flags, expected={reason: 6}, code=3)


async def test_a_model_that_disappears_halfway(tmp_path: Path, scripted: ScriptedServer) -> None:
    gone = Step(status=404, body=error_body("The model does not exist", "model_not_found"))
    flags = ("--concurrency", "1")
    expected = {"unknown-model": 7}
    await campaign(
        place(tmp_path),
        scripted,
        after(5, gone),
        *flags,
        expected=expected,
        code=0,
    )


async def test_a_name_that_does_not_resolve(tmp_path: Path, scripted: ScriptedServer) -> None:
    url = "http://nobody.invalid/v1"
    here = place(tmp_path, cells=6)
    expected = {"unavailable": 6}
    await campaign(here, scripted, first(0, GOOD), "--timeout", "3", expected=expected, code=3, url=url)


async def test_a_reply_beyond_the_limit_is_malformed(tmp_path: Path, scripted: ScriptedServer) -> None:
    huge = Step(body=completion_body("NN " * (MAX_REPLY_BYTES // 3)))
    expected = {"malformed": 1}
    await campaign(place(tmp_path, cells=1), scripted, first(99, huge), expected=expected, code=3)


async def test_a_server_that_dies_and_comes_back(tmp_path: Path) -> None:
    here = place(tmp_path, cells=24)
    script = Script(good=Step(body=completion_body("NN"), delay_s=0.05))
    async with Mortal(otherwise=script) as server:
        arguments = here.arguments("--models", f"openai/any?api_base={server.url}/v1", "--concurrency", "4")
        running = asyncio.ensure_future(command(arguments))
        await until(lambda: script.sent >= 8)
        await server.die()
        kept = len(here.stored())
        await asyncio.sleep(1.5)
        await server.revive()
        done = await running
    rows = here.rows()
    sound(here, done, rows)
    assert done.code == 0, done.err
    assert reasons(rows) == {}
    assert kept <= len(here.stored()) == 24
    lost = sum(count - 1 for count in script.paid.values())
    assert lost <= 4  # what was in flight when it died


@pytest.mark.long
async def test_a_server_that_dies_for_good(tmp_path: Path) -> None:
    here = place(tmp_path, cells=24)
    script = Script(good=Step(body=completion_body("NN"), delay_s=0.05))
    async with Mortal(otherwise=script) as server:
        arguments = here.arguments("--models", f"openai/any?api_base={server.url}/v1", "--concurrency", "4")
        running = asyncio.ensure_future(command([*arguments, "--deadline", "6"]))
        await until(lambda: script.sent >= 8)
        await server.die()
        done = await running
    rows = here.rows()
    sound(here, done, rows)
    assert done.code == 0, done.err
    why = reasons(rows)
    assert set(why) <= {"unavailable", "deadline", "cut-by-deadline"}
    assert len(here.stored()) == 24 - sum(why.values()) >= 4
    assert here.manifest()["partial"] == ("deadline" if set(why) - {"unavailable"} else None)
