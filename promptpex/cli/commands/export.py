"""``promptpex export``: our suites and runs in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.format_options import WriteCommand
from promptpex.cli.output import data, say
from promptpex.core.texts import from_data, tr

if TYPE_CHECKING:
    from promptpex.interchange.format import Format


@click.command("export", cls=WriteCommand)
@click.argument("source", metavar="RUN|SUITE", type=options.PATH)
@options.of_files("-o", "--out", type=options.PATH, metavar="FILE", help="File to write, instead of stdout.")
@options.results_beside_out
@options.settings_options
@options.output_options
def command(format_: Format, own: dict[str, Any], source: Path, out: Path | None, as_json: bool, **flags: Any) -> int:
    """Write a run or cases in the format of another tool.

    The source is RUN (a run's folder, id or name) or SUITE (a case file).

    FORMATS
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.workflow.exchange import FileSource

    if as_json and out is None:
        raise click.UsageError("--json goes with --out FILE: what is exported is what stdout shows")
    assert format_.write is not None
    exported = format_.write(FileSource(source, lambda: Path(settings(flags).settings.results)), **own)
    for note in () if flags.get("quiet") else exported.left_out:
        say(tr("note: {words}", words=from_data(note)), err=True)
    if out is None:
        click.echo(data(exported.text), nl=False)
        return 0
    _write(out, exported.text)
    if as_json:
        print_json({"out": str(out), "left_out": list(exported.left_out)})
    elif not flags.get("quiet"):
        say(tr("written: {file}", file=out))
    return 0


def _write(out: Path, text: str) -> None:
    from promptpex.codecs.atomic import write_text
    from promptpex.core.errors import InputError

    try:
        write_text(out, text)
    except OSError as failure:
        raise InputError(f"cannot be written ({failure.strerror}); name another file with --out", path=out) from None
