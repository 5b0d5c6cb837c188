"""``promptpex run``: the main job."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from promptpex.cli import options


@click.command("run")
@options.PROMPT
@options.models
@options.author
@options.judge
@options.files
@options.generation
@options.sampling
@options.asking
@options.standing
@click.option(
    "--until-decided",
    is_flag=True,
    default=None,
    help="Look at a growing part of the suite, and stop asking a model once its place is shown.",
)
@click.option("--limit", help="With --until-decided: stop once a model is above or below this non-compliance: 10%.")
@click.option("--fail-over", metavar="SHARE", help="Exit 1 if any model's non-compliance is above this: 10% or 0.1.")
@options.missing
@options.config
@options.listening
def command(prompt: Path, spec: Path | None, cases: Path | None, as_json: bool, **flags: Any) -> int:
    """Run a prompt's suite on models, judge every answer, and report.

    A spec and cases that are missing are extracted and generated first. The same command again asks only what is
    missing: every reply is kept in the store before it is used.

    Exit code 3 when a model or a judge that was asked gave nothing that could be used.

    \b
    Examples:
      promptpex run prompt.md --models gpt-4o-mini,llama3.2:1b
      promptpex run prompt.md --models openai/my-model --api-base http://127.0.0.1:8080/v1
      promptpex run prompt.md --models embedded/smollm2-135m
    """
    from promptpex.cli.output import exit_code, show_run
    from promptpex.cli.problems import all_told
    from promptpex.cli.runner import work
    from promptpex.workflow.project import files_of, refuse_missing, run

    refuse_missing(spec, cases)
    files = files_of(prompt, spec=spec, suite=cases)
    with all_told(prompt, spec, cases):
        finished, folder, totals, stopped = work(flags, _job(run, files), start=prompt.parent)
    summary = show_run(finished, folder, as_json=as_json, totals=totals)
    made = finished.manifest.settings
    return exit_code(summary, stopped=stopped, fail_over=made["fail_over"], allow_missing=made["allow_missing_models"])


def _job(run: Any, files: Any) -> Any:
    async def job(session: Any) -> Any:
        finished, folder = await run(session, files)
        return finished, folder, asdict(session.meter.total), session.client.stopped

    return job
