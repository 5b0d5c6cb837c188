"""``promptpex select``: which of the candidate assertions to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.synthesis.selection.methods import METHODS


@click.command("select", cls=Command)
@click.argument("source", type=click.Path(path_type=Path))
@options.of_statistics("--method", type=click.Choice(METHODS), default="sub", help="How to choose [sub].")
@options.of_statistics("--coverage", default=".6", metavar="SHARE", help="Least share of bad outputs caught [.6].")
@options.of_statistics("--ffr", default=".25", metavar="SHARE", help="Highest share of good outputs flagged [.25].")
@options.of_statistics("--screen", is_flag=True, help="topological: pass over what fails every output.")
@options.of_statistics("--transitive", is_flag=True, help="Count what follows from several implications, too.")
@options.of_limits("--time-limit", type=click.IntRange(0), default=60, metavar="S", help="Seconds to search [60].")
@options.of_files("--pipeline", metavar="NAME", help="Which problem of a file that holds several.")
@options.output_options
def command(
    source: Path,
    method: Any,
    coverage: str,
    ffr: str,
    screen: bool,
    transitive: bool,
    time_limit: int,
    pipeline: str | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Choose the few assertions that are worth having.

    SOURCE is a JSON file with n, m, y, M and K: the numbers of outputs and candidates, a label per output (1 is
    good), a row of 0 and 1 per output (1: the candidate passes it), and the pairs [a, b] in which a implies b.

    cov is the smallest set that keeps both limits; sub also counts each candidate that is neither chosen nor
    implied by a chosen one; baseline takes all that flag little by themselves, topological all that no other
    implies, all every candidate, for reference. Exit code 1: no set keeps both limits.

    \b
      promptpex select problem.json --method cov --coverage 60% --ffr 25%
    """
    from promptpex.cli.output import print_json
    from promptpex.cli.selection_in_words import lines
    from promptpex.synthesis.selection.limits import SelectionLimits
    from promptpex.synthesis.selection.methods import select
    from promptpex.synthesis.selection.problem_file import read_problem

    limits = SelectionLimits(_share(coverage, "--coverage"), _share(ffr, "--ffr"))
    problem = read_problem(source, pipeline)
    if transitive:
        problem = problem.transitive()
    selection = select(problem, method, limits, seconds=time_limit, screened=screen)
    if as_json:
        print_json(selection.to_dict())
    else:
        for line in lines(problem, selection):
            say(line)
    return 0 if selection.chosen is not None else 1


def _share(text: str, flag: str) -> Any:
    from promptpex.core.errors import InputError
    from promptpex.synthesis.selection.limits import share

    try:
        return share(text)
    except InputError as error:
        raise click.BadParameter(error.message, param_hint=flag) from None
