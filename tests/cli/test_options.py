"""Options act: what a command takes does something, and what every command should take is there."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import click
import pytest

from promptpex.cli.main import MODULES, VERBS

ASKING = {"run", "estimate", "extract", "generate", "judge", "bench"}
"""Commands that open a session, in which something is going on."""


def commands() -> Iterator[tuple[str, click.Command]]:
    for verb in VERBS:
        command = importlib.import_module(f"promptpex.cli.{MODULES.get(verb, verb)}").command
        if isinstance(command, click.Group):
            yield from ((verb, each) for each in command.commands.values())
        else:
            yield verb, command


def flags(command: click.Command) -> set[str]:
    return {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize(
    ("verb", "command"), list(commands()), ids=lambda part: part if isinstance(part, str) else part.name
)
def test_every_command_takes_json_and_quiet_and_those_that_ask_say_more(verb: str, command: click.Command) -> None:
    found = flags(command)
    assert {"--json", "-q", "--debug"} <= found
    assert ("-v" in found) == ("--log" in found) == (verb in ASKING)


def test_no_command_takes_what_it_never_reads() -> None:
    by_verb = {verb: flags(command) for verb, command in commands()}
    assert not {"--cases-per-rule", "--rounds", "--expansion", "--validity", "--language"} & by_verb["extract"]
    assert not {"--temperature", "--max-tokens"} & (by_verb["extract"] | by_verb["judge"])
    assert {"--temperature", "--cases-per-rule"} <= by_verb["run"] & by_verb["estimate"] & by_verb["bench"]
    assert not any("--repeat" in found for found in by_verb.values())
