"""What a report of many verdicts takes in time and memory: ``python scripts/bench_tables.py [VERDICTS]``.

Makes a run's folder in a temporary place (5 models, 10 rules, 10 repeats; one output in fifty is an error; a judge
beside code on every tenth verdict), and measures, each in a process of its own: reading it and making every table of a
report; the CSV files; the page. The aim is 10 s of CPU and 1.5 GB for 1,000,000 verdicts read and tabulated, imports
included.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

MODELS, RULES, REPEATS = 5, 10, 10
CPU, MEMORY = 10.0, 1536.0
"""The aim: seconds and MB."""

TEXT = "the answer holds several words that say what was asked and more than that because models like to talk"
WORDS = TEXT.split()


def main(verdicts: int) -> int:
    """Prints a line per part; 1 if reading and tabulating took longer or more memory than it may."""
    with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as place:
        folder = Path(place) / "results" / "big" / "run-1"
        counts = in_a_process("make", folder, verdicts)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"{counts['verdicts']:,} verdicts on {counts['outputs']:,} outputs, {size:.0f} MB on disk")
        whole = in_a_process("tabulate", folder)
        say("read", whole["read"])
        say("tabulated", whole["tabulated"])
        say("both, with start and imports", whole["cpu"], whole["peak"])
        for part in ("CSV", "HTML"):
            made = in_a_process(part, folder)
            say(f"{part} alone", made["cpu"], made["peak"])
    return 0 if whole["cpu"] < CPU and whole["peak"] < MEMORY else 1


def say(what: str, seconds: float, peak: float | None = None) -> None:
    """A line of the figures."""
    memory = "" if peak is None else f", peak {peak:.0f} MB of the whole process"
    print(f"{what:>30} {seconds:6.2f} s of CPU{memory}", flush=True)


def in_a_process(part: str, folder: Path, verdicts: int = 0) -> dict[str, Any]:
    """What a part tells of itself. Linux counts a parent's memory as its child's, so this one imports nothing large."""
    command = [sys.executable, __file__, str(verdicts), "--part", part, "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measures


def tabulate(folder: Path) -> dict[str, Any]:
    """CPU seconds of reading and of summarising, and of the whole process until then."""
    from promptpex.report import runs, summarise

    start = time.process_time()
    run = runs.read_columns(folder)
    read = time.process_time()
    summarise(run, folder=folder)
    end = time.process_time()
    return {"read": read - start, "tabulated": end - read, "cpu": end, "peak": peak_mb()}


def files(part: str, folder: Path) -> dict[str, Any]:
    """CPU seconds of the CSV files, or of the page, beside a summary that is there already."""
    from promptpex.codecs.files.atomic import write_text
    from promptpex.report import html_page, runs, summarise
    from promptpex.report.files import csv_text

    summary = summarise(runs.read_columns(folder), folder=folder)
    start = time.process_time()
    if part == "HTML":
        html_page.write(summary, folder)
    else:
        details = summary.details
        frames = {"models": summary.models, "outputs": summary.outputs, "verdicts": summary.verdicts}
        frames |= {"agreements": details.agreements, "disagreements": details.disagreements}
        for name, frame in frames.items():
            write_text(folder / f"{name}.csv", csv_text(frame))
    return {"cpu": time.process_time() - start, "peak": peak_mb()}


def make(folder: Path, verdicts: int) -> dict[str, Any]:
    """Writes the folder, its lines as ``runs.finish`` would; how many outputs and verdicts it holds."""
    from promptpex.core.records import Case, Check, Manifest, Message, Prompt, Rule, Run, Spec, Suite
    from promptpex.report import runs

    cases = max(1, verdicts * 10 // 11 // (MODELS * RULES * REPEATS))
    check = Check(kind="regex", value="x")
    rules = [Rule(id=f"r{n}", rule=f"The output keeps promise {n}.", checks=(check,)) for n in range(RULES)]
    suite = [
        Case(id=f"c{n}", rule=f"r{n % RULES}", inverse=n % 3 == 0, inputs={"text": f"an input of some words, {n}"})
        for n in range(cases)
    ]
    models = tuple(f"provider/model-{n}" for n in range(MODELS))
    facts = {"run": "run-1", "prompt": "big", "prompt_fingerprint": "f", "spec_digest": "s", "suite_digest": "t"}
    manifest = Manifest(**facts, models=models, judges=("provider/judge",), settings={"repeats": REPEATS})
    prompt = Prompt(
        name="big", messages=(Message(role="user", content="{{text}}"),), variables=("text",), fingerprint="f"
    )
    spec = Spec(prompt="big.md", rules=tuple(rules))
    begun = Run(manifest=manifest, prompt=prompt, spec=spec, suite=Suite(prompt="big.md", cases=tuple(suite)))
    runs.begin(folder, begun)
    with (folder / "outputs.jsonl").open("w") as outputs, (folder / "verdicts.jsonl").open("w") as judged:
        return {"outputs": cases * MODELS * REPEATS, "verdicts": write_lines(cases, models, outputs, judged)}


def write_lines(cases: int, models: tuple[str, ...], outputs: IO[str], judged: IO[str]) -> int:
    """Writes an output of each model to each case and repeat, and the verdicts on it; the number of verdicts."""
    rng, count = random.Random(0), 0
    for model in models:
        for repeat in range(REPEATS):
            for case in range(cases):
                key = {"case": f"c{case}", "model": model, **({"repeat": repeat} if repeat else {})}
                lost = rng.random() < 0.02
                outputs.write(json.dumps({**key, **output(rng, model, lost)}) + "\n")
                for verdict in verdicts_on(rng, model, lost):
                    judged.write(json.dumps({**key, **verdict}) + "\n")
                    count += 1
    return count


def output(rng: random.Random, model: str, lost: bool) -> dict[str, Any]:
    """An answer of thirty words with all that is known of it, or an error."""
    request = f"{rng.getrandbits(256):064x}"
    if lost:
        return {"error": "timed-out", "message": f"{model} did not answer in time", "request": request}
    return {
        "text": " ".join(rng.choices(WORDS, k=30)),
        "request": request,
        "finish_reason": "stop",
        "tokens_in": rng.randrange(50, 500),
        "tokens_out": rng.randrange(5, 200),
        "cost_usd": rng.random() / 1000,
        "latency_ms": rng.random() * 1000,
        "model_reported": model.rpartition("/")[2],
    }


def verdicts_on(rng: random.Random, model: str, lost: bool) -> Iterator[dict[str, Any]]:
    """Code's word on each rule, and on one of them a judge's, in fifteen words of its own."""
    beside = rng.randrange(RULES)
    for rule in range(RULES):
        if lost:
            why = f"{model} did not answer in time"
            yield {"rule": f"r{rule}", "status": "unscored", "reason": why, "unscored": "timed-out", "source": "none"}
            continue
        fails = rng.random() < 0.02 * (rule + 1)
        reason = f'regex: the pattern "x{rule}" is not found' if fails else "the assertion passed"
        print_ = f"{rule:016x}"
        yield {**status_of(rule, fails), "reason": reason, "source": "check:regex", "fingerprint": print_}
        if rule == beside:
            agrees, reason = rng.random() < 0.9, " ".join(rng.choices(WORDS, k=15))
            judge = {"source": "judge:provider/judge", "fingerprint": "f" * 16, "confidence": rng.random()}
            yield {**status_of(rule, fails == agrees), "reason": reason, **judge, "counts": False}


def status_of(rule: int, fails: bool) -> dict[str, str]:
    """A rule and its status."""
    return {"rule": f"r{rule}", "status": "fail" if fails else "pass"}


def peak_mb() -> float:
    """The most memory that this process has had, in MB."""
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)


def one_part(part: str, folder: Path, verdicts: int) -> dict[str, Any]:
    """What a child process does."""
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "make": lambda: make(folder, verdicts),
        "tabulate": lambda: tabulate(folder),
    }
    return parts.get(part, lambda: files(part, folder))()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("verdicts", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--part", choices=["make", "tabulate", "CSV", "HTML"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part is None:
        sys.exit(main(given.verdicts))
    print(json.dumps(one_part(given.part, given.folder, given.verdicts)))
