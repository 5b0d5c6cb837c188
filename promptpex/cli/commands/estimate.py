"""``promptpex estimate``: calls, tokens and price before anything is paid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import paragraph, say
from promptpex.core.translation import Key, digits, tr

if TYPE_CHECKING:
    from promptpex.report.terminal.fitted_table import Column
    from promptpex.workflow.estimate import EstimateLine
    from promptpex.workflow.execution.subset import Subset
    from promptpex.workflow.session import Session


@click.command("estimate", cls=Command)
@options.PROMPTS
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
@options.confidence
@options.prompt_files
@options.results
@options.store_for_experts
@options.fresh
@options.settings_options
@options.session_output_options
def command(prompts: tuple[Path, ...], spec: Path | None, cases: Path | None, as_json: bool, **flags: Any) -> int:
    """Show what `run` would ask and cost; nothing is sent.

    Also says which differences the suite will probably show. Answers in the store cost nothing and are counted
    separately. Tokens are estimates; a price that is not known is "unknown", never 0: give it in the settings under
    [prices."MODEL"]. Of several prompts, or a folder of them, it is a line for each and one sum.
    """
    from promptpex.cli.run_ending import is_one_file, refuse_files_of_one

    subset = options.subset_of(flags)
    if is_one_file(prompts):
        return _of_one(prompts[0], (spec, cases), subset, flags, as_json=as_json)
    refuse_files_of_one(spec=spec, cases=cases)
    return _of_several(prompts, subset, flags, as_json=as_json)


def _of_several(named: Sequence[Path], subset: Subset, flags: dict[str, Any], *, as_json: bool) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.promptfile import common_folder, find_prompts
    from promptpex.workflow.batches.estimate_batch import estimate_batch

    prompts = find_prompts(named)

    async def job(session: Session) -> dict[Path, list[EstimateLine]]:
        return await estimate_batch(session, prompts, subset, start=common_folder(prompts))

    estimated = work(flags, job, start=common_folder(prompts))
    if as_json:
        prompt_lines = [(prompt, line) for prompt, lines in estimated.items() for line in lines]
        print_json([{"prompt": prompt.as_posix(), **asdict(line)} for prompt, line in prompt_lines])
    else:
        show([line for lines in estimated.values() for line in lines], by_prompt=estimated)
    return 0


def _of_one(
    prompt: Path,
    beside: tuple[Path | None, Path | None],
    subset: Subset,
    flags: dict[str, Any],
    *,
    as_json: bool,
) -> int:
    from promptpex.cli.command_session import work
    from promptpex.cli.output import print_json
    from promptpex.workflow.pipeline import estimate_files
    from promptpex.workflow.project_files import named_files

    files = named_files(prompt, spec=beside[0], suite=beside[1])

    async def job(session: Session) -> tuple[list[EstimateLine], str]:
        return await estimate_files(session, files, subset)

    lines, best = work(flags, job, start=prompt.parent)
    if as_json:
        print_json([asdict(line) for line in lines])
        say(best, err=True)
    else:
        show(lines)
        paragraph(best)
    return 0


def show(lines: Sequence[EstimateLine], *, by_prompt: Mapping[Path, Sequence[EstimateLine]] | None = None) -> None:
    """Prints a table of what would be asked, and its sum; the column of the store only where it holds something, and
    what has no room is named.

    Args:
        by_prompt: the lines of each prompt, where the table is to have a row for each of several.
    """
    from rich.console import Console

    from promptpex.report.terminal.fitted_table import fitted
    from promptpex.workflow.estimate import again_in_words, total_in_words

    console = Console()
    columns = _of_stages(lines) if by_prompt is None else _of_prompts(by_prompt)
    table, left_out = fitted("", columns, console.width)
    console.print(table)
    hidden = (
        tr("Hidden at this width: {names} (see {file}).", names=", ".join(left_out), file="--json") if left_out else ""
    )
    for sentence in (hidden, total_in_words(lines), again_in_words(lines)):
        if sentence:
            paragraph(sentence)


def _of_stages(lines: Sequence[EstimateLine]) -> list[Column]:
    from promptpex.report.terminal import named
    from promptpex.report.terminal.fitted_table import Column

    model = Column(Key("model"), [named(line.model) for line in lines])
    return [model, Column(Key("stage"), [line.stage for line in lines]), *_figures(lines)]


def _of_prompts(by_prompt: Mapping[Path, Sequence[EstimateLine]]) -> list[Column]:
    from promptpex.promptfile import read
    from promptpex.report.terminal import named
    from promptpex.report.terminal.fitted_table import Column
    from promptpex.workflow.estimate import sum_of

    names = {prompt: read(prompt).name for prompt in by_prompt}
    name_counts = Counter(names.values())
    called = [names[prompt] if name_counts[names[prompt]] == 1 else prompt.as_posix() for prompt in by_prompt]
    prompts = Column(Key("prompt"), list(map(named, called)))
    return [prompts, *_figures([sum_of(lines) for lines in by_prompt.values()])]


def _figures(lines: Sequence[EstimateLine]) -> list[Column]:
    """The columns of figures; tokens give way to the rest on a narrow terminal."""
    from promptpex.report.terminal import money
    from promptpex.report.terminal.fitted_table import Column

    calls = [str(line.calls) if line.exact else tr("about {number}", number=line.calls) for line in lines]
    stored = Column(Key("stored"), [str(line.stored) for line in lines], 1)
    return [
        Column(Key("calls"), calls),
        *([stored] if any(line.stored for line in lines) else []),
        Column(Key("tokens in"), [digits(f"{line.tokens_in:,}") for line in lines], 2),
        Column(Key("tokens out"), [digits(f"{line.tokens_out:,}") for line in lines], 3),
        Column(Key("price"), [money(line.cost_usd) for line in lines]),
    ]
