"""Runs in a results folder, for the pages that show them."""

from __future__ import annotations

from pathlib import Path

from promptpex.config import load
from promptpex.core.records import Message, Run
from promptpex.report import runs, summarise
from promptpex.report.files import write
from promptpex.web.interfaces import Ports
from promptpex.workflow.comparison.compare_runs import ComparisonsOfRuns
from promptpex.workflow.peoples_grades import GradesOfRuns
from tests.tables.by_hand import colours, output, run, verdict


def store(made: Run, results: Path, *, folder: str = "", report: bool = True) -> Path:
    """Keeps a run in ``results/PROMPT/RUN``, with its report unless not wanted; its folder."""
    place = results / folder if folder else runs.folder_for(results, made.manifest.prompt, made.manifest.run)
    runs.finish(place, made)
    if report:
        write(summarise(runs.read_for_report(place), folder=place), place)
    return place


def with_comparisons(results: Path, **settings: object) -> Ports:
    """What ``view`` shows of a results folder, compared as these settings say."""
    grades, resolved = GradesOfRuns(), load(settings, start=results, env={})
    return Ports(results, comparing=ComparisonsOfRuns(resolved, grades), grades=grades)


def named_run(name: str, created: str, made: Run | None = None) -> Run:
    """A run with this id and date; by default of colours."""
    known = made or colours()
    return known.replace(manifest=known.manifest.replace(run=name, created=created))


def hostile_run(texts: tuple[str, ...], name: str, *, broken: bool) -> Run:
    """A run whose prompt, outputs, reasons, notices and labels are these texts: one case for each."""
    outputs, verdicts = [], []
    cases = [case for case in colours().suite.cases[:1] for _ in texts]
    cases = [
        case.replace(id=f"c{at}", inputs={"thing": text})
        for at, (case, text) in enumerate(zip(cases, texts, strict=True))
    ]
    for at, text in enumerate(texts):
        outputs.append(output(f"c{at}", "m", text))
        status = "fail" if broken else "pass"
        verdicts.append(verdict(status, "r1", f"c{at}", "m", reason=text, source=f"judge:{texts[at % 3]}"))
    made = run(
        outputs, verdicts, cases=tuple(cases), name=texts[0], judges=texts[:3], notices=texts, versions={"x": texts[1]}
    )
    made = made.replace(
        prompt=made.prompt.replace(messages=tuple(Message(role="user", content=text) for text in texts))
    )
    return named_run(name, "2026-01-02T03:04:05Z", made)
