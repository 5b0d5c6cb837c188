"""Options of commands and settings that nothing reads."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator

import click

from measuring.tree import PACKAGE, Module

SETTINGS = f"{PACKAGE}.config"


def unread_options(modules: Iterable[Module]) -> list[str]:
    """Options that a command takes and never looks at: no settings, not in its body, no keys of a lookup."""
    from promptpex.cli.main import cli
    from promptpex.config import Settings

    readers = (f"{PACKAGE}.cli.", SETTINGS)
    read = set(Settings.model_fields) | _texts(one for one in modules if one.name.startswith(readers))
    return [
        f"{path} {option.opts[0]}"
        for path, command in _commands(cli, click.Context(cli), PACKAGE)
        for option in command.params
        if option.expose_value and option.name and not _is_read(command, option.name, read)
    ]


def _commands(group: click.Group, context: click.Context, path: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, click.Context(command), f"{path} {name}")
        if command is not None:
            yield f"{path} {name}", command


def _is_read(command: click.Command, name: str, read: set[str]) -> bool:
    if command.callback is None:
        return True
    function = inspect.unwrap(command.callback)
    if name not in inspect.signature(function).parameters:
        return name in read
    body = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(body))


def _texts(modules: Iterable[Module]) -> set[str]:
    """Every text by which code looks something up: ``flags["x"]``, ``flags.pop("x")``, a tuple of names."""
    return {text for one in modules for text in _looked_up(one)}


def _looked_up(module: Module) -> Iterator[str]:
    declared = {
        id(part)
        for node in module.nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith((".option", ".argument"))
        for part in ast.walk(node)
    }
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in declared:
            yield node.value


def unread_settings(modules: Iterable[Module]) -> list[str]:
    """Settings that no code outside their own module reads, by attribute or by name."""
    from promptpex.config import Settings

    others = [one for one in modules if not one.name.startswith(SETTINGS)]
    read = {node.attr for one in others for node in one.nodes if isinstance(node, ast.Attribute)}
    read |= _texts(one for one in others if not one.name.startswith(f"{PACKAGE}.cli.options"))
    return sorted(set(Settings.model_fields) - read)
