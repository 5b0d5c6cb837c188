"""The help reads well: short, in groups, uncut; and one name each for flag, settings key and variable."""

from __future__ import annotations

import re

import click
import pytest

from promptpex.cli.help import FILTERS, GROUPS
from promptpex.cli.main import COMMANDS, ELSEWHERE, STEPS, cli, run_cli
from promptpex.config import OTHER_VARIABLES, Settings
from tests.cli.commands import commands

TWO_SCREENS = 46
"""Lines of two terminals of 24 lines, a prompt in each."""

OTHER_NAMES = {"as_json": "--json", "expose": "", "bring": "--update", "shape": "--format"}
"""Options that are not settings and whose value has another name in the code."""

OF_A_COMMAND = {"cases", "spec", "model", "stage", "limits", *OTHER_NAMES}
"""Names that belong to one command and are not settings."""


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run_cli(list(arguments)) == 0
    return capsys.readouterr().out.rstrip().splitlines()


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_list_of_commands_is_one_screen_by_step_and_uncut(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--help")
    titles = [line.rstrip(":") for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options", *STEPS]
    assert not any("..." in line for line in lines[1:])
    listed = [line for line in lines if line.strip().split("  ")[0] in COMMANDS]
    assert len(listed) == len(COMMANDS)
    assert all(line.endswith(".") for line in listed)


def test_the_list_says_of_each_command_what_its_own_help_says_first() -> None:
    listed = {name: sentence for step in STEPS.values() for name, sentence in step.items()}
    own = {name: cli.get_command(click.Context(cli), name) for name in COMMANDS}
    assert listed == {name: command.get_short_help_str(200) for name, command in own.items() if command is not None}


def test_the_help_of_run_is_two_screens_and_all_of_it_is_one_flag_away(capsys: pytest.CaptureFixture[str]) -> None:
    daily, everything = printed(capsys, "run", "--help"), printed(capsys, "run", "--help-all")
    assert len(daily) <= TWO_SCREENS
    assert [line for line in daily if line.endswith(":")] == [f"{group}:" for group in GROUPS if group != FILTERS]
    assert all(len(line) <= 80 for line in (*daily, *everything))
    assert not any("--judge-repeat" in line for line in daily)
    assert any("--judge-repeat" in line for line in everything)
    assert any("--help-all" in line for line in daily)


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=lambda part: part if isinstance(part, str) else "")
def test_flag_settings_key_and_variable_have_one_name(name: str, command: click.Command) -> None:
    """``--max-cost``, ``max_cost`` and ``PROMPTPEX_MAX_COST``: what one knows of one tells the others."""
    known = {*Settings.model_fields, *OTHER_VARIABLES}
    for parameter in command.params:
        if not isinstance(parameter, click.Option) or parameter.name in OTHER_NAMES:
            continue
        for long in (flag for flag in parameter.opts if flag.startswith("--")):
            if parameter.name in known:
                assert long == f"--{parameter.name.replace('_', '-')}"
            elif long.removeprefix("--").replace("-", "_") in known:
                assert parameter.name in OF_A_COMMAND


@pytest.mark.parametrize("name", [*COMMANDS, "cache prune", "runs list"])
def test_every_command_shows_all_of_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    daily, everything = printed(capsys, *name.split(), "--help"), printed(capsys, *name.split(), "--help-all")
    assert len(daily) <= min(len(everything), TWO_SCREENS)
    assert any("--help-all" in line for line in daily)
    shown = [{flag for line in lines for flag in re.findall(r"--[a-z][\w-]*", line)} for lines in (daily, everything)]
    assert shown[0] <= shown[1]


def test_the_help_of_import_names_its_formats_and_says_what_they_are_on_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    daily, everything = printed(capsys, "import", "--help"), printed(capsys, "import", "--help-all")
    assert "promptpex-context" in " ".join(daily)
    assert "--sheet" not in " ".join(daily)
    assert "the promptpex_context.json of microsoft/promptpex" in " ".join(" ".join(everything).split())
    assert "; as JSON" not in " ".join(everything), "what export writes is no matter of import"


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_other_tools_call_our_commands_leads_to_them(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli([name, "prompt.md"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"promptpex: there is no command '{name}' here; it is called '{ELSEWHERE[name]}'")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["run"], ["run", "p.md", "--nosuch"], ["nosuch"], ["gate", "--bound", "x"]])
def test_wrong_usage_is_one_sentence_with_the_one_prefix(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("promptpex: ")
    assert "--help" in error
