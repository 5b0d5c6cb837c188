"""Progress: what the bars, the plain lines and the log tell."""

from __future__ import annotations

import pytest

from promptpex.cli.progress import PlainLines, ProgressCounts, StageProgress, bars, span
from promptpex.core.events import (
    Answered,
    Event,
    Failed,
    OutcomeKnown,
    Sent,
    StageEnded,
    StageStarted,
    StepDone,
)

MODEL = "openai/a-model-with-quite-a-long-name-v2?temperature=0&max_tokens=200"


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def answered(cost: float | None = 0.001, *, cached: bool = False) -> Answered:
    return Answered(MODEL, "output", "id", cached, 10.0, 20, 5, cost)


def sent(model: str = MODEL, server: str = "http://127.0.0.1:9413/v1") -> Sent:
    return Sent(model, "output", "id", server, 300.0)


def tally_after(clock: Clock, count: int, *, every_s: float = 0.5, total: int = 100) -> StageProgress:
    """The tally after so many answers, one every so many seconds."""
    tallies = ProgressCounts(clock)
    tallies.count(StageStarted("output", total, MODEL))
    tally: StageProgress | None = None
    for _ in range(count):
        clock.now += every_s
        tallies.count(answered())
        tally = tallies.count(StepDone("output", MODEL))
    assert tally is not None
    return tally


def test_a_server_that_falls_silent_lowers_the_rate() -> None:
    clock = Clock()
    tally = tally_after(clock, 21)
    clock.now += 10
    assert tally.rate(clock()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (100, "2 min"), (5400, "90 min"), (7800, "2 h 10 min")]
)
def test_spans(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(("width", "whole"), [(80, False), (120, True)])
def test_bars_fit_the_terminal_and_never_cut_the_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, whole: bool
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "dumb")
    clock = Clock()
    with bars(clock) as hear:
        hear(StageStarted("output", 56, MODEL))
        for _ in range(20):
            clock.now += 0.25
            hear(answered())
            hear(StepDone("output", MODEL, "timed-out"))
    lines = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert max(len(line.rstrip()) for line in lines) <= width
    bar, total = lines[-2:]
    assert "20/56, 20 failed, 4.0/s, $0.0200, 9 s left" in bar
    assert (MODEL[:30] in bar) == whole
    assert MODEL[:6] in bar
    assert total == "total  20/56, 5 s, $0.0200, no verdicts yet"


def test_plain_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    hear = PlainLines(clock)
    hear(StageStarted("output", 40, MODEL))
    for _ in range(40):
        clock.now += 0.5
        hear(answered())
        hear(StepDone("output", MODEL))
    hear(StageEnded("output", MODEL))
    lines = capsys.readouterr().err.splitlines()
    assert 4 <= len(lines) <= 6
    assert lines[-1].startswith(f"output  {MODEL}  40/40")


def test_a_plain_line_says_for_whom_one_waits_and_then_less_and_less_often(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    hear = PlainLines(clock)
    hear(StageStarted("output", 66, MODEL))
    hear(sent())
    waited = []
    for _ in range(100):
        clock.now += 1
        hear.tick()
        waited += [line for line in capsys.readouterr().err.splitlines() if line.startswith("waiting")]
    assert waited == [
        f"waiting {seconds} s for the first answer (gives up at 5 min): http://127.0.0.1:9413/v1"
        for seconds in (20, 40, 80)
    ]
    hear(answered())
    clock.now += 200
    hear.tick()
    hear.end()
    lines = capsys.readouterr().err.splitlines()
    assert not [line for line in lines if line.startswith("waiting")]
    assert lines[-1] == "total  0/66, 5 min, $0.0010, no verdicts yet"


@pytest.mark.parametrize("end", [answered(cached=True), Failed(MODEL, "output", "id", "timed-out", "why")])
def test_an_answer_of_any_kind_ends_the_waiting(end: Event) -> None:
    clock = Clock()
    counts = ProgressCounts(clock)
    for event in (StageStarted("output", 2, MODEL), StageStarted("output", 2, "other"), sent(), sent("other", "b")):
        counts.count(event)
    clock.now += 4
    assert (
        counts.waiting(clock())
        == "waiting 4 s for the first answer (gives up at 5 min): http://127.0.0.1:9413/v1 and 1 more"
    )
    counts.count(end)
    assert counts.waiting(clock()) == "waiting 4 s for the first answer (gives up at 5 min): b"
    counts.count(StageEnded("output", "other"))
    assert counts.waiting(clock()) == ""


def test_the_total_has_all_stages_and_what_is_known_of_the_outputs() -> None:
    clock = Clock()
    counts = ProgressCounts(clock)
    counts.count(StageStarted("rules", 1, "author"))
    counts.count(StepDone("rules", "author"))
    clock.now += 30
    assert counts.total(clock()) == "1/1, 30 s"
    for look in range(2):
        counts.count(StageStarted("output", 2, MODEL))
        for _ in range(2):
            counts.count(answered(0.5))
            counts.count(StepDone("output", MODEL))
        for outcome in ("pass", "fail") if look else ("pass", "unscored"):
            counts.count(OutcomeKnown(MODEL, outcome))
    clock.now += 70
    assert counts.total(clock()) == "5/5, 2 min, $2.0000, 2 pass, 1 fail, 1 unscored"
    counts.count(OutcomeKnown(MODEL, "unscored", was="fail"))
    assert counts.total(clock()).endswith("2 pass, 2 unscored")
