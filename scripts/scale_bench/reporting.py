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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from promptpex.core.records import Case, Grade, output_key
from promptpex.documents.human_grades import append_grades
from promptpex.grading.random_sample import number

MODELS, RULES = 4, 2
WHAT = ("plain", "scores", "grades", "compare")
"""A run with verdicts alone, with scores or people's grades as well, and two that are compared."""
GRADES, GRADED = "prompt.grades.jsonl", 400
TEXT = "the answer holds several words that say what was asked and more than that because models like to talk"
WORDS = TEXT.split()


def add_parser(commands: Any) -> None:
    """The subcommand ``report``."""
    parser = commands.add_parser("report", help=__doc__)
    parser.add_argument("--outputs", type=int, nargs="*", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--at-once", type=int, default=300_000, help="the most outputs that are also read at once")
    parser.add_argument("--parquet", action="store_true", help="keep the verdicts as a Parquet file")
    parser.add_argument("--what", choices=WHAT, nargs="*", default=list(WHAT))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Prints the table."""
    if args.one:
        what, way, folders = json.loads(args.one)
        print(json.dumps(one(what, way, list(map(Path, folders)))))
        return
    print("| what | outputs | verdicts | files: MB | read | tables made: peak MB | files written: peak MB | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for outputs in args.outputs:
        for what in args.what:
            with tempfile.TemporaryDirectory(prefix="promptpex-bench-") as place:
                _of_one_size(args, what, outputs, Path(place))


def _of_one_size(args: argparse.Namespace, what: str, outputs: int, place: Path) -> None:
    """Prints the rows of runs of so many outputs."""
    names = ("run-1", "run-2") if what == "compare" else ("run-1",)
    folders = [place / "results" / "big" / name for name in names]
    verdicts = sum(make(folder, outputs, seed, what) for seed, folder in enumerate(folders))
    if args.parquet:
        _measured("parquet", "", folders)
    size = sum(path.stat().st_size for folder in folders for path in folder.iterdir()) / 1e6
    for way in ("parts", *(["at once"] if outputs <= args.at_once else [])):
        made = _measured(what, way, folders)
        peaks = f"{made['tables']:.0f} | {made['files']:.0f} | {made['cpu']:.0f}"
        print(f"| {what} | {outputs:,} | {verdicts:,} | {size:.0f} | {way} | {peaks} |", flush=True)


def _measured(what: str, way: str, folders: Sequence[Path]) -> dict[str, float]:
    """The figures of one measurement, in a process of its own, whose memory is its own."""
    script = Path(__file__).resolve().parents[1] / "bench_scale.py"
    command = [sys.executable, str(script), "report", "--one", json.dumps([what, way, list(map(str, folders))])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def one(what: str, way: str, folders: Sequence[Path]) -> dict[str, float]:
    """Reads runs, makes all tables and writes the files; the peaks of memory in MB."""
    from promptpex.documents.human_grades import read_grades
    from promptpex.report import runs, summarise
    from promptpex.report.comparison.page_file import write_page
    from promptpex.report.files import write
    from promptpex.report.run_comparison import compare_runs
    from promptpex.workflow.grading.peoples_grades import grades_of_run

    if what == "parquet":
        for folder in folders:
            runs.finish(folder, runs.read(folder), most_lines=0)
        return {}
    made = [runs.read_columns(folder) if way == "at once" else runs.read_for_report(folder) for folder in folders]
    if what == "compare":
        comparison = compare_runs(*made)
        tables = _peak_mb()
        write_page(comparison, folders[0].parent / "page.html", (None, None))
    else:
        people = grades_of_run(made[0], read_grades(folders[0] / GRADES)) if what == "grades" else None
        summary = summarise(made[0], folder=folders[0], people=people)
        tables = _peak_mb()
        write(summary, folders[0])
    return {"tables": tables, "files": _peak_mb(), "cpu": time.process_time()}


def _peak_mb() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1024 * 1024 if sys.platform == "darwin" else 1024)


def make(folder: Path, outputs: int, seed: int, what: str) -> int:
    """Writes a run of so many outputs of thirty words, each with a verdict of code on every rule and one of a judge;
    the number of verdicts. One output in fifty is an error."""
    from promptpex.core.records import Check, Manifest, Message, Prompt, Rule, Run, Spec, Suite
    from promptpex.report import runs

    check = Check(kind="regex", value="x")
    rules = tuple(Rule(id=f"r{n}", rule=f"The output keeps promise {n}.", checks=(check,)) for n in range(RULES))
    cases = tuple(
        Case(
            id=f"c{n}",
            rule=f"r{n % RULES}",
            inverse=n % 3 == 0,
            inputs={"text": f"an input of some words, {n}"},
            expected=TEXT if what == "scores" else None,
        )
        for n in range(outputs // MODELS)
    )
    models = tuple(f"provider/model-{n}" for n in range(MODELS))
    facts: dict[str, Any] = {"run": "run-1", "prompt": "big", "prompt_fingerprint": "f", "spec_digest": "s"}
    manifest = Manifest(**facts, suite_digest="t", models=models, judges=("provider/judge",))
    message = Message(role="user", content="{{text}}")
    prompt = Prompt(name="big", messages=(message,), variables=("text",), fingerprint="f")
    suite = Suite(prompt="big.md", cases=cases)
    runs.begin(folder, Run(manifest=manifest, prompt=prompt, spec=Spec(prompt="big.md", rules=rules), suite=suite))
    rng, count, graded = random.Random(seed), 0, _Graded()
    with ExitStack() as stack:
        names = ("outputs.jsonl", "verdicts.jsonl", "scores.jsonl")[: 3 if what == "scores" else 2]
        answers, judged, *scored = (stack.enter_context((folder / name).open("w")) for name in names)
        for model in models:
            for case in cases:
                key, lost = {"case": case.id, "model": model}, rng.random() < 0.02
                output = _output(rng, lost=lost)
                answers.write(json.dumps({**key, **output}) + "\n")
                for verdict in _verdicts(rng, lost=lost):
                    judged.write(json.dumps({**key, **verdict}) + "\n")
                    count += 1
                for file in scored:
                    file.writelines(json.dumps({**key, **score}) + "\n" for score in _scores(rng, lost=lost))
                if what == "grades" and not lost:
                    graded.add(case, model, output["text"])
    if what == "grades":
        append_grades(folder / GRADES, graded.grades(rng))
    return count


class _Graded:
    """The first outputs in the order of the random sample."""

    def __init__(self) -> None:
        self._first: list[tuple[float, dict[str, Any]]] = []

    def add(self, case: Case, model: str, text: str) -> None:
        """Looks at an output."""
        turn = number(output_key(case.inputs, text))
        if len(self._first) < GRADED or turn < self._first[-1][0]:
            about = {"inputs": case.inputs, "output": text, "case": case.id, "model": model}
            self._first = sorted([*self._first, (turn, about)], key=lambda one: one[0])[:GRADED]

    def grades(self, rng: random.Random) -> list[Grade]:
        """A grade on each."""
        how: dict[str, Any] = {"time": "2026-03-01T09:30:00+00:00", "grader": "ada", "policy": "random"}
        values = ["bad" if rng.random() < 0.05 else "good" for _ in self._first]
        return [Grade.of(**about, **how, value=value) for value, (_, about) in zip(values, self._first, strict=True)]


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


def _scores(rng: random.Random, *, lost: bool) -> Iterator[dict[str, Any]]:
    """One against the expected output, one by a metric of a judge."""
    for name in ("expected", "tone"):
        if lost:
            yield {"name": name, "value": None, "unscored": "timed-out", "source": "none"}
        elif name == "expected":
            yield {"name": name, "value": float(rng.random() < 0.8), "source": "match:normalised", "reason": "differs"}
        else:
            reason = " ".join(rng.choices(WORDS, k=15))
            yield {"name": name, "value": rng.randrange(101) / 100, "source": "judge:provider/judge", "reason": reason}
