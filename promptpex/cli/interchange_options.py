"""The foreign formats on the command line: the argument that names one, their list in the help, their own options.

Formats are looked up when a command of theirs is called or shows its help, since finding them imports them.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from promptpex.cli.help import SPEC_AND_CASES, Command, GroupedOption, shows_everything, write_help_text

if TYPE_CHECKING:
    from promptpex.interchange.format import Format, Option

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
