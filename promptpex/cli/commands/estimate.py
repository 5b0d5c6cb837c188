"""``promptpex estimate``: calls, tokens and price before anything is paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.controls import visible

if TYPE_CHECKING:
    from promptpex.workflow.estimate import EstimateLine


@click.command("estimate", cls=Command)
@options.PROMPT
@options.models
@options.author
@options.judge_options
@options.judged_by_people
@options.subset
@options.generation
@options.extraction
@options.sampling
@options.api_base
@options.seed
@options.tolerance
@options.confidence
@options.prompt_files
@options.results
@options.store_for_experts
@options.fresh
@options.settings_options
@options.session_output_options
def command(prompt: Path, spec: Path | None, cases: Path | None, as_json: bool, **flags: Any) -> int:
    """Show what `run` would ask and cost; nothing is sent.

    Also says what the suite can show at best. Answers in the store cost nothing and are counted separately.
    Tokens are estimates; a price that is not known is "unknown", never 0: give it in the settings under
    [prices."MODEL"].
    """
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.workflow.files import files_of, require_files
    from promptpex.workflow.pipeline import estimate_files

    subset = options.subset_of(flags)
    require_files(spec, cases)
    files = files_of(prompt, spec=spec, suite=cases)

    async def job(session: Any) -> tuple[list[EstimateLine], str]:
        return await estimate_files(session, files, subset)

    lines, best = work(flags, job, start=prompt.parent)
    if as_json:
        print_json([asdict(line) for line in lines])
    else:
        show(lines)
    say(best, err=as_json)
    return 0


def show(lines: Sequence[EstimateLine]) -> None:
    """Prints a table of what would be asked, and its sum; the column of the store only where it holds something."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from promptpex.report.terminal import clean, money

    stored = any(line.stored for line in lines)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("model", overflow="fold")
    for name in ("calls", *(("stored",) if stored else ()), "tokens in", "tokens out", "price"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        calls = str(line.calls) if line.exact else f"about {line.calls}"
        tokens = (f"{line.tokens_in:,}", f"{line.tokens_out:,}")
        cells = (calls, *((str(line.stored),) if stored else ()), *tokens, money(line.cost_usd))
        table.add_row(line.stage, Text(clean(line.model, 60)), *cells)
    console = Console()
    console.print(table)
    from promptpex.workflow.estimate import again_in_words, total_in_words

    for sentence in (total_in_words(lines), again_in_words(lines)):
        if sentence:
            console.print(visible(sentence), highlight=False, markup=False, emoji=False)
