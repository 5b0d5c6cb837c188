"""``promptpex bench``: PromptPex's own evaluation, with intervals and tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.sanitize import say

if TYPE_CHECKING:
    from promptpex.paper.result_tables import Tables


@click.command("bench")
@click.argument("prompts", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.models
@options.author
@options.judge
@click.option("--sample", type=click.IntRange(1), metavar="N", help="At most N cases of each suite, drawn by the seed.")
@click.option("--baseline", type=click.IntRange(1, 200), default=20, show_default=True, help="Baseline cases to make.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the tables [RESULTS/bench].")
@options.generation
@options.sampling
@options.asking
@options.config
@options.listening
def command(
    prompts: tuple[Path, ...], sample: int | None, baseline: int, out: Path | None, as_json: bool, **flags: Any
) -> int:
    """Evaluate specs and suites as the PromptPex paper does: generated against baseline cases, rules against inverse
    rules, validity of cases, groundedness of rules, and agreement of the spec with its prompt.

    Specs and cases that are missing are made first. Tables go to OUT as CSV, shaped like the paper's Tables 2 and 3.
    """
    from promptpex.cli.output import print_json
    from promptpex.cli.runner import work
    from promptpex.paper.evaluation import evaluate
    from promptpex.report.summary import records
    from promptpex.workflow.project import files_of

    files = [files_of(prompt) for prompt in prompts]

    async def job(session: Any) -> Any:
        folder = out or Path(session.settings.results_dir) / "bench"
        return folder, await evaluate(session, files, folder=folder, baseline=baseline, sample=sample)

    folder, tables = work(flags, job, start=prompts[0].parent)
    if as_json:
        print_json({name: records(table) for name, table in tables.items()})
    else:
        _show(tables)
        say(f"Tables in {folder}")
    return 0


def _show(tables: Tables) -> None:
    from rich.console import Console

    from promptpex.paper.report import tables_for_terminal

    console = Console()
    for table in tables_for_terminal(tables):
        console.print(table)
