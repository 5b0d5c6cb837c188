"""Running and judging a prompt's files, from reading them to writing the run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptpex.cases.file import read_suite, usable_cases
from promptpex.cases.input_specs import unusable_schemas
from promptpex.core.errors import SuiteError
from promptpex.core.events import Notice
from promptpex.core.records import Manifest, Metric, ModelName, PartOfSuite, Prompt, Run, Spec, Suite
from promptpex.core.translation import stored
from promptpex.documents.schema_ref import keep_schema
from promptpex.report import runs
from promptpex.tables import check_weights
from promptpex.workflow.estimate import (
    EstimateLine,
    estimate,
    number_of_cases,
)
from promptpex.workflow.execution import run_records
from promptpex.workflow.execution.judge_examples import take_judge_examples
from promptpex.workflow.execution.judges import require_judge
from promptpex.workflow.execution.run_into_folder import execute_into_folder
from promptpex.workflow.execution.subset import WHOLE, FailedCases, Subset, failed_cases, part_of
from promptpex.workflow.front_matter import announce_overruled, take_own_model
from promptpex.workflow.importing.embedded_tests import first_suite
from promptpex.workflow.metrics import announce_requests, metrics_of, metrics_to_score
from promptpex.workflow.peoples_grades import prompt_file_of, with_calibrations_of_now
from promptpex.workflow.preconditions import (
    announce_effort,
    require_answers_within_tpm,
    require_checker,
    require_decidable,
    require_expected,
    require_grades_to_rank,
    require_judges_of_expected,
    require_prices,
    require_ranked_metric,
    warn_about_changed_prompt,
    warn_about_orphans,
    warn_about_unusable_expected,
    without_narrow_conditions,
)
from promptpex.workflow.project_files import Files, read_existing, read_prompt
from promptpex.workflow.session import Session
from promptpex.workflow.statistical_power import detectable
from promptpex.workflow.validation.spec_problems import read_for_prompt


async def run(
    session: Session, files: Files, subset: Subset = WHOLE, *, name: str | None = None
) -> tuple[Run, Path | None]:
    """The main job: extracts and generates what is missing, collects, judges, and writes the run's folder.

    What is given is as ``execute_into_folder`` gives it.

    Args:
        subset: which cases to keep to; those of a part have a folder of their own.
        name: of the run, for those who refer to it later.
    """
    return await execute_into_folder(session, await begin_run(session, files, subset, name=name))


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """What is known of a run once nothing keeps it from asking; spec and suite as far as they exist."""

    prompt: Prompt
    spec: Spec | None
    suite: Suite | None
    failed: FailedCases | None
    metrics: tuple[Metric, ...]
    author: ModelName | None


def needs_author(files: Files) -> bool:
    return not (files.spec.exists() and files.suite.exists())


def check_run(session: Session, files: Files, subset: Subset = WHOLE) -> CheckedRun:
    """Reads the files of a run, and holds them against the settings as far as that is possible before the author is
    asked."""
    prompt = read_prompt(session, files.prompt)
    take_own_model(session, prompt)
    require_decidable(session)
    announce_overruled(session, prompt)
    failed = _failed(session, prompt, subset)
    metrics = metrics_of(session, prompt)
    require_ranked_metric(session, metrics)
    require_grades_to_rank(session, files.prompt)
    spec, suite = read_existing(prompt, files)
    require_judge(session, prompt, spec, suite, metrics)
    if not files.spec.exists():
        require_checker(session)
    if not files.suite.exists():
        require_judges_of_expected(session)
        from promptpex.workflow.generating import generation

        generation(session, prompt)
        require_expected(session.settings.rank_by, ())
    author = session.roles.author().model if needs_author(files) else None
    models, judges = session.roles.models(), session.roles.named_judges()
    require_prices(session, [*models, *judges, *([author] if author else [])])
    if author:
        require_answers_within_tpm(session, [author, *judges], models)
    return CheckedRun(prompt, spec, suite, failed, tuple(metrics), author)


async def begin_run(session: Session, files: Files, subset: Subset = WHOLE, *, name: str | None = None) -> Run:
    """The run before its first output; what is missing is extracted and generated."""
    checked = check_run(session, files, subset)
    prompt = checked.prompt
    for file in (files.prompt, files.spec, files.suite):
        keep_schema(file)
    if session.settings.effort:
        announce_effort(session, await estimate(session, prompt, checked.spec, checked.suite))
    spec, whole = await _spec_and_suite(session, files, checked)
    spec = without_narrow_conditions(session, spec, whole)
    suite, part = _part_of(session, whole, spec, subset, checked.failed)
    if part is not None:
        session.emit(Notice(stored("{cases} of {of} cases: {words}", cases=part.cases, of=part.of, words=part.words)))
    if part is None or part.failed_in is None:
        session.emit(Notice.of(lambda: detectable(session, prompt.name, len(suite.usable()))))
    take_judge_examples(session, files.prompt, prompt, spec)
    author = checked.author.label if checked.author else None
    begun = await run_records.begin(session, prompt, spec, suite, author=author, metrics=checked.metrics, subset=part)
    return begun.replace(manifest=begun.manifest.replace(name=name))


async def estimate_files(session: Session, files: Files, subset: Subset = WHOLE) -> tuple[list[EstimateLine], str]:
    """What ``run`` would ask and what it would cost, and what it can show at best; nothing is sent or written."""
    session.roles.estimating = True
    prompt = read_prompt(session, files.prompt)
    take_own_model(session, prompt)
    failed = _failed(session, prompt, subset)
    spec, suite = read_existing(prompt, files)
    if spec is not None and suite is not None:
        suite, _ = _part_of(session, suite, spec, subset, failed)
    elif not subset.is_whole:
        raise SuiteError("there are no cases to choose from yet; make some with `promptpex generate`", path=files.suite)
    if spec is not None:
        take_judge_examples(session, files.prompt, prompt, spec)
    cases = number_of_cases(session, prompt, spec, suite)
    return await estimate(session, prompt, spec, suite), detectable(session, prompt.name, cases, guessed=suite is None)


async def judge(session: Session, folder: Path, *, spec: Path | None = None) -> Manifest:
    """Judges the outputs of a run again, by its own spec or another, and rewrites the folder; the new manifest."""
    run_read = runs.read_inputs(folder)
    with runs.RunRecords(folder) as records:
        records.outputs.put_each(runs.outputs_of(folder))
        return await _judge(session, folder, run_read, records, spec)


async def _judge(
    session: Session, folder: Path, run_read: Run, records: runs.RunRecords, spec: Path | None
) -> Manifest:
    anew = metrics_to_score(session, run_read)
    require_ranked_metric(session, run_read.metrics)
    if anew != run_read.metrics:
        run_read = run_read.replace(scores=runs.read_scores(folder))
    judges = session.roles.named_judges()
    require_prices(session, judges)
    require_answers_within_tpm(session, judges)
    announce_requests(session, anew, len(records.outputs))
    if spec is not None:
        run_read = run_read.replace(spec=read_for_prompt(spec, run_read.prompt))
    elif session.settings.min_agreement is not None:
        run_read = with_calibrations_of_now(run_read, session.emit)
    take_judge_examples(session, prompt_file_of(run_read), run_read.prompt, run_read.spec)
    manifest = await run_records.judge_records(session, run_read, records, range(len(records.outputs)))
    runs.finish(folder, run_read.replace(manifest=manifest), records)
    _tell_of_replaced(session, run_read.manifest, manifest)
    run_records.warn_about_self_preference(session, manifest)
    return manifest


def _failed(session: Session, prompt: Prompt, subset: Subset) -> FailedCases | None:
    """What failed last, where that is asked for: before anything is paid."""
    if not subset.only_failed:
        return None
    return failed_cases(Path(session.settings.results), prompt.name, lambda text: session.emit(Notice(text)))


def _part_of(
    session: Session, suite: Suite, spec: Spec, subset: Subset, failed: FailedCases | None
) -> tuple[Suite, PartOfSuite | None]:
    rules = [rule.id for rule in spec.rules]
    return part_of(suite, subset, rules=rules, seed=session.settings.seed, failed=failed)


def _tell_of_replaced(session: Session, before: Manifest, after: Manifest) -> None:
    """Says so where verdicts of one judge mode took the place of another's."""
    modes = [manifest.settings.get("judge_mode") for manifest in (before, after)]
    if before.judges and after.judges and modes[0] is not None and modes[0] != modes[1]:
        message = stored(
            "the verdicts in the mode {before} that this run had are replaced by those in the mode {after}; {option} "
            "brings them back from the store",
            before=repr(modes[0]),
            after=repr(modes[1]),
            option=f"--judge-mode {modes[0]}",
        )
        session.emit(Notice(message))


async def _spec_and_suite(session: Session, files: Files, checked: CheckedRun) -> tuple[Spec, Suite]:
    """The spec and the suite of a run, written first where they are missing, with warnings about what does not fit."""
    prompt, spec, suite = checked.prompt, checked.spec, checked.suite
    if spec is None:
        from promptpex.workflow import authoring

        await authoring.write_missing_spec(session, prompt, files)
        spec = read_for_prompt(files.spec, prompt)
    for message in unusable_schemas(spec.inputs).values():
        session.emit(Notice(f"{files.spec.name}: {message}", "warning"))
    if checked.spec is not None:
        warn_about_changed_prompt(session, prompt, spec, files)
    if not files.suite.exists():
        from promptpex.workflow import authoring

        await authoring.write_cases(session, files, prompt, spec, first_suite(prompt, files.prompt.name))
        spec = read_for_prompt(files.spec, prompt)  # conditions that exclude a case of their rule are gone
    suite = suite or read_suite(files.suite, spec, prompt)
    warn_about_orphans(session, spec, suite)
    warn_about_unusable_expected(session, suite)
    usable = usable_cases(suite, files.suite)
    check_weights(session.settings.weights, [case.rule for case in usable], [case.inverse for case in usable])
    require_expected(session.settings.rank_by, usable)
    return spec, suite
