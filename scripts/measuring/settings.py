"""Options of commands and settings that nothing reads."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import click

from measuring.tree import PACKAGE, FunctionNode, Module
from measuring.usage import Entry, Usage

SETTINGS = f"{PACKAGE}.config"

READERS = (f"{PACKAGE}.cli.", f"{SETTINGS}.")
"""Packages whose functions look settings and flags up by name."""

LOOKUPS = ("getattr", "given", "by_user")
"""Calls that take the name of a setting."""


def unread_options(parts: Usage) -> list[str]:
    """Options that a command takes and that nothing looks at which it calls: not as a setting, not in its body, not as
    the key of a lookup."""
    from promptpex.cli.main import cli
    from promptpex.config import Settings

    switches = _texts(one for one in parts.modules if one.name.startswith(READERS)) - {*Settings.model_fields}
    return [
        f"{path} {option.opts[0]}"
        for path, command in _commands(cli, click.Context(cli), PACKAGE)
        for option in idle_options(command, parts, switches)
    ]


def idle_options(command: click.Command, parts: Usage, switches: Iterable[str] = ()) -> list[click.Parameter]:
    """The options of one command that nothing reads which it calls.

    Args:
        switches: names that are no settings and are looked up for every command.
    """
    if command.callback is None:
        return []
    function = inspect.unwrap(command.callback)
    reached = parts.reached_from([(function.__module__, function.__name__)])
    entries = [parts.entries[key] for key in reached if key in parts.entries]
    read = {*switches, *(name for entry in entries for name in _settings_read(entry))}
    return [one for one in command.params if one.expose_value and one.name and not _is_read(function, one.name, read)]


@cache
def _settings_read(entry: Entry) -> frozenset[str]:
    """The settings that a definition reads: as attributes of what is called settings, or, in the packages that take
    settings apart, by name."""
    inside = list(ast.walk(entry.node)) if entry.node is not None else []
    held = {name for one in inside if isinstance(one, ast.Assign) for name in _named_settings(one)}
    owners = [one for one in inside if isinstance(one, ast.Attribute)]
    read = {one.attr for one in owners if _is_settings(one.value) or _called(one.value) in held}
    by_name = entry.key[0].startswith(READERS) and isinstance(entry.node, FunctionNode)
    if by_name or any(isinstance(one, ast.Call) and _called(one.func) in LOOKUPS for one in inside):
        read |= {one.value for one in inside if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return frozenset(read)


def _named_settings(assigned: ast.Assign) -> Iterator[str]:
    """The names that settings are given: ``chosen = resolved.settings``."""
    for target in assigned.targets:
        if isinstance(target, ast.Tuple) and isinstance(assigned.value, ast.Tuple):
            pairs = list(zip(target.elts, assigned.value.elts, strict=False))
        else:
            pairs = [(target, assigned.value)]
        yield from (name.id for name, value in pairs if isinstance(name, ast.Name) and _is_settings(value))


def _is_settings(value: ast.expr) -> bool:
    return _called(value).endswith("settings")


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _commands(group: click.Group, context: click.Context, path: str) -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, click.Context(command), f"{path} {name}")
        if command is not None:
            yield f"{path} {name}", command


def _is_read(function: Callable[..., object], name: str, read: set[str]) -> bool:
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
