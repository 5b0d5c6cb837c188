"""How ``--help`` looks: options in groups, the daily ones first, all of them under ``--help-all``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
Rows = list[tuple[str, str]]

MODELS = "Models"
JUDGING = "Judging"
SPEC_AND_CASES = "Spec and cases"
LIMITS = "Limits and budget"
STATISTICS = "Statistics"
FILTERS = "Filters"
FILES = "Files"
OUTPUT = "Output"
GROUPS = (MODELS, JUDGING, SPEC_AND_CASES, LIMITS, STATISTICS, FILTERS, FILES, OUTPUT)
"""In the order in which they are shown."""

WORTH_HIDING = 3
"""A command with fewer expert options shows them too: hiding one or two saves no space."""

NAME_WIDTH = 26
"""Columns for an option's name; the text of a longer one begins on the next line. It leaves 48 of 80 columns."""


class GroupedOption(click.Option):
    """An option that belongs to a group of the help, and may be for experts."""

    def __init__(self, *args: Any, group: str = OUTPUT, expert: bool = False, **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.group = group
        self.expert = expert

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        if self.hidden:
            return None
        return names_of(self), self.help or ""


def option(*names: str, group: str = OUTPUT, expert: bool = False, **rest: Any) -> Callable[[F], F]:
    """``click.option`` with its place in the help; ``expert`` options are shown by ``--help-all`` alone."""
    return click.option(*names, cls=GroupedOption, group=group, expert=expert, **rest)


def names_of(parameter: click.Option) -> str:
    """An option as the help names it: ``-m, --models NAMES``."""
    short = "".join(f"{name}, " for name in parameter.opts if not name.startswith("--"))
    long = ", ".join(name for name in parameter.opts if name.startswith("--"))
    return f"{short.ljust(len('-x, '))}{'/'.join([long, *parameter.secondary_opts])}{_value_of(parameter)}"


def _value_of(parameter: click.Option) -> str:
    if parameter.is_flag:
        return ""
    if parameter.metavar is None and isinstance(parameter.type, click.Choice):
        return f" {'|'.join(map(str, parameter.type.choices))}"
    return f" {parameter.metavar or parameter.type.name.upper()}"


class Command(click.Command):
    """A command whose help shows its options in groups. What follows a form feed in its text, and what is for experts,
    is shown by ``--help-all`` alone."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), _help_all()]

    def _hides(self, ctx: click.Context, parameters: Iterable[click.Parameter]) -> bool:
        experts = sum(isinstance(parameter, GroupedOption) and parameter.expert for parameter in parameters)
        return experts >= WORTH_HIDING or "\f" in (self.help or "")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_help_text(inspect.cleandoc(self.help or ""), ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        parameters = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        everything = shows_everything(ctx) or not self._hides(ctx, parameters)
        grouped: dict[str, Rows] = {name: [] for name in GROUPS}
        for parameter in parameters:
            record = parameter.get_help_record(ctx)
            if record is not None and (everything or not getattr(parameter, "expert", False)):
                grouped[getattr(parameter, "group", OUTPUT)].append((names_of(parameter), record[1]))
        write_aligned(formatter, grouped.items())


class CommandGroup(click.Group):
    """A group whose commands have their options in groups."""

    command_class = Command

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), _help_all()]


def shows_everything(ctx: click.Context) -> bool:
    """Whether ``--help-all`` was given."""
    return bool(ctx.meta.get(_EVERYTHING))


def write_help_text(text: str, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Writes the text of a command; what follows a form feed only with ``--help-all``."""
    daily, _, rest = text.partition("\f")
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(
            f"{daily.rstrip()}\n\n{rest.strip()}" if rest and shows_everything(ctx) else daily.rstrip()
        )


def write_aligned(formatter: click.HelpFormatter, sections: Iterable[tuple[str, Rows]]) -> None:
    """Writes sections of names and texts, the texts of all of them below each other."""
    filled = [(title, rows) for title, rows in sections if rows]
    width = min(NAME_WIDTH, max((len(name) for _, rows in filled for name, _ in rows), default=0))
    for title, rows in filled:
        with formatter.section(title):
            formatter.write_dl([(name.ljust(width), text) for name, text in rows], col_max=width)


_EVERYTHING = "promptpex.help_all"


def _help_all() -> GroupedOption:
    return GroupedOption(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_everything,
        help="Show all options and exit.",
    )


def _show_everything(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_EVERYTHING] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def together(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order by ``--help``."""

    def decorate(command: F) -> F:
        for each in reversed(options):
            command = each(command)
        return command

    return decorate
