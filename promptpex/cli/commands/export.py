"""``promptpex export``: our suites and runs in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.interchange_options import WriteCommand
from promptpex.cli.output import data, say
from promptpex.core.translation import from_data, tr

if TYPE_CHECKING:
    from promptpex.interchange.format import Exported, Format


@click.command("export", cls=WriteCommand)
@click.argument("source", metavar="RUN|SUITE", type=options.PATH)
@options.of_files("-o", "--out", type=options.PATH, metavar="FILE", help="File, or folder, to write instead of stdout.")
@options.results
@options.settings_options
@options.output_options
def command(format_: Format, own: dict[str, Any], source: Path, out: Path | None, as_json: bool, **flags: Any) -> int:
    """Write a run or cases in the format of another tool.

    The source is RUN (a run's folder, id or name) or SUITE (a case file).

    FORMATS
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.workflow.importing.exchange import FileSource

    if as_json and out is None:
        raise click.UsageError("--json goes with --out FILE: what is exported is what stdout shows")
    assert format_.write is not None
    exported = format_.write(FileSource(source, lambda: Path(settings(flags).settings.results)), **own)
    for note in () if flags.get("quiet") else exported.left_out:
        say(tr("note: {words}", words=from_data(note)), err=True)
    if out is None:
        if exported.data is not None or exported.files is not None:
            raise click.UsageError("this format is binary or a folder; name it with --out")
        click.echo(data(exported.text), nl=False)
        return 0
    _write(out, exported)
    if as_json:
        print_json({"out": str(out), "left_out": list(exported.left_out)})
    elif not flags.get("quiet"):
        say(tr("written: {file}", file=out))
    return 0


def _write(out: Path, exported: Exported) -> None:
    from promptpex.codecs.files.atomic import write_bytes, write_text
    from promptpex.core.errors import InputError

    try:
        if exported.data is not None:
            write_bytes(out, exported.data)
        elif exported.files is not None:
            for name, content in exported.files.items():
                write_bytes(out / name, content)
        else:
            write_text(out, exported.text)
    except OSError as failure:
        raise InputError(f"cannot be written ({failure.strerror}); name another place with --out", path=out) from None
