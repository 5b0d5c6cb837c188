"""``promptpex extract``: what a prompt promises, written down by the author model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options


@click.command("extract")
@options.PROMPT
@options.author
@options.files
@click.option("--force", is_flag=True, help="Write over a spec that exists.")
@options.generation
@options.asking
@options.config
@options.manners
def command(prompt: Path, spec: Path | None, cases: Path | None, force: bool, as_json: bool, **flags: Any) -> int:
    """Extract intent, input spec, output rules and inverse rules into PROMPT.spec.yaml.

    Edit the file as you like before you generate cases: what you change or add stays yours.
    """
    from promptpex.cli.showing import print_json
    from promptpex.cli.work import work
    from promptpex.errors import SpecError
    from promptpex.project import extract, files_of

    files = files_of(prompt, spec=spec, suite=cases)
    if files.spec.exists() and not force:
        raise SpecError("exists already; edit it, or use --force to write over it", path=files.spec)
    found = work(flags, lambda session: extract(session, files), start=prompt.parent)
    if as_json:
        print_json(found.plain())
    else:
        click.echo(f"{len(found.rules)} rules in {files.spec}")
    return 0
