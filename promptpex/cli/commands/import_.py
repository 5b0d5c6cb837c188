"""``promptpex import``: what other tools wrote, as our files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.interchange_options import ReadCommand
from promptpex.cli.output import data, say
from promptpex.core.translation import stored

if TYPE_CHECKING:
    from promptpex.interchange.format import Format, Imported


@click.command("import", cls=ReadCommand)
@click.argument("path", metavar="PATH", type=options.PATH, required=False)
@options.of_files("-o", "--out", type=options.PATH, metavar="PATH", help="Case file, or folder, to write.")
@options.of_files(
    "--prompt",
    type=options.PATH,
    metavar="FILE",
    help="Prompt of the recorded requests, to recover their inputs from what was sent.",
)
@options.of_files("--cases-only", is_flag=True, help="Write only the cases, to the case file --out or to stdout.")
@options.of_files("--force", is_flag=True, help="Overwrite existing files.")
@options.report_language
@options.output_options
def command(
    format_: Format,
    own: dict[str, Any],
    path: Path,
    out: Path | None,
    prompt: Path | None,
    cases_only: bool,
    force: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Read cases, projects or results of another tool.

    FORMATS

    Without FORMAT, the file decides. Cases are written to the case file --out (.yaml, .csv or .jsonl), or as JSON
    lines to stdout; everything else goes into the folder --out. What came over, what means something else here and
    what could not come over is printed, each with its line. Nothing is fetched, and nothing of the file is run.

    Files that record what models were sent and answered become a run, which `judge` and `check` read: of the prompt
    that the requests have in common, or of yours with --prompt.
    """
    from promptpex.workflow.importing.exchange import require_extension
    from promptpex.workflow.importing.recovered_inputs import with_prompt

    require_extension(path, format_)
    assert format_.read is not None
    imported = format_.read(path, **own)
    imported = imported if prompt is None else with_prompt(imported, prompt)
    imported = _cases_alone(imported, path) if cases_only else imported
    for problem in () if flags.get("quiet") else imported.problems:
        say(str(problem), err=True)
    return _files(imported, out, flags, force=force, as_json=as_json)


def _cases_alone(imported: Imported, path: Path) -> Imported:
    """Its cases, without what surrounds them; those of further prompts are noted."""
    from promptpex.core.errors import InputError
    from promptpex.interchange.format import Imported
    from promptpex.interchange.notes import Note

    if imported.suite is None:
        raise InputError("there are no cases in it", path=path)
    why = stored("it belongs to another prompt; import without --cases-only")
    others = tuple(Note("left out", part.prompt.name, why, str(path), None) for part in imported.further if part.prompt)
    over = {"cases": len(imported.suite.cases)}
    return Imported(suite=imported.suite, over=over, notes=(*imported.notes, *others))


def _files(imported: Imported, out: Path | None, flags: dict[str, Any], *, force: bool, as_json: bool) -> int:
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.interchange import suite_files
    from promptpex.interchange.notes import shown
    from promptpex.workflow.importing.write_import import usable, write_imported

    if out is None:
        if not imported.is_suite or imported.suite is None:
            raise click.UsageError("what was read is more than cases; name a folder for it with --out")
        click.echo(data(suite_files.jsonl_text(imported.suite)), nl=False)
        for line in () if flags.get("quiet") else shown({}, imported.notes):
            say(line, err=True)
        return 0
    settings(flags, start=out if out.is_dir() else None)
    imported = usable(imported)
    sentence = write_imported(imported, out, force=force)
    if as_json:
        print_json({**_counts(imported), "out": str(out), **_notes(imported)})
        return 0
    say(sentence)
    for line in shown(imported.over, imported.notes):
        say(line)
    return 0


def _counts(imported: Imported) -> dict[str, int]:
    suites = [part.suite for part in (imported, *imported.further) if part.suite is not None]
    return {"cases": sum(len(suite.cases) for suite in suites), "runs": len(imported.runs)}


def _notes(imported: Imported) -> dict[str, Any]:
    kinds = {"changed": "changed", "left_out": "left out"}
    notes = {key: [note.to_dict() for note in imported.notes if note.became == kind] for key, kind in kinds.items()}
    return {"came_over": dict(imported.over), **notes}
