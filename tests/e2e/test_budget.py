"""Budgets through the command line: what is missing says ``budget``, and a larger one pays only the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.command import Done
from tests.e2e.faults import MODEL, Place, Script, command, place, reasons, sound
from tests.servers import ScriptedServer, Seen, Step, completion_body

PRICED = """
[prices]
"openai/any" = { input = 1000.0, output = 2000.0 }
"""
TOKENS = 400
COST = TOKENS * 1000 / 1e6 + 5 * 2000 / 1e6
"""US dollars that an answer of the server costs."""

COUNTED = Step(body=completion_body("NN").replace(b'"prompt_tokens": 20', f'"prompt_tokens": {TOKENS}'.encode()))

VERDICT = Step(body=completion_body(json.dumps({"broken": []})))


def asked(here: Place, server: ScriptedServer, *more: str) -> list[str]:
    return here.arguments("--models", MODEL, "--api-base", f"{server.url}/v1", "--max-tokens", "5", *more)


def is_partial(done: Done, here: Place, missing: int) -> None:
    """Exit code 0, and everyone who looks is told that the budget ended the run."""
    assert done.code == 0, done.err
    rows = here.rows()
    sound(here, done, rows)
    assert reasons(rows) == {"budget": missing}
    assert here.manifest()["partial"] == "budget"
    assert f"{missing} budget" in done.out
    assert "not complete (budget)" in done.out


@pytest.mark.parametrize(
    ("flag", "small", "large"),
    [("--max-requests", "5", "100"), ("--max-total-tokens", "3000", "1000000"), ("--max-cost", "3", "100")],
)
async def test_a_budget_stops_cleanly_and_a_larger_one_pays_only_the_rest(
    tmp_path: Path, scripted: ScriptedServer, flag: str, small: str, large: str
) -> None:
    here = place(tmp_path)
    settings = tmp_path / "promptpex.toml"
    settings.write_text(PRICED, encoding="utf-8")
    script = scripted.otherwise = Script(good=COUNTED)
    common = ("--config", str(settings), "--concurrency", "2")
    done = await command(asked(here, scripted, flag, small, *common))
    answered = script.sent
    assert 0 < answered < 12
    is_partial(done, here, 12 - answered)
    if flag == "--max-requests":
        assert answered == 5
    if flag == "--max-cost":
        assert answered * COST <= 3
    again = await command(asked(here, scripted, flag, large, *common))
    assert again.code == 0, again.err
    assert reasons(here.rows()) == {}
    assert "partial" not in here.manifest()
    assert (script.sent, script.twice) == (12, 0)
    assert f"{12 - answered} requests sent, {answered} answers from the store" in again.out


async def test_a_model_of_unknown_price_is_refused_before_anything_is_sent(
    tmp_path: Path, scripted: ScriptedServer
) -> None:
    here = place(tmp_path, cells=4)
    done = await command(asked(here, scripted, "--max-cost", "1"))
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
    assert "the price of openai/any is unknown" in done.err
    assert '[prices."openai/any"]' in done.err
    settings = tmp_path / "promptpex.toml"
    settings.write_text(PRICED, encoding="utf-8")
    judged = ("--judge", "openai/judge", "--judge-mode", "prompt", "--config", str(settings))
    done = await command(asked(here, scripted, "--max-cost", "1", *judged))
    assert done.code == 2
    assert "the price of openai/judge is unknown" in done.err
    assert scripted.count == 0


async def test_the_judge_counts_and_a_judge_without_budget_is_named(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=4)
    script = scripted.otherwise = JudgedScript()
    judged = ("--judge", "openai/judge", "--judge-mode", "prompt", "--concurrency", "1")
    done = await command(asked(here, scripted, *judged, "--max-requests", "6"))
    assert done.code == 0, done.err
    rows = here.rows()
    assert sorted(row["error"] for row in rows) == ["", "", "", "budget"], "what is left is for the verdicts"
    assert here.manifest()["partial"] == "budget"
    assert "not complete (budget)" in done.out
    assert script.sent == 6
    assert set(reasons(rows)) == {"budget"}
    again = await command(asked(here, scripted, *judged, "--max-requests", "100"))
    assert again.code == 0, again.err
    assert "partial" not in here.manifest()
    assert (script.sent, script.twice) == (8, 0)


async def test_the_author_counts_and_nothing_half_made_is_written(tmp_path: Path, scripted: ScriptedServer) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("Answer in one word: what colour is a {{thing}}?\n", encoding="utf-8")
    here = Place(tmp_path, prompt, 0)
    scripted.otherwise = Step(body=completion_body(json.dumps({"intent": "Name a colour.", "constraints": ["short"]})))
    done = await command(asked(here, scripted, "--author", "openai/author", "--judge", "none", "--max-requests", "1"))
    assert done.code == 3
    assert "budget of 1 request would be passed" in done.err
    assert scripted.count == 1
    assert not prompt.with_name("prompt.spec.yaml").exists()


class JudgedScript(Script):
    """Answers a judge with a verdict, and all others each with something of its own."""

    def __call__(self, seen: Seen) -> Step:
        super().__call__(seen)
        return VERDICT if seen.body["model"] == "judge" else Step(body=completion_body(f"NN {self.sent}"))
