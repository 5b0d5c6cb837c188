"""``promptpex evaluate-paper``: PromptPex's own evaluation, with intervals and tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.core.translation import tr

if TYPE_CHECKING:
    from promptpex.paper.result_tables import Tables


@click.command("evaluate-paper", cls=Command)
@click.argument("prompts", nargs=-1, required=True, type=options.PATH)
@options.models
@options.author
@options.judging
@options.verdict_options
@options.of_cases(
    "--sample", type=options.COUNT, metavar="N", help="Use at most N cases of each suite, drawn by the seed."
)
@options.of_cases(
    "--baseline-cases",
    type=click.IntRange(1, 200),
    default=20,
    metavar="N",
    help="Cases to make from the prompt alone [20].",
)
@options.generation
@options.rounds
@options.extraction
@options.sampling
@options.request_options
@options.engine_options
@options.of_files("-o", "--out", type=options.PATH, metavar="DIR", help="Folder of the tables [RESULTS/evaluation].")
@options.results
@options.settings_options
@options.session_output_options
def command(
    prompts: tuple[Path, ...], sample: int | None, baseline_cases: int, out: Path | None, as_json: bool, **flags: Any
) -> int:
    """Evaluate specs and cases as the PromptPex paper does.

    Generated against baseline cases, rules against inverse rules, validity of cases, groundedness of rules,
    and agreement of the spec with its prompt. Specs and cases that are missing are made first. Tables go to
    OUT as CSV, shaped like the paper's Tables 2 and 3.
    """
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.paper.evaluation import evaluate
    from promptpex.tables import records
    from promptpex.workflow.project_files import files_of

    files = [files_of(prompt) for prompt in prompts]

    async def job(session: Any) -> Any:
        folder = out or Path(session.settings.results) / "evaluation"
        return folder, await evaluate(session, files, folder=folder, baseline=baseline_cases, sample=sample)

    folder, tables = work(flags, job, start=prompts[0].parent)
    if as_json:
        print_json({name: records(table) for name, table in tables.items()})
    else:
        _show(tables)
        say(tr("Tables in {folder}", folder=folder))
    return 0


def _show(tables: Tables) -> None:
    from rich.console import Console

    from promptpex.paper.report import tables_for_terminal

    console = Console()
    for table in tables_for_terminal(tables):
        console.print(table)
        console.print()
