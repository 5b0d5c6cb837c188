"""Whole commands against a server on loopback whose answers, and whose judge, are told by the case's number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpex.cli.main import run_cli
from promptpex.core.records import Run
from promptpex.report import runs
from tests.e2e.command import Done
from tests.e2e.faults import command
from tests.servers import ScriptedServer, Seen, Step, completion_body, error_body

SPEC = """prompt: p.md
intent: Name a capital.
rules:
  - {id: r1, rule: One word., source: a word, origin: added, checks: [{kind: word-count, value: 1}]}
  - {id: r2, rule: A capital., source: the capital, origin: added}
"""

Nonsense = Callable[[int], bool]


@dataclass(slots=True)
class Place:
    """A folder with a prompt of two rules, one for a judge, and so many cases."""

    folder: Path
    server: ScriptedServer
    cases: int

    def write(self) -> None:
        """The three files."""
        listed = "".join(
            f"  - {{id: c{n}, rule: r{n % 2 + 1}, inputs: {{country: Land {n} end}}, origin: added}}\n"
            for n in range(self.cases)
        )
        texts = {
            "p.md": "Name the capital of {{country}}",
            "p.spec.yaml": SPEC,
            "p.cases.yaml": f"prompt: p.md\ncases:\n{listed}",
        }
        for name, text in texts.items():
            (self.folder / name).write_text(text, encoding="utf-8")

    async def run(self, models: str, *more: str, judge: str = "openai/judge") -> tuple[Done, dict[str, Any]]:
        """``run --json``: how it ended, and what it printed."""
        named = ",".join(f"openai/{name}" for name in models.split(","))
        asked = ["run", "p.md", "--models", named, "--judge", judge, "-q", "--json", *more]
        done = await command([*asked, "--api-base", f"{self.server.url}/v1"])
        return done, json.loads(done.out) if done.out else {}


def gate_code(run: Run, name: str, *asked: str) -> int:
    """The exit code of ``gate`` on a run, kept under this name among the results of the working folder."""
    where = runs.folder_for(Path("results"), run.prompt.name, name)
    runs.finish(where, run.replace(manifest=run.manifest.replace(run=where.name)))
    return run_cli(["gate", str(where), *asked])


def answering(broken: dict[str, int], nonsense: Nonsense = lambda number: False) -> Callable[[Seen], Step]:
    """Each model breaks the one-word rule in its first so many cases; ``dead`` has no key; the judge passes all that
    it does not talk nonsense of."""

    def answer(seen: Seen) -> Step:
        model, text = seen.body["model"], seen.body["messages"][-1]["content"]
        if model == "dead":
            return Step(body=error_body("no such key", "invalid_api_key"), status=401)
        if model == "judge":
            verdicts = {"r2": {"reason": "fine", "verdict": "pass"}}
            city = re.search(r"City-(\d+)-of", "\n".join(str(one["content"]) for one in seen.body["messages"]))
            odd = city is not None and nonsense(int(city[1]))
            return Step(body=completion_body("Who knows." if odd else json.dumps(verdicts)))
        land = re.search(r"Land (\d+) end", text)
        assert land is not None
        number = int(land[1])
        words = " that is its name" if number < broken.get(model, 0) else ""
        return Step(body=completion_body(f"City-{number}-of-{model}{words}"))

    return answer
