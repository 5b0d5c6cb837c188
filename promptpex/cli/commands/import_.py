"""``promptpex import``: what other tools wrote, as our files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.format_options import ReadCommand
from promptpex.cli.output import data, say

if TYPE_CHECKING:
    from promptpex.core.records import Params
    from promptpex.interchange.format import Format, Imported, Report


@click.command("import", cls=ReadCommand)
@click.argument("path", type=options.PATH)
@options.of_files("-o", "--out", type=options.PATH, metavar="PATH", help="Case file, or folder, to write.")
@options.output_options
def command(format_: Format, own: dict[str, Any], path: Path, out: Path | None, as_json: bool, **flags: Any) -> int:
    """Read cases, projects or results of another tool.

    FORMATS

    Cases are written to the case file --out (.yaml, .csv or .jsonl), or as JSON lines to stdout; everything else goes
    into the folder --out.
    """
    from promptpex.workflow.exchange import require_extension

    require_extension(path, format_)
    assert format_.read is not None
    imported = format_.read(path, **own)
    for problem in () if flags.get("quiet") else imported.problems:
        say(str(problem), err=True)
    if imported.report is not None:
        return _report(imported.report, out, flags, as_json=as_json)
    return _files(imported, out, as_json=as_json)


def _report(report: Report, out: Path | None, flags: dict[str, Any], *, as_json: bool) -> int:
    from promptpex.cli.output import print_json

    written = report.write(out, _params(flags, out)) if out is not None else ()
    if as_json:
        print_json(report.to_dict())
        return 0
    report.show()
    for line in written:
        say(line)
    return 0


def _files(imported: Imported, out: Path | None, *, as_json: bool) -> int:
    from promptpex.cli.output import print_json
    from promptpex.interchange import suite_jsonl
    from promptpex.workflow.exchange import write_imported

    if out is None:
        if not imported.is_suite or imported.suite is None:
            raise click.UsageError("what was read is more than cases; name a folder for it with --out")
        click.echo(data(suite_jsonl.text(imported.suite)), nl=False)
        return 0
    sentence = write_imported(imported, out)
    if as_json:
        cases = imported.suite.cases if imported.suite is not None else ()
        print_json({"cases": len(cases), "runs": len(imported.runs), "out": str(out)})
    else:
        say(sentence)
    return 0


def _params(flags: dict[str, Any], out: Path) -> Params:
    """How a run would ask under the settings that hold for the folder."""
    from promptpex.cli.command_session import settings
    from promptpex.core.records import Params

    chosen = settings(flags, start=out if out.is_dir() else Path.cwd()).settings
    return Params(temperature=chosen.temperature, max_tokens=chosen.max_tokens, seed=chosen.seed)
