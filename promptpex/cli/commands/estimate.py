"""``promptpex estimate``: calls, tokens and price before anything is paid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import paragraph, say

if TYPE_CHECKING:
    from promptpex.report.terminal.fitted_table import Column
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
        say(best, err=True)
    else:
        show(lines)
        paragraph(best)
    return 0


def show(lines: Sequence[EstimateLine]) -> None:
    """Prints a table of what would be asked, and its sum; the column of the store only where it holds something, and
    what has no room is named."""
    from rich.console import Console

    from promptpex.report.terminal.fitted_table import fitted
    from promptpex.workflow.estimate import again_in_words, total_in_words

    console = Console()
    table, left_out = fitted("", _columns(lines), console.width)
    console.print(table)
    hidden = f"Hidden at this width: {', '.join(left_out)} (see --json)." if left_out else ""
    for sentence in (hidden, total_in_words(lines), again_in_words(lines)):
        if sentence:
            paragraph(sentence)


def _columns(lines: Sequence[EstimateLine]) -> list[Column]:
    """The columns of the table; tokens give way to the rest on a narrow terminal."""
    from promptpex.report.terminal import money, named
    from promptpex.report.terminal.fitted_table import Column

    calls = [str(line.calls) if line.exact else f"about {line.calls}" for line in lines]
    stored = Column("stored", [str(line.stored) for line in lines], 1)
    return [
        Column("model", [named(line.model) for line in lines]),
        Column("stage", [line.stage for line in lines]),
        Column("calls", calls),
        *([stored] if any(line.stored for line in lines) else []),
        Column("tokens in", [f"{line.tokens_in:,}" for line in lines], 2),
        Column("tokens out", [f"{line.tokens_out:,}" for line in lines], 3),
        Column("price", [money(line.cost_usd) for line in lines]),
    ]
