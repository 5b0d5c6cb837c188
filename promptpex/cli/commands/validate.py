"""``promptpex validate``: every problem of prompt, spec and case files, with file and line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.text.wording import plural


@click.command("validate", cls=Command)
@click.argument("files", nargs=-1, required=True, type=options.PATH)
@options.of_files(
    "--fix", is_flag=True, help="Confirm that the rules fit the prompt as it is now: write its fingerprint."
)
@options.of_files("--drop-check", metavar="RULE", multiple=True, help="Remove the checks of a rule from its spec.")
@options.output_options
def command(
    files: tuple[Path, ...], fix: bool, drop_check: tuple[str, ...], as_json: bool, quiet: bool, **flags: Any
) -> int:
    """Report every problem of prompts and the files beside them.

    Prompts, specs, cases, metrics and candidates are read; a prompt brings all of its own along, a folder or a pattern
    its prompts. Exit code 2 if there is an error; warnings and hints leave it at 0.

    \b
      promptpex validate prompt.md
      promptpex validate prompts/ 'more/*.md'
    """
    from promptpex.cli.output import print_json
    from promptpex.workflow.validation.validate import confirm_prompts, drop_checks, validate

    for sentence in drop_checks(files, drop_check) if drop_check else ():
        say(sentence, err=True)
    problems = validate(files)
    if fix and not any(problem.severity == "error" for problem in problems):
        confirmed = confirm_prompts(files)
        for spec in () if quiet else confirmed:
            say(f"{spec}: is for the prompt as it is now", err=True)
        problems = validate(files) if confirmed else problems
    if as_json:
        print_json([problem.to_dict() for problem in problems])
    else:
        for problem in problems:
            say(problem.text())
        errors = sum(problem.severity == "error" for problem in problems)
        if not quiet:
            hints = plural(len(problems) - errors, "warning or hint", "warnings and hints")
            click.echo(f"{plural(errors, 'error')}, {hints}", err=True)
    return 2 if any(problem.severity == "error" for problem in problems) else 0
