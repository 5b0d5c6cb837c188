"""Large runs: memory and CPU time of ``run``, from the suite's file to the report, on answers that take no time."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptpex.core.records import Completion, Request

MODELS = 4
ANSWER = "the answer holds several words that say what was asked and more than that because models like to talk, of "
JUDGED = json.dumps({"taste": {"reason": "some words that say what is good about it, and why", "verdict": "pass"}})
RULES = """prompt: prompt.md
intent: To say several words.
rules:
  - {id: r1, rule: It has words., checks: [{kind: contains, value: words}], decides: wholly, origin: added}
  - {id: r2, rule: It has no tables., checks: [{kind: not-contains, value: '|'}], decides: wholly, origin: added}
  - {id: taste, rule: It is tasteful., origin: added}
"""


class Answers:
    """Answers as the models under test and as the judge, at once."""

    async def complete(self, request: Request) -> Completion:
        """Thirty words; of a judge its verdict."""
        from promptpex.core.records import Completion
        from promptpex.llm.sent_signal import sending

        sending()
        text = JUDGED if request.stage == "judge" else f"{ANSWER}{request.messages[-1].content[-24:]} {request.model}"
        return Completion(text=text, finish_reason="stop", latency_ms=10.0, tokens_in=100, tokens_out=30)

    async def close(self) -> None:
        """Nothing is open."""


def add_parser(commands: Any) -> None:
    """The subcommand ``run``."""
    parser = commands.add_parser("run", help=__doc__)
    parser.add_argument("--outputs", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--turns", type=int, default=1, help="how often a judge is asked about each output")
    parser.add_argument("--again", action="store_true", help="also run it once more, with all answers stored")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Prints the table."""
    if args.one:
        folder, turns = json.loads(args.one)
        print(json.dumps(one(Path(folder), turns)))
        return
    print("| outputs | verdicts | answers | suite read: MB | run made: peak MB | reported: peak MB | CPU s | s |")
    print("|---|---|---|---|---|---|---|---|")
    for outputs in args.outputs:
        with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as place:
            make(Path(place), outputs)
            for answers in ("new", *(["stored"] if args.again else [])):
                got = _measured(Path(place), args.turns)
                peaks = " | ".join(f"{got[name]:.0f}" for name in ("begun", "made", "reported", "cpu", "seconds"))
                print(f"| {outputs:,} | {outputs * (2 + args.turns):,} | {answers} | {peaks} |", flush=True)


def _measured(folder: Path, turns: int) -> dict[str, float]:
    """The figures of one measurement, in a process of its own, whose memory is its own."""
    script = Path(__file__).resolve().parents[1] / "bench_scale.py"
    command = [sys.executable, str(script), "run", "--one", json.dumps([str(folder), turns])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def one(folder: Path, turns: int) -> dict[str, float]:
    """Runs the prompt in a folder and writes its report, as the command does; the peaks of memory in MB."""
    from promptpex.__main__ import GARBAGE_AFTER
    from promptpex.config import load
    from promptpex.report.runs import read_for_report
    from promptpex.workflow import pipeline
    from promptpex.workflow.execution.run_into_folder import execute_into_folder
    from promptpex.workflow.project_files import files_of
    from promptpex.workflow.reporting import report_run
    from promptpex.workflow.session import open_session

    gc.set_threshold(GARBAGE_AFTER)
    began = time.perf_counter()
    models, roles = [f"fake/m{number}" for number in range(MODELS)], {"judge": ["fake/judge"], "judge_repeat": turns}
    given = {"models": models, **roles, "store": str(folder / "store.db"), "results": str(folder / "results")}

    async def make() -> tuple[Path, float]:
        async with open_session(load(given, start=folder, env={}), provider=Answers()) as session:
            begun = await pipeline.begin_run(session, files_of(folder / "prompt.md"))
            peak = _peak_mb()
            return (await execute_into_folder(session, begun))[1], peak

    place, begun = asyncio.run(make())
    made = _peak_mb()
    report_run(read_for_report(place), place, lambda event: None)
    seconds = time.perf_counter() - began
    return {"begun": begun, "made": made, "reported": _peak_mb(), "cpu": time.process_time(), "seconds": seconds}


def _peak_mb() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)


def make(folder: Path, outputs: int) -> None:
    """Writes a prompt, two rules that code decides and one for the judge, and as many cases as that takes."""
    (folder / ".git").mkdir()
    (folder / "prompt.md").write_text("Answer with some words to anything.\n\n{{question}}\n", encoding="utf-8")
    (folder / "prompt.spec.yaml").write_text(RULES, encoding="utf-8")
    listed = "".join(
        f"  - {{id: c{number}, rule: r{number % 2 + 1}, inputs: {{question: Is {number} a number?}}, origin: added}}\n"
        for number in range(outputs // MODELS)
    )
    (folder / "prompt.cases.yaml").write_text(f"prompt: prompt.md\ncases:\n{listed}", encoding="utf-8")
