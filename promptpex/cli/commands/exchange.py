"""``promptpex import`` and ``promptpex export``: other tools' formats as our files, and the other way."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from promptpex.cli import options
from promptpex.cli.help import SPEC_AND_CASES, Command, GroupedOption, shows_everything, write_help_text
from promptpex.cli.output import data, say
from promptpex.core.translation import from_data, stored, tr

if TYPE_CHECKING:
    from promptpex.interchange.format import Exported, Format, Imported, Option


Direction = Literal["read", "write"]
LIST = "FORMATS"
"""Stands in the help of a command for the list of its formats."""
_WIDTH = 76
"""Columns of a paragraph of the help: 80 less click's indentation."""


@cache
def formats_that_can(direction: Direction) -> Mapping[str, Format]:
    """The formats that can be read, or written, by name."""
    from promptpex import interchange
    from promptpex.interchange.format import formats

    by_name = formats(interchange)
    return {name: by_name[name] for name in sorted(by_name) if getattr(by_name[name], direction) is not None}


class FormatCommand(Command):
    """A command with a format as its first argument, and with the options of all formats.

    Its callback gets the format as ``format_`` and the values of its options as ``own``.
    """

    direction: Direction

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        options = [_option(names, option) for names, option in _declared(self.direction).values()]
        return [self.argument(), *options, *super().get_params(ctx)]

    def argument(self) -> click.Argument:
        names = list(formats_that_can(self.direction))
        return click.Argument(["format_name"], metavar="FORMAT", type=click.Choice(names))

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The help with the formats in its place: their names, and with ``--help-all`` what each is."""
        text = inspect.cleandoc(self.help or "")
        shown = _summaries(self.direction) if shows_everything(ctx) else _names(self.direction)
        write_help_text(text.replace(LIST, shown), ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        format_ = self.chosen(ctx)
        ctx.params |= {"format_": format_, "own": _own_values(format_, self.direction, ctx.params)}
        return super().invoke(ctx)

    def chosen(self, ctx: click.Context) -> Format:
        """The format that is meant; its name is taken out of the parameters."""
        return formats_that_can(self.direction)[ctx.params.pop("format_name")]


class ReadCommand(FormatCommand):
    """A command that reads formats; without a name the format is told by the file."""

    direction = "read"

    def argument(self) -> click.Argument:
        """The name, which may be left out: then the one argument is the path."""
        return click.Argument(["format_name"], metavar="[FORMAT]", required=False)

    def chosen(self, ctx: click.Context) -> Format:
        """The format that is named, or that the file looks like."""
        from promptpex.workflow.importing.exchange import guessed_format, whole_of

        formats = formats_that_can(self.direction)
        name, path = ctx.params.pop("format_name"), ctx.params["path"]
        if path is not None:
            return formats[click.Choice(list(formats)).convert(name, None, ctx)]
        if name is None or name in formats:
            raise click.UsageError("name the file or folder to read", ctx)
        path = ctx.params["path"] = whole_of(Path(name), formats)
        return guessed_format(path, formats)


class WriteCommand(FormatCommand):
    """A command that writes formats."""

    direction = "write"


def _names(direction: Direction) -> str:
    text = f"FORMAT is {', '.join(formats_that_can(direction))}; --help-all says what each of them is."
    return "\b\n" + textwrap.fill(text, _WIDTH, break_on_hyphens=False)


def _summaries(direction: Direction) -> str:
    """The formats as a paragraph that click leaves as it is."""
    formats = formats_that_can(direction).values()
    column = max(len(format_.name) for format_ in formats) + 2
    return "\b\n" + "\n".join(
        textwrap.fill(
            format_.described(direction),
            _WIDTH,
            initial_indent=f"{format_.name:<{column}}",
            subsequent_indent=" " * column,
        )
        for format_ in formats
    )


def _own_values(format_: Format, direction: Direction, values: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of all formats out of the values, and gives those that this format declares."""
    own = {option.name: option for option in _options_of(format_, direction)}
    own_values = {}
    for name, (names, option) in _declared(direction).items():
        value = values.pop(name)
        if name in own:
            own_values[name] = own[name].default if value is None else value
        elif value:
            raise click.UsageError(f"{_flag(option)} goes with {' and '.join(names)}, not with {format_.name}")
    return own_values


def _declared(direction: Direction) -> dict[str, tuple[list[str], Option]]:
    declared: dict[str, tuple[list[str], Option]] = {}
    for format_ in formats_that_can(direction).values():
        for option in _options_of(format_, direction):
            declared.setdefault(option.name, ([], option))[0].append(format_.name)
    return declared


def _options_of(format_: Format, direction: Direction) -> tuple[Option, ...]:
    return format_.read_options if direction == "read" else format_.write_options


def _flag(option: Option) -> str:
    return f"--{option.name.replace('_', '-')}"


def _option(names: list[str], option: Option) -> GroupedOption:
    flags = [flag for flag in (option.short, _flag(option)) if flag]
    text = f"{', '.join(names)}: {option.help}"
    if option.kind is bool:
        return GroupedOption(flags, is_flag=True, group=SPEC_AND_CASES, expert=True, help=text)
    kind = click.IntRange(option.minimum) if option.kind is int else option.kind
    return GroupedOption(flags, type=kind, metavar=option.metavar, group=SPEC_AND_CASES, expert=True, help=text)


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
def import_(
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


@click.command("export", cls=WriteCommand)
@click.argument("source", metavar="RUN|SUITE", type=options.PATH)
@options.of_files("-o", "--out", type=options.PATH, metavar="FILE", help="File, or folder, to write instead of stdout.")
@options.results
@options.settings_options
@options.output_options
def export(format_: Format, own: dict[str, Any], source: Path, out: Path | None, as_json: bool, **flags: Any) -> int:
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
