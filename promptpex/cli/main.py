"""The command line: one verb a file, each loaded when it is called."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

import click

from promptpex.cli.sanitize import say
from promptpex.core.errors import PromptpexError

VERBS = (
    "run",
    "estimate",
    "extract",
    "generate",
    "validate",
    "diff",
    "judge",
    "report",
    "compare",
    "gate",
    "check",
    "import",
    "export",
    "bench",
    "models",
    "cache",
    "init",
)
"""In the order of use; each is ``promptpex.cli.<verb>:command``, but for those in ``MODULES``."""

MODULES = {"import": "import_"}
"""Verbs whose module cannot bear their name."""

INTERRUPTED = 130

READER_LEFT = 141
"""Whoever read stdout has closed it, as ``head`` does: the code of a program that SIGPIPE ends."""

_FULL_OR_BROKEN = ("ENOSPC", "EDQUOT", "EFBIG", "EIO")
_NOT_OURS_TO_WRITE = ("EROFS", "EACCES", "EPERM", "ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG", "ELOOP")
OF_THE_DISK = frozenset(getattr(errno, name, None) for name in (*_FULL_OR_BROKEN, *_NOT_OURS_TO_WRITE)) - {None}
"""What the file system may answer that is no error of promptpex's."""

WHOLE_PROCESS = False
"""Whether the process ends with the command: after a stop it then hears no further signal, and leaves with its code."""

AGAIN = "see to it and run the same command again: what was answered is kept in the store"


class Verbs(click.Group):
    """A group whose commands are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command = importlib.import_module(f"promptpex.cli.{MODULES.get(cmd_name, cmd_name)}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], VERBS, n=1, cutoff=0.5)
            if near:
                raise click.UsageError(f"{error.message} Did you mean '{near[0]}'?", error.ctx) from None
            raise


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="promptpex")
def cli() -> None:
    """Tests for prompts, from what they promise.

    promptpex reads a prompt, writes down what it promises (PROMPT.spec.yaml), turns each promise and its opposite
    into test cases (PROMPT.cases.yaml), runs them on every model in question, judges each answer, by code wherever a
    rule can be checked by code, and says which model is good enough. Both files are yours to edit.
    """


def run_cli(arguments: Sequence[str]) -> int:
    """Runs the command line and gives its exit code; errors are one sentence on stderr, unless ``--debug``."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    debug = "--debug" in arguments or bool(os.environ.get("PROMPTPEX_DEBUG"))
    try:
        return _invoke([argument for argument in arguments if argument != "--debug"])
    except PromptpexError as error:
        if debug:
            raise
        _say(str(error))
        return error.exit_code
    except (BrokenPipeError, SystemExit) as left:  # click and rich turn the one into the other, with code 1
        if isinstance(left, SystemExit) and not left.code:
            return 0  # click has completed a word for the shell
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return READER_LEFT
    except KeyboardInterrupt:
        _say("interrupted; what was answered is kept, and the same command goes on from there")
        return INTERRUPTED
    except Exception as error:  # whatever got here is a fault of ours, or of the disk: one sentence, no traceback
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:
            _say(f"{error.filename or 'a file'} cannot be written or read ({error.strerror}); {AGAIN}")
            return 2
        _say(
            f"an error of promptpex itself ({type(error).__name__}: {str(error)[:300]}); "
            "run again with --debug to see where, and please report it"
        )
        return 2


def _invoke(arguments: Sequence[str]) -> int:
    try:
        result = cli.main(args=list(arguments), prog_name="promptpex", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return result if isinstance(result, int) else 0


def _say(sentence: str) -> None:

    say(f"promptpex: {sentence}", err=True)
