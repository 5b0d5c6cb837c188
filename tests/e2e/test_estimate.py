"""What ``estimate`` says is what a run then asks: request by request, stored answers counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.faults import Place, Script, command, place
from tests.servers import ScriptedServer, Seen, Step, completion_body


class Answers(Script):
    """Answers each model with something of its own, and judges with a verdict per rule that they are asked for."""

    def __call__(self, seen: Seen) -> Step:
        super().__call__(seen)
        if seen.body["model"] != "judge":
            return Step(body=completion_body(f"A reply, number {self.sent}."))
        rules = seen.body["response_format"]["json_schema"]["schema"]["properties"]
        verdicts = {rule: {"reason": "it holds", "verdict": "pass"} for rule in rules}
        return Step(body=completion_body(json.dumps(verdicts)))


async def estimated(here: Place, *flags: str) -> dict[tuple[str, str], dict[str, Any]]:
    done = await command([*here.arguments(*flags, verb="estimate"), "--json"])
    assert done.code == 0, done.err
    lines = json.loads(done.out)
    return {(line["stage"], line["model"]): line for line in lines}


async def ran(here: Place, *flags: str) -> dict[str, Any]:
    done = await command([*here.arguments(*flags), "--json"])
    assert done.code == 0, done.err
    requests = json.loads(done.out)["requests"]
    assert isinstance(requests, dict)
    return requests


async def test_calls_are_those_that_a_run_then_sends(tmp_path: Path, scripted: ScriptedServer) -> None:
    here = place(tmp_path, cells=6, name="support-reply")
    script = scripted.otherwise = Answers()
    server = ("--api-base", f"{scripted.url}/v1", "--judge", "openai/judge")
    one, both = ("--models", "openai/a"), ("--models", "openai/a,openai/b", "--repeats", "2")

    first = await estimated(here, *one, *server)
    assert script.sent == 0
    assert {key: (line["calls"], line["stored"], line["exact"]) for key, line in first.items()} == {
        ("output", "openai/a"): (6, 0, True),
        ("judge", "openai/judge"): (6, 0, True),
    }
    assert all(line["cost_usd"] is None for line in first.values()), "an unknown price was taken for 0"
    asked = await ran(here, *one, *server)
    assert asked["requests"] == script.sent == 12

    more = await estimated(here, *both, *server)
    calls = {key: (line["calls"], line["stored"]) for key, line in more.items()}
    assert calls[("output", "openai/a")] == (6, 6)
    assert calls[("output", "openai/b")] == (12, 0)
    assert calls[("judge", "openai/judge")] == (18, 6)
    asked = await ran(here, *both, *server)
    assert asked["requests"] == sum(line["calls"] for line in more.values()) == script.sent - 12
    assert asked["cached"] == sum(line["stored"] for line in more.values())

    nothing = await estimated(here, *both, *server)
    assert {line["calls"] for line in nothing.values()} == {0}
    assert {line["cost_usd"] for line in nothing.values()} == {0.0}
    assert (await ran(here, *both, *server))["requests"] == 0


async def test_prices_are_the_servers_that_is_asked(tmp_path: Path) -> None:
    here = place(tmp_path, cells=6)
    models = "gpt-4o-mini,openai/gpt-4o,gpt-4o-mini?api_base=http://127.0.0.1:9/v1,ollama/llama3.2"
    known = {label: line["cost_usd"] for (_, label), line in (await estimated(here, "--models", models)).items()}
    assert known["gpt-4o-mini"] > 0
    assert known["openai/gpt-4o"] > known["gpt-4o-mini"]
    assert known["gpt-4o-mini?api_base=http://127.0.0.1:9/v1"] is None
    assert known["ollama/llama3.2"] == 0
    there = await estimated(here, "--models", "gpt-4o-mini,openai/gpt-4o", "--api-base", "http://127.0.0.1:9/v1")
    assert {line["cost_usd"] for line in there.values()} == {None}
