"""``promptpex run``, the main job, and ``promptpex judge``, new verdicts on answers that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command

if TYPE_CHECKING:
    from promptpex.workflow.execution.subset import Subset
    from promptpex.workflow.session import Session


@click.command("run", cls=Command)
@options.PROMPTS
@options.models
@options.author
@options.judge_options
@options.verdict_options
@options.judged_by_people
@options.subset
@options.generation
@options.rounds
@options.extraction
@options.sampling
@options.request_options
@options.engine_options
@options.comparison_options
@options.of_statistics(
    "--drop-worse", is_flag=True, default=None, help="Ask a model no further once it is shown to be worse."
)
@options.of_statistics("--fail-above", metavar="SHARE", help="Exit 1 if a model's non-compliance exceeds SHARE.")
@options.allow_missing_models
@options.prompt_files
@options.of_files("--name", metavar="NAME", expert=True, help="Name by which other commands know the run.")
@options.results
@options.settings_options
@options.full
@options.open_report
@options.session_output_options
def command(
    prompts: tuple[Path, ...],
    spec: Path | None,
    cases: Path | None,
    name: str | None,
    as_json: bool,
    full: bool,
    opened: bool,
    **flags: Any,
) -> int:
    """Run the cases on models, judge every output, and report.

    \b
      promptpex run prompt.md -m gpt-4o-mini,llama3.2:1b -j gpt-4o-mini
      promptpex run prompts/ 'more/*.md' -m gpt-4o-mini --max-cost 2
    \f
    A missing spec is extracted and missing cases are generated first. The same command again asks only for what is
    missing: every reply is stored before it is used.

    A folder stands for its prompts: files named prompt.* or with a spec or cases beside them. Several prompts are a
    batch: each has its own files and run, all share one budget and take turns, and one table and page has them all.

    A partial run continues in its folder; a complete one is kept, and --fresh makes another beside it. `promptpex runs`
    lists them.

    Shares are written as 10% or 0.1. Exit code 1 if --fail-above fails, 3 if a model, a judge or the
    script of a metric gave nothing usable; of several prompts the gravest: 2, then 3, then 1.
    """
    from promptpex.cli.run_ending import is_one_file, refuse_files_of_one
    from promptpex.report.runs import checked_name

    chosen = options.subset_of(flags)
    named = None if name is None else checked_name(name)
    if is_one_file(prompts):
        return _run_one(prompts[0], spec, cases, chosen, named, flags, as_json=as_json, full=full, opened=opened)
    refuse_files_of_one(spec=spec, cases=cases)
    return _run_several(prompts, chosen, named, flags, as_json=as_json, full=full, opened=opened)


def _run_one(
    prompt: Path,
    spec: Path | None,
    cases: Path | None,
    subset: Subset,
    name: str | None,
    flags: dict[str, Any],
    *,
    as_json: bool,
    full: bool,
    opened: bool,
) -> int:
    from promptpex.cli.browser import open_report
    from promptpex.cli.command_session import reporting_all_problems, work
    from promptpex.cli.run_ending import exit_code, show_run
    from promptpex.report.runs import read_for_report
    from promptpex.report.terminal.ending import PAGE
    from promptpex.workflow import pipeline
    from promptpex.workflow.project_files import named_files

    files = named_files(prompt, spec=spec, suite=cases)

    async def job(session: Session) -> Any:
        made, folder = await pipeline.run(session, files, subset, name=name)
        return made, folder, asdict(session.meter.total), session.client.cancelled

    with reporting_all_problems(prompt, spec, cases):
        run, folder, totals, stopped = work(flags, job, start=prompt.parent)
    if folder is not None:
        run = read_for_report(folder)
    summary = show_run(run, folder, as_json=as_json, totals=totals, prompt=prompt, full=full)
    if opened and not stopped and folder is not None:
        open_report(folder / PAGE)
    made_with = run.manifest.settings
    fail_above, allow_missing = made_with["fail_above"], made_with["allow_missing_models"]
    return exit_code(summary, stopped=stopped, fail_above=fail_above, allow_missing=allow_missing)


def _run_several(
    named: Sequence[Path],
    subset: Subset,
    name: str | None,
    flags: dict[str, Any],
    *,
    as_json: bool,
    full: bool,
    opened: bool,
) -> int:
    from promptpex.cli.browser import open_report
    from promptpex.cli.command_session import work
    from promptpex.cli.run_ending import batch_exit_code, ending_of, show_batch_report
    from promptpex.promptfile import common_folder, find_prompts
    from promptpex.report.batches.batch_files import INDEX
    from promptpex.workflow.batches.batch_reports import run_and_report

    prompts = find_prompts(named)
    start = common_folder(prompts)

    async def job(session: Session) -> Any:
        reported = await run_and_report(session, prompts, subset, start=start, name=name)
        return reported, session.settings, asdict(session.meter.total), session.client.cancelled

    batch, settings, totals, stopped = work(flags, job, start=start)
    show_batch_report(batch.report, ending_of(batch.report, totals), as_json=as_json, full=full, totals=totals)
    if opened and not stopped:
        open_report(batch.report.folder / INDEX)
    return batch_exit_code(
        batch, stopped=stopped, fail_above=settings.fail_above, allow_missing=settings.allow_missing_models
    )


@click.command("judge", cls=Command)
@options.RUN
@options.judge_options
@options.verdict_options
@options.judged_by_people
@options.of_files("--spec", type=options.PATH, metavar="FILE", help="Judge by this spec instead of that of the run.")
@options.request_options
@options.engine_options
@options.comparison_options
@options.allow_missing_models
@options.results
@options.settings_options
@options.full
@options.session_output_options
def judge_again(run: Path | None, spec: Path | None, as_json: bool, full: bool, **flags: Any) -> int:
    """Judge the outputs of a run again, without asking its models.

    RUN is a run's folder, id or name; by default the latest. Exit code 3 if a judge gave no usable verdict, or a
    model of the run no usable answer.
    """
    from promptpex.cli.command_session import work
    from promptpex.cli.run_ending import exit_code, show_run
    from promptpex.report.runs import read_for_report

    folder, totals, stopped, view, allowed = work(flags, lambda session: _again(session, run, spec))
    summary = show_run(read_for_report(folder), folder, as_json=as_json, totals=totals, view=view, full=full)
    return exit_code(summary, stopped=stopped, allow_missing=allowed)


async def _again(session: Any, named: Path | None, spec: Path | None) -> Any:
    from promptpex.cli.command_session import report_options
    from promptpex.report import runs
    from promptpex.workflow.pipeline import judge

    folder = runs.resolve(named, Path(session.settings.results))
    manifest = await judge(session, folder, spec=spec)
    totals, view = asdict(session.meter.total), report_options(session.resolved)
    allowed = session.settings.allow_missing_models or bool(manifest.settings.get("allow_missing_models"))
    return folder, totals, session.client.cancelled, view, allowed
