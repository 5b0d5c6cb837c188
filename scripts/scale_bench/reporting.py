"""Reports of large runs: memory and CPU time of what `report` does, read part by part and at once."""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODELS, RULES = 4, 2
TEXT = "the answer holds several words that say what was asked and more than that because models like to talk"
WORDS = TEXT.split()


def add_parser(commands: Any) -> None:
    """The subcommand ``report``."""
    parser = commands.add_parser("report", help=__doc__)
    parser.add_argument("--outputs", type=int, nargs="*", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--at-once", type=int, default=300_000, help="the most outputs that are also read at once")
    parser.add_argument("--parquet", action="store_true", help="keep the verdicts as a Parquet file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Prints the table."""
    if args.one:
        way, folder = json.loads(args.one)
        print(json.dumps(one(way, Path(folder))))
        return
    print("| outputs | verdicts | files: MB | read | tables made: peak MB | files written: peak MB | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for outputs in args.outputs:
        with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as place:
            folder = Path(place) / "results" / "big" / "run-1"
            verdicts = make(folder, outputs)
            if args.parquet:
                _measured("parquet", folder)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            for way in ("parts", *(["at once"] if outputs <= args.at_once else [])):
                made = _measured(way, folder)
                peaks = f"{made['tables']:.0f} | {made['files']:.0f} | {made['cpu']:.0f}"
                print(f"| {outputs:,} | {verdicts:,} | {size:.0f} | {way} | {peaks} |", flush=True)


def _measured(way: str, folder: Path) -> dict[str, float]:
    """The figures of one measurement, in a process of its own, whose memory is its own."""
    script = Path(__file__).resolve().parents[1] / "bench_scale.py"
    command = [sys.executable, str(script), "report", "--one", json.dumps([way, str(folder)])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def one(way: str, folder: Path) -> dict[str, float]:
    """Reads a run, makes all tables and writes the files; the peaks of memory in MB."""
    from promptpex.report import runs, summarise
    from promptpex.report.files import write

    if way == "parquet":
        runs.finish(folder, runs.read(folder), most_lines=0)
        return {}
    made = runs.read_columns(folder) if way == "at once" else runs.read_for_report(folder)
    summary = summarise(made, folder=folder)
    tables = _peak_mb()
    write(summary, folder)
    return {"tables": tables, "files": _peak_mb(), "cpu": time.process_time()}


def _peak_mb() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)


def make(folder: Path, outputs: int) -> int:
    """Writes a run of so many outputs of thirty words, each with a verdict of code on every rule and one of a judge;
    the number of verdicts. One output in fifty is an error."""
    from promptpex.core.records import Case, Check, Manifest, Message, Prompt, Rule, Run, Spec, Suite
    from promptpex.report import runs

    check = Check(kind="regex", value="x")
    rules = tuple(Rule(id=f"r{n}", rule=f"The output keeps promise {n}.", checks=(check,)) for n in range(RULES))
    cases = tuple(
        Case(id=f"c{n}", rule=f"r{n % RULES}", inverse=n % 3 == 0, inputs={"text": f"an input of some words, {n}"})
        for n in range(outputs // MODELS)
    )
    models = tuple(f"provider/model-{n}" for n in range(MODELS))
    facts: dict[str, Any] = {"run": "run-1", "prompt": "big", "prompt_fingerprint": "f", "spec_digest": "s"}
    manifest = Manifest(**facts, suite_digest="t", models=models, judges=("provider/judge",))
    message = Message(role="user", content="{{text}}")
    prompt = Prompt(name="big", messages=(message,), variables=("text",), fingerprint="f")
    suite = Suite(prompt="big.md", cases=cases)
    runs.begin(folder, Run(manifest=manifest, prompt=prompt, spec=Spec(prompt="big.md", rules=rules), suite=suite))
    rng, count = random.Random(0), 0
    with (folder / "outputs.jsonl").open("w") as answers, (folder / "verdicts.jsonl").open("w") as judged:
        for model in models:
            for case in cases:
                key, lost = {"case": case.id, "model": model}, rng.random() < 0.02
                answers.write(json.dumps({**key, **_output(rng, lost=lost)}) + "\n")
                for verdict in _verdicts(rng, lost=lost):
                    judged.write(json.dumps({**key, **verdict}) + "\n")
                    count += 1
    return count


def _output(rng: random.Random, *, lost: bool) -> dict[str, Any]:
    request = f"{rng.getrandbits(256):064x}"
    if lost:
        return {"error": "timed-out", "message": "the model did not answer in time", "request": request}
    words = " ".join(rng.choices(WORDS, k=30))
    tokens = {"tokens_in": rng.randrange(50, 500), "tokens_out": rng.randrange(5, 200)}
    measured = {"cost_usd": rng.random() / 1000, "latency_ms": rng.random() * 1000}
    return {"text": words, "request": request, "finish_reason": "stop", **tokens, **measured}


def _verdicts(rng: random.Random, *, lost: bool) -> Iterator[dict[str, Any]]:
    for rule in range(RULES):
        if lost:
            yield {"rule": f"r{rule}", "status": "unscored", "unscored": "timed-out", "source": "none"}
            continue
        status = "fail" if rng.random() < 0.02 * (rule + 1) else "pass"
        print_ = f"{rule:016x}"
        yield {"rule": f"r{rule}", "status": status, "reason": status, "source": "check:regex", "fingerprint": print_}
    if not lost:
        status, reason = "fail" if rng.random() < 0.03 else "pass", " ".join(rng.choices(WORDS, k=15))
        judge = {"source": "judge:provider/judge", "fingerprint": "f" * 16, "confidence": rng.random()}
        yield {"rule": "r0", "status": status, "reason": reason, **judge, "counts": False}
