"""Runs in which the fate of every output is chosen: asked for through ``promptpex.run``, or made of records at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

import promptpex
from promptpex.core.errors import DeadlinePassed
from promptpex.core.records import (
    Case,
    Check,
    Completion,
    Manifest,
    Output,
    Prompt,
    Request,
    Rule,
    Run,
    Spec,
    Suite,
    Verdict,
)
from promptpex.promptfile import parse
from promptpex.report import Summary, summarise
from promptpex.stats import Grid
from promptpex.tables import Counted, records
from tests.samples import asked

Fate = Literal["kept", "broken", "judged broken", "open", "cut", "unasked", "unjudged", "unjudged broken"]
"""What becomes of an output: it keeps all rules; a check breaks it; the judge breaks it; the judge talks nonsense of
it; it is cut off; a deadline comes before it, before its judge, or before its judge where a check broke it already."""

Fates = Callable[[str, int, int], Fate]
"""Of a model, a case by its number, and a repeat."""

Cells = dict[tuple[str, int, int], Fate]
"""The fates of a run as a table: model, case by its number, repeat."""

JUDGE = "fake/judge"
TASTE = "taste"
"""The rule that a judge decides."""

WORDS: Mapping[Fate, str] = {
    "kept": "plainword",
    "broken": "plainword BREAKS",
    "judged broken": "slyword",
    "open": "murkyword",
    "unjudged": "lateword",
    "unjudged broken": "lateword BREAKS",
}
SCORES: Mapping[Fate, bool | None] = {"kept": True, "broken": False, "judged broken": False, "open": None, "cut": None}
"""Whether an output that was asked for keeps its rules, as far as that is known."""


def rules(count: int, *, judged: bool) -> tuple[Rule, ...]:
    """``count`` rules that code decides, and one for the judge."""
    made = [
        Rule(id=f"r{n}", rule=f"Keeps {n}.", checks=(Check(kind="not-contains", value=f"BREAKS r{n} "),))
        for n in range(1, count + 1)
    ]
    return (*made, Rule(id=TASTE, rule="Is tasteful.")) if judged else tuple(made)


def cases(count: int, aims: int, *, inverses: bool = False, baseline: bool = False) -> tuple[Case, ...]:
    """``count`` cases aimed at ``aims`` rules in turn, with ``inverses`` at each rule and at its inverse in turn."""
    made = []
    for n in range(count):
        aim = n % (2 * aims if inverses else aims)
        made.append(
            Case(
                id=f"c{n}",
                rule=None if baseline else f"r{aim % aims + 1}",
                inverse=aim >= aims,
                inputs={"thing": f"<c{n}>"},
                origin="added",
            )
        )
    return tuple(made)


def breaks(case: Case) -> str:
    """What an output holds that breaks the rule its case aims at."""
    return f"BREAKS {case.rule or 'r1'} "


class World:
    """Answers as the models under test and as the judge."""

    def __init__(self, suite: Suite, fates: Fates) -> None:
        self.cases = {case.id: (number, case) for number, case in enumerate(suite.cases)}
        self.fates = fates

    def __call__(self, request: Request) -> str | Completion | Exception:
        text = asked(request)
        if request.model.startswith("fake/judge"):
            return verdict_on(text)
        marker = re.search(r"<(c\d+)>", text)
        assert marker is not None
        number, case = self.cases[marker[1]]
        fate = self.fates(request.model.removeprefix("fake/"), number, request.repeat)
        return answer(fate, case, f"{request.model} {case.id} {request.repeat}")


def answer(fate: Fate, case: Case, about: str) -> str | Completion | Exception:
    """A model's answer that comes to this fate; no two are alike."""
    if fate == "unasked":
        return DeadlinePassed("the time of the run is over")
    if fate == "cut":
        return Completion(text=f"half {about}", finish_reason="length", latency_ms=10.0)
    text = WORDS[fate].replace("BREAKS", breaks(case))
    return Completion(text=f"{text} {about}", finish_reason="stop", latency_ms=10.0)


def verdict_on(text: str) -> str | Exception:
    """The judge's reply about an output."""
    if "murkyword" in text:
        return "I would rather talk about something else."
    if "lateword" in text:
        return DeadlinePassed("the time of the run is over")
    verdict = "fail" if "slyword" in text else "pass"
    return json.dumps({TASTE: {"reason": "as it is", "verdict": verdict}})


def ran(
    folder: Path,
    models: Sequence[str],
    made: Sequence[Case],
    fates: Fates,
    *,
    aims: int = 16,
    judge: bool = True,
    **settings: Any,
) -> Run:
    """A run through the public API; ``fates`` is given the models' names without ``fake/``."""
    prompt, spec, suite = material(made, aims, judge=judge)
    given = {"store": str(folder / "store.db"), "max_attempts": 1, **settings}
    return promptpex.run(
        prompt,
        spec,
        suite,
        models=[f"fake/{model}" for model in models],
        judge=JUDGE if judge else "none",
        client=promptpex.FakeClient(World(suite, fates)),
        **given,
    )


def material(made: Sequence[Case], aims: int, *, judge: bool) -> tuple[Prompt, Spec, Suite]:
    """The prompt, the spec and the suite of these cases."""
    prompt = parse("Say something of {{thing}}.", "p.md")
    spec = Spec(prompt="p.md", intent="Say something.", rules=rules(aims, judged=judge))
    return prompt, spec, Suite(prompt="p.md", cases=tuple(made))


def simulated(
    models: Sequence[str],
    made: Sequence[Case],
    fates: Fates,
    *,
    aims: int = 16,
    judge: bool = True,
    repeats: int = 1,
    **settings: Any,
) -> Run:
    """The run that ``ran`` would give, put together from records without asking anything."""
    prompt, spec, suite = material(made, aims, judge=judge)
    labels = tuple(f"fake/{model}" for model in models)
    outputs, verdicts = list[Output](), list[Verdict]()
    for model, label in zip(models, labels, strict=True):
        for repeat in range(repeats):
            for number, case in enumerate(made):
                output, of_output = _record(case, label, repeat, fates(model, number, repeat), judge)
                outputs.append(output)
                verdicts += of_output
    manifest = Manifest(
        run="r",
        prompt="p",
        prompt_fingerprint="f",
        spec_digest="s",
        suite_digest="c",
        models=labels,
        judges=(JUDGE,) if judge else (),
        settings={"repeats": repeats, **settings},
    )
    return Run(
        manifest=manifest, prompt=prompt, spec=spec, suite=suite, outputs=tuple(outputs), verdicts=tuple(verdicts)
    )


def _record(case: Case, label: str, repeat: int, fate: Fate, judge: bool) -> tuple[Output, list[Verdict]]:
    key: dict[str, Any] = {"case": case.id, "model": label, "repeat": repeat}
    error = {"cut": "truncated", "unasked": "deadline"}.get(fate)
    text = None if fate == "unasked" else "half" if fate == "cut" else WORDS[fate]
    waited = None if fate == "unasked" else 10.0
    output = Output(**key, text=text, error=error, latency_ms=waited)
    aim = case.rule or "r1"
    if error is not None:
        names = [aim, TASTE] if judge else [aim]
        return output, [Verdict(**key, rule=rule, status="unscored", unscored=error, source="none") for rule in names]
    broken = fate in ("broken", "unjudged broken")
    checked = [Verdict(**key, rule=aim, status="fail" if broken else "pass", source="check:not-contains")]
    if not judge:
        return output, checked
    lost = {"open": "judge-malformed", "unjudged": "judge-deadline", "unjudged broken": "judge-deadline"}.get(fate)
    status = "unscored" if lost else "fail" if fate == "judged broken" else "pass"
    return output, [
        *checked,
        Verdict.model_validate({**key, "rule": TASTE, "status": status, "unscored": lost, "source": f"judge:{JUDGE}"}),
    ]


def table(fates: Mapping[tuple[str, int, int], Fate]) -> Fates:
    """Fates as a table of them has them."""
    return lambda model, case, repeat: fates[model, case, repeat]


def completions(fates: Cells) -> Iterator[Cells]:
    """Every way in which what is open could have come out."""
    lost = [key for key, fate in fates.items() if fate in ("open", "cut")]
    ways: tuple[Fate, ...] = ("kept", "broken")
    for chosen in product(ways, repeat=len(lost)):
        yield {**fates, **dict(zip(lost, chosen, strict=True))}


def by(table: Mapping[str, Callable[[int, int], Fate]]) -> Fates:
    """Fates by a function for each model."""
    return lambda model, case, repeat: table[model](case, repeat)


def first(broken: int, else_: Fate = "kept", fate: Fate = "broken") -> Callable[[int, int], Fate]:
    """The first so many cases have one fate in all repeats, the others another."""
    return lambda case, repeat: fate if case < broken else else_


def rows_of(summary: Summary) -> dict[str, dict[str, Any]]:
    """The table of models by name, without ``fake/``."""
    return {row["model"].removeprefix("fake/"): row for row in records(summary.models)}


def summed(run: Run, **view: Any) -> tuple[Summary, dict[str, dict[str, Any]]]:
    """The summary of a run and its table of models by name."""
    summary = summarise(run, **view)
    return summary, rows_of(summary)


def counts(**broken: Any) -> Counted:
    """What ``tables.counted`` makes of ``frame``, without the table: what thousands of decisions are simulated with.

    Args:
        broken: as of ``frame``; every output is scored.
    """
    shaped = [np.asarray(marks).reshape(len(marks), -1) for marks in broken.values()]
    failed = np.stack([marks.sum(axis=1) for marks in shaped]).astype(np.int64)
    kept = np.stack([np.full(len(marks), marks.shape[1]) for marks in shaped]) - failed
    grid = Grid((*broken,), failed, kept, np.zeros_like(failed), np.ones(failed.shape[1], dtype=np.int64))
    answered = {model: marks.size for model, marks in zip(broken, shaped, strict=True)}
    return Counted(asked=grid, usable=grid, not_asked=dict.fromkeys(broken, 0), answered=answered)


def frame(**broken: Any) -> pd.DataFrame:
    """A table of outputs as far as places need one, from what each model breaks: cases x repeats, or cases."""
    shaped = {model: np.asarray(marks).reshape(len(marks), -1) for model, marks in broken.items()}
    numbers = [np.indices(marks.shape).reshape(2, -1) for marks in shaped.values()]
    case, repeat = np.concatenate(numbers, axis=1)
    failed = np.concatenate([marks.ravel() for marks in shaped.values()])
    return pd.DataFrame(
        {
            "model": pd.array(np.repeat([*shaped], [marks.size for marks in shaped.values()]).tolist(), "string"),
            "case": pd.array([str(number) for number in case.tolist()], "string"),
            "repeat": pd.array(repeat, "Int64"),
            "verdict": pd.array(np.where(failed, "fail", "pass").tolist(), "string"),
        }
    )
