"""``promptpex run``: the main job."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command


@click.command("run", cls=Command)
@options.PROMPT
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
@options.comparison_options
@options.of_statistics("--until-decided", is_flag=True, default=None, help="Stop asking a model once it is decided.")
@options.of_statistics("--decide-at", metavar="SHARE", expert=True, help="Decide instead whether it is above this.")
@options.of_statistics("--fail-over", metavar="SHARE", help="Exit 1 if a model's non-compliance is higher.")
@options.allow_missing_models
@options.prompt_files
@options.of_files("--name", metavar="NAME", expert=True, help="Name of the run, to refer to it by.")
@options.results
@options.settings_options
@options.full
@options.open_report
@options.session_output_options
def command(
    prompt: Path,
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
      promptpex run prompt.md -m openai/mine --api-base http://127.0.0.1:8080/v1
    \f
    A missing spec is extracted and missing cases are generated first. The same command again asks only for what is
    missing: every reply is stored before it is used.

    A partial run goes on in its folder; a complete one is kept, and --fresh makes another beside it. `promptpex runs`
    lists them.

    Shares are written as 10% or 0.1. Exit code 1 if --fail-over fails, 3 if a model, a judge or the
    script of a metric gave nothing usable.
    """
    from promptpex.cli.browser import open_report
    from promptpex.cli.command_session import all_problems, work
    from promptpex.cli.output import exit_code, show_run
    from promptpex.report.runs import checked_name
    from promptpex.report.terminal.ending import PAGE
    from promptpex.workflow.files import files_of, require_files
    from promptpex.workflow.pipeline import run

    chosen = options.subset_of(flags)
    named = None if name is None else checked_name(name)
    require_files(spec, cases)
    files = files_of(prompt, spec=spec, suite=cases)
    with all_problems(prompt, spec, cases):
        finished, folder, totals, stopped = work(flags, _job(run, files, chosen, named), start=prompt.parent)
    summary = show_run(finished, folder, as_json=as_json, totals=totals, prompt=files.prompt, full=full)
    if opened and not stopped:
        open_report(folder / PAGE)
    made = finished.manifest.settings
    return exit_code(summary, stopped=stopped, fail_over=made["fail_over"], allow_missing=made["allow_missing_models"])


def _job(run: Any, files: Any, subset: Any, name: str | None) -> Any:
    async def job(session: Any) -> Any:
        finished, folder = await run(session, files, subset, name=name)
        return finished, folder, asdict(session.meter.total), session.client.cancelled

    return job
