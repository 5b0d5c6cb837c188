"""``promptpex generate``: cases for what is missing or stale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from promptpex.cli import options


@click.command("generate")
@options.PROMPT
@options.author
@options.files
@options.generation
@options.asking
@options.config
@options.manners
def command(prompt: Path, spec: Path | None, cases: Path | None, as_json: bool, **flags: Any) -> int:
    """Generate cases for each rule and each inverse into PROMPT.cases.yaml.

    Only what is missing is asked for: a case is made again when its rule, the input spec, the author or the settings
    changed. Cases that you wrote or edited are never touched.
    """
    from promptpex.cli.showing import print_json
    from promptpex.cli.work import work
    from promptpex.project import files_of, generate

    files = files_of(prompt, spec=spec, suite=cases)
    suite, todo = work(flags, lambda session: generate(session, files), start=prompt.parent)
    made = len(suite.cases) - len(todo.keep)
    if as_json:
        print_json({"cases": len(suite.cases), "made": made, "kept": len(todo.keep), "retired": len(todo.retire)})
    else:
        told = f"{made} made, {len(todo.keep)} kept, {len(todo.retire)} retired"
        click.echo(f"{len(suite.cases)} cases in {files.suite} ({told})")
    return 0
