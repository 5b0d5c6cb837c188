"""The verdicts of a task in Inspect and of a run here on the same answers, one by one; and those on Inspect's logs."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agreement.answers import AnswerServer
from agreement.own_command import promptpex

from inspect_agreement.program import Inspect
from promptpex.codecs.files.packed import opened_zip
from promptpex.core.records import Run
from promptpex.report import runs

MODELS = ("m1", "m2")
_WORDS = {"pass": "kept", "fail": "broken", 1: "kept", 0: "broken"}

Key = tuple[str, str, str]
"""Case, model and rule."""


@dataclass
class Agreement:
    """What the comparison of a suite comes to.

    Attributes:
        name: of the suite.
        theirs: of each rule in Inspect whether it is ``kept``, ``broken`` or ``neither``.
        ours: the same by a run here; again: the same by the imported logs.
        requests: how many chats both programs sent, and how many only one of them did.
    """

    name: str
    theirs: dict[Key, str] = field(default_factory=dict)
    ours: dict[Key, str] = field(default_factory=dict)
    again: dict[Key, str] = field(default_factory=dict)
    requests: tuple[int, int] = (0, 0)

    @property
    def different(self) -> list[str]:
        """A line for each verdict that differs, or that only one program has."""
        lines = []
        for key in sorted({*self.theirs, *self.ours, *self.again}):
            values = [verdicts.get(key, "missing") for verdicts in (self.theirs, self.ours, self.again)]
            if len(set(values)) > 1:
                lines.append(f"{self.name} {' '.join(key)}: Inspect {values[0]}, here {values[1]}, its log {values[2]}")
        return lines

    def line(self) -> str:
        """The figures."""
        counts = Counter(self.theirs.values())
        same, other = self.requests
        shown = ", ".join(f"{counts[value]} {value}" for value in ("kept", "broken", "neither"))
        return (
            f"{self.name}: {len(self.theirs)} verdicts ({shown}), {len(self.different)} different; "
            f"{same} chats the same, {other} not"
        )


def agreements(program: Inspect, suites: Sequence[Path], work: Path, texts: Sequence[str]) -> Iterator[Agreement]:
    """The comparison of each suite; Inspect runs all of them at once, since it takes long to start."""
    tasks = work / "tasks"
    tasks.mkdir()
    for suite in suites:
        shutil.copytree(suite, work / suite.name, ignore=shutil.ignore_patterns("*.grades.jsonl", "*.synthesis"))
        promptpex("export", "inspect-ai", work / suite.name / "prompt.cases.yaml", "--out", _task(tasks, suite))
    with AnswerServer(texts) as server:
        program.run([_task(tasks, suite) for suite in suites], MODELS, server.url, work / "logs")
        theirs = _asked(server)
        logs = sorted((work / "logs").glob("*.eval"))
        for suite in suites:
            run = _run(work / suite.name / "prompt.md", server.url, work)
            ours = _asked(server)
            agreement = Agreement(suite.name, requests=(len(ours & theirs), len(ours - theirs)))
            agreement.ours = _values(run)
            for log in logs:
                if _header(log)["eval"]["task_file"] == _task(tasks, suite).name:
                    agreement.theirs |= _scores(log)
                    agreement.again |= _values(_judged(log, work))
            yield agreement


def _task(folder: Path, suite: Path) -> Path:
    return folder / f"{suite.name.replace('-', '_')}_task.py"


def _asked(server: AnswerServer) -> set[tuple[str, str]]:
    """What the server was asked since the last time, each thing once."""
    asked = {(model, turns) for model, every in server.asked.items() for turns in every}
    server.asked.clear()
    return asked


def _header(log: Path) -> Any:
    with opened_zip(log, what="log") as parts:
        return json.loads(parts.read("header.json"))


def _scores(log: Path) -> dict[Key, str]:
    """The values that the scorer of checks has given."""
    values: dict[Key, str] = {}
    with opened_zip(log, what="log") as parts:
        model = json.loads(parts.read("header.json"))["eval"]["model"].rpartition("/")[2]
        for name in parts.names:
            if name.startswith("samples/"):
                sample = json.loads(parts.read(name))
                scores = sample["scores"].get("checks", {}).get("value", {})
                values |= {(str(sample["id"]), model, rule): word(value) for rule, value in scores.items()}
    return values


def _values(run: Run) -> dict[Key, str]:
    """The verdicts of code as Inspect's values, by the last part of the model's name."""
    coded = {rule.id for rule in run.spec.rules if rule.checks}
    return {
        (verdict.case, verdict.model.rpartition("/")[2], verdict.rule): word(verdict.status)
        for verdict in run.verdicts
        if verdict.counts and verdict.rule in coded
    }


def word(value: float | str) -> str:
    """What a value of Inspect's, or a status of ours, says of a rule."""
    return _WORDS.get(value, "neither")


def _run(prompt: Path, url: str, work: Path) -> Run:
    """A run of ours, by checks alone, in a folder of its own."""
    results = work / f"{prompt.parent.name}-results"
    models = ",".join(f"{name}=openai/{name}?api_base={url}" for name in MODELS)
    flags = ("--judge", "none", "--results", results, "--store", results / "store.sqlite")
    promptpex("run", prompt, "--models", models, *flags, ends=(0, 3))
    return runs.read(runs.latest(results))


def _judged(log: Path, work: Path) -> Run:
    """A log, imported and judged here."""
    folder = work / f"{log.stem}-imported"
    promptpex("import", log, "--out", folder)
    promptpex("judge", runs.latest(folder), "--judge", "none", "--results", folder, ends=(0, 3))
    return runs.read(runs.latest(folder))


def record(program: Inspect, suite: Path, work: Path, texts: Sequence[str]) -> None:
    """Keeps logs of Inspect beside a suite, for the tests that need no Inspect: one of each kind."""
    task = work / f"{suite.name}_task.py"
    promptpex("export", "inspect-ai", suite / "prompt.cases.yaml", "--out", task)
    with AnswerServer(texts) as server:
        for model, kind in zip(MODELS, ("eval", "json"), strict=True):
            program.run([task], [model], server.url, work / kind, kind=kind)
            (log,) = (work / kind).glob(f"*.{kind}")
            shutil.copyfile(log, suite.parent / f"{suite.name}.{kind}")
