"""Options act: what a command takes does something, and what every command should take is there."""

from __future__ import annotations

import click
import pytest

from promptpex.cli.commands.estimate import show
from promptpex.workflow.estimate import EstimateLine
from tests.cli.commands import commands

ASKING = {"run", "estimate", "extract", "generate", "judge", "check", "synthesize"}
"""Commands that open a session, in which something is going on."""


def flags(command: click.Command) -> set[str]:
    return {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize(
    ("verb", "command"), list(commands()), ids=lambda part: part if isinstance(part, str) else part.name
)
def test_every_command_takes_json_and_quiet_and_those_that_ask_say_more(verb: str, command: click.Command) -> None:
    taken = flags(command)
    assert {"--json", "-q", "--debug"} <= taken
    assert ("-v" in taken) == ("--log" in taken) == (verb in ASKING)


def test_no_command_takes_what_it_never_reads() -> None:
    by_verb = {verb: flags(command) for verb, command in commands()}
    assert not {"--cases-per-rule", "--rounds", "--expansion", "--validity", "--language"} & by_verb["extract"]
    assert not {"--temperature", "--max-tokens"} & (by_verb["extract"] | by_verb["judge"])
    assert {"--temperature", "--cases-per-rule"} <= by_verb["run"] & by_verb["estimate"]
    assert not {"--max-rules", "--checks", "--verify"} & by_verb["generate"]
    assert (
        not {"--concurrency", "--timeout", "--deadline", "--record", "--max-cost", "--pull", "--quorum"}
        & (by_verb["estimate"])
    )
    reading = by_verb["report"] | by_verb["compare"] | by_verb["gate"] | by_verb["export"]
    assert not {"--store", "--fresh", "--seed"} & reading
    assert not any({"--repeat", "--limit", "--samples"} & taken for taken in by_verb.values())


@pytest.mark.parametrize(("width", "hidden"), [(80, ""), (50, "tokens in, tokens out")])
def test_an_estimate_fits_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, hidden: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = [
        EstimateLine(stage, model, 131, exact=False, stored=0, tokens_in=123_456, tokens_out=78_900, cost_usd=1.25)
        for stage in ("groundedness", "output")
        for model in ("gpt-4o-mini", "ollama/llama3.2:1b")
    ]
    show(lines)
    out = capsys.readouterr().out
    assert "gpt-4o-mini" in out
    assert "ollama/llama3.2" in out
    assert "stored" not in out
    assert all(len(line.rstrip()) <= width for line in out.splitlines())
    assert out.count("$1.25") == 4
    assert " ".join(out.split()).partition("Hidden at this width: ")[2].partition(" (see")[0] == hidden
