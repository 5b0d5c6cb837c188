"""All commands of the command line, for tests that hold every one of them to something."""

from __future__ import annotations

from collections.abc import Iterator

import click

from promptpex.cli.main import COMMANDS, cli


def commands() -> Iterator[tuple[str, click.Command]]:
    """Each command as it is typed, those of a group by both their names."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {under}", each) for under, each in command.commands.items())
        else:
            yield name, command
