"""PromptPex's own evaluation on files: prompts with their specs and suites in, tables out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.reproduce import averages, tables
from benchmarks.reproduce.baseline import baseline as made_baseline
from benchmarks.reproduce.prompt_evaluation import Evaluation, evaluate_prompt
from benchmarks.reproduce.tables import Tables
from promptpex.cases.file import read_suite, write_suite
from promptpex.codecs.files.atomic import write_text
from promptpex.core.errors import ModelError, Stopped
from promptpex.core.events import Notice
from promptpex.core.records import Prompt, Spec, Suite
from promptpex.report import runs
from promptpex.report.files import csv_text
from promptpex.specs.file import read_spec
from promptpex.tables import outputs
from promptpex.workflow import authoring
from promptpex.workflow.execution.judges import require_judge
from promptpex.workflow.preconditions import raise_if_cancelled
from promptpex.workflow.project_files import Files, read_existing, read_prompt
from promptpex.workflow.session import Session

BASELINE = "baseline.yaml"
"""The baseline suite of a prompt, in its folder of the results."""


async def evaluate(
    session: Session, all_files: Sequence[Files], *, folder: Path, baseline: int, sample: int | None
) -> Tables:
    """Evaluates each prompt, making the spec, suite or baseline that is missing, and writes tables into ``folder``.

    Gives ``table2``, ``table3``, ``agreement``, ``shares`` and ``failed`` (``benchmarks.reproduce.tables``), and over
    all prompts ``averages`` and ``spec_agreement`` (``benchmarks.reproduce.averages``); ``folder`` has each as CSV and,
    for each prompt, its baseline suite and the folders of its runs.

    A prompt for which a model fails is named in a notice and in ``failed``; the tables of the others are made.

    Raises:
        ModelError: a model failed for every prompt; the first failure.
    """
    evaluations: list[tuple[str, Evaluation]] = []
    failures: list[tuple[str, ModelError]] = []
    prompts = [read_prompt(session, files.prompt) for files in all_files]
    for prompt, files in zip(prompts, all_files, strict=True):
        require_judge(session, prompt, *read_existing(prompt, files))
    for prompt, files in zip(prompts, all_files, strict=True):
        try:
            evaluations.append((prompt.name, await _one(session, prompt, files, folder, baseline, sample)))
        except Stopped:
            raise
        except ModelError as error:
            failures.append((prompt.name, error))
            session.emit(Notice(f"{prompt.name} is not evaluated: {error}", "warning"))
        write_tables(folder, tabled(evaluations, failures))
    if failures and not evaluations:
        raise failures[0][1]
    return tabled(evaluations, failures)


async def _one(
    session: Session, prompt: Prompt, files: Files, folder: Path, baseline: int, sample: int | None
) -> Evaluation:
    spec, suite = await _material(session, prompt, files)
    place = runs.folder_for(folder, prompt.name, BASELINE)
    base = await _baseline(session, files, prompt, place, baseline)
    evaluation = await evaluate_prompt(session, prompt, spec, suite, base, sample=sample)
    raise_if_cancelled(session)
    for name, run in (("prompt", evaluation.run), ("spec", evaluation.by_spec)):
        if run is not None:
            runs.finish(place.parent / name, run)
    return evaluation


def tabled(evaluations: Sequence[tuple[str, Evaluation]], failures: Sequence[tuple[str, ModelError]] = ()) -> Tables:
    """The tables of several evaluations, and of those that failed, by the prompts' names."""
    agreements = [tables.agreement_with_spec(name, one.run, one.by_spec, one.cosines) for name, one in evaluations]
    contrasts = {
        "table2": tables.stacked([tables.suites(name, one.run) for name, one in evaluations], tables.CONTRAST_COLUMNS),
        "table3": tables.stacked([tables.sides(name, one.run) for name, one in evaluations], tables.CONTRAST_COLUMNS),
    }
    agreement = tables.stacked(agreements, tables.AGREEMENT_COLUMNS)
    return {
        **contrasts,
        "averages": averages.averages(contrasts),
        "agreement": agreement,
        "spec_agreement": averages.spec_agreement(agreement),
        "shares": tables.shares([row for name, one in evaluations for row in _shares(name, one)]),
        "failed": tables.failed([(name, error.reason, str(error)) for name, error in failures]),
    }


def write_tables(folder: Path, made: Tables) -> None:
    """Writes each as CSV, by its name."""
    for name, table in made.items():
        write_text(folder / f"{name}.csv", csv_text(table), links=False)


async def _material(session: Session, prompt: Prompt, files: Files) -> tuple[Spec, Suite]:
    if not files.spec.exists():
        await authoring.extract(session, files)
    if not files.suite.exists():
        await authoring.generate(session, files)
    spec = read_spec(files.spec)
    return spec, read_suite(files.suite, spec, prompt)


async def _baseline(session: Session, files: Files, prompt: Prompt, place: Path, count: int) -> Suite:
    existing = _existing_baseline(place, prompt)
    if existing is not None:
        return existing
    author = session.roles.author()
    baseline_suite = await made_baseline(author, prompt, suite_for=files.prompt.name, count=count, emit=session.emit)
    _write_baseline(place, baseline_suite)
    return baseline_suite


def _existing_baseline(place: Path, prompt: Prompt) -> Suite | None:
    return read_suite(place, None, prompt) if place.exists() else None


def _write_baseline(place: Path, suite: Suite) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    write_suite(place, suite)


def _shares(name: str, one: Evaluation) -> list[dict[str, object]]:
    answer = {"valid": True, "invalid": False, "yes": True, "no": False}
    generated_cases = {case.id: case.rule is not None for case in one.run.suite.cases}
    rows: list[dict[str, object]] = []
    for what, generated in (("generated cases valid", True), ("baseline cases valid", False)):
        answers = [answer.get(each.status) for each in one.validity if generated_cases[each.case] == generated]
        rows.append(tables.share(name, what, answers))
    rows.append(tables.share(name, "rules grounded", [answer.get(each.status) for each in one.groundedness]))
    rows.append(tables.share(name, "broken outputs of valid cases", _valid_among_broken(one, answer)))
    return rows


def _valid_among_broken(one: Evaluation, answer: Mapping[str, bool]) -> list[bool | None]:
    """Of each output of a generated case that breaks a rule, whether its case is valid (the paper's RQ3)."""
    valid = {each.case: answer.get(each.status) for each in one.validity}
    rows = outputs(one.run)
    broken = rows[rows["verdict"].eq("fail") & rows["rule"].notna()]
    return [valid.get(case) for case in broken["case"]]
