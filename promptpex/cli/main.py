"""The command line: one command a file, each loaded when it is called."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from promptpex.cli import output
from promptpex.cli.output import say
from promptpex.core.errors import PromptpexError
from promptpex.core.translation import ENGLISH, from_data, speak, tr

STEPS = {
    "Begin": {
        "demo": "See a run in seconds, offline, on recorded answers.",
        "init": "Write a first prompt.md and promptpex.toml.",
    },
    "Write": {
        "extract": "Write down what a prompt promises: PROMPT.spec.yaml.",
        "generate": "Generate cases for each rule and its inverse.",
        "validate": "Report every problem of prompts and the files beside them.",
        "diff": "Compare two versions of a prompt, sentence by sentence.",
    },
    "Run": {
        "estimate": "Show what `run` would ask and cost; nothing is sent.",
        "run": "Run the cases on models, judge every output, and report.",
        "judge": "Judge the outputs of a run again, without asking its models.",
        "check": "Check outputs in files by assertions alone.",
    },
    "Read": {
        "report": "Print the report of a run and write its files again.",
        "view": "Look at runs and compare them, in a browser.",
        "compare": "Compare two runs, model by model, on the cases of both.",
        "bless": "Make a run the baseline of later ones.",
        "gate": "Exit 1 if a model of a run exceeds the limits.",
        "runs": "List runs, or delete old ones.",
    },
    "Grade": {
        "grade": "Grade outputs as good or bad.",
        "align": "Measure how well checks and judges agree with people.",
    },
    "Choose assertions": {
        "synthesize": "Find candidate assertions in what a prompt's versions added.",
        "select": "Choose the few assertions that are worth having.",
    },
    "Exchange": {
        "import": "Read cases, projects or results of another tool.",
        "export": "Write a run or cases in the format of another tool.",
    },
    "Housekeeping": {
        "models": "List the models you can use, and the roles they could have.",
        "cache": "Inspect, prune, verify or copy the response store.",
    },
}
"""The commands by step, in the order of use, each with the first sentence of its help, so that none is loaded to list
them; each is ``promptpex.cli.commands.<name>:command``, but for ``DEFINED_IN``."""

COMMANDS = tuple(name for commands in STEPS.values() for name in commands)

DEFINED_IN = {
    "demo": ("init", "demo"),
    "export": ("exchange", "export"),
    "import": ("exchange", "import_"),
    "judge": ("run", "judge_again"),
}
"""The module and the name of commands that share one with another."""

ELSEWHERE = {
    **dict.fromkeys(("eval", "evaluate", "test"), "run"),
    **dict.fromkeys(("label", "annotate"), "grade"),
    "score": "judge",
    **dict.fromkeys(("show", "open", "serve", "ui"), "view"),
    "lint": "validate",
    **dict.fromkeys(("list", "ls", "history"), "runs"),
}
"""What other tools call our commands."""

INTERRUPTED = 130

READER_LEFT = 141
"""Exit code if the reader of stdout, such as ``head``, closed it: that of a program that SIGPIPE ends."""

_FULL_OR_BROKEN = ("ENOSPC", "EDQUOT", "EFBIG", "EIO")
_NOT_WRITABLE = ("EROFS", "EACCES", "EPERM", "ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENAMETOOLONG", "ELOOP")
DISK_ERRORS = frozenset(getattr(errno, name, None) for name in (*_FULL_OR_BROKEN, *_NOT_WRITABLE)) - {None}
"""Errors of the file system that are not promptpex's fault."""

AGAIN = "fix that and run the same command again: the answers so far are kept in the store"


class Commands(click.Group):
    """A group whose commands are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = DEFINED_IN.get(cmd_name, (cmd_name, "command"))
        command = getattr(importlib.import_module(f"promptpex.cli.commands.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from promptpex.codecs.text.wording import did_you_mean, sentence

            if args[0] in ELSEWHERE:
                ours = ELSEWHERE[args[0]]
                message = f"there is no command {args[0]!r} here; it is called {ours!r}: promptpex {ours} --help"
                raise click.UsageError(message, error.ctx) from None
            meant = did_you_mean(args[0], COMMANDS, likeness=0.5)
            if meant:
                raise click.UsageError(f"{error.message} {sentence(meant)}", error.ctx) from None
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from promptpex.cli.help import write_aligned

        write_aligned(formatter, [(step, list(commands.items())) for step, commands in STEPS.items()])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="promptpex")
def cli() -> None:
    """Write tests for a prompt from what it promises, and find out which model is good enough.

    promptpex reads a prompt, writes down its rules (PROMPT.spec.yaml), turns each rule and its inverse into test
    cases (PROMPT.cases.yaml), runs them on the models you name, judges each output, by code wherever that is possible,
    and says which model is good enough, with an error bar. Both files are yours to edit.
    """


def run_cli(arguments: Sequence[str]) -> int:
    """Runs the command line and gives its exit code; errors are one sentence on stderr, unless ``--debug``."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    debug = output.DEBUG = "--debug" in arguments or bool(os.environ.get("PROMPTPEX_DEBUG"))
    try:
        return _invoke([argument for argument in arguments if argument != "--debug"])
    except PromptpexError as error:
        if debug:
            raise
        _say(from_data(str(error)))
        return error.exit_code
    except (BrokenPipeError, SystemExit) as left:  # click and rich turn the one into the other, with code 1
        if isinstance(left, SystemExit) and not left.code:
            return 0  # click has completed a word for the shell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return READER_LEFT
    except KeyboardInterrupt:
        _say(tr("interrupted; the answers so far are kept, and the same command continues from there"))
        return INTERRUPTED
    except Exception as error:  # a bug of ours, or the disk: one sentence, no traceback
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            _say(f"{error.filename or 'a file'} cannot be written or read ({error.strerror}); {AGAIN}")
            return 2
        _say(
            f"internal error ({type(error).__name__}: {str(error)[:300]}); "
            "run again with --debug for the traceback, and please report it"
        )
        return 2
    finally:
        speak(ENGLISH)


def _invoke(arguments: Sequence[str]) -> int:
    try:
        result = cli.main(args=list(arguments), prog_name="promptpex", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        _say(f"{error.format_message()}{_where_to_read(error)}")
        return error.exit_code
    return result if isinstance(result, int) else 0


def _where_to_read(error: click.ClickException) -> str:
    """The end of a sentence about wrong usage: the help of the command."""
    context = getattr(error, "ctx", None)
    return f" (see {context.command_path} --help)" if context is not None else ""


def _say(sentence: str) -> None:
    say(f"promptpex: {sentence}", err=True)
