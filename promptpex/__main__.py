"""``python -m promptpex`` and the ``promptpex`` command."""

from __future__ import annotations

import gc
import os
import sys

GARBAGE_AFTER = 50_000
"""New objects until the garbage collector looks; Python's 700 cost a fifth of a long run, whose records all stay."""


def main() -> None:
    """Runs the command line and leaves with its exit code."""
    from promptpex.cli import main as command_line
    from promptpex.cli import output

    os.environ["PYTHONSAFEPATH"] = "1"  # no process that is started imports from a checkout
    gc.set_threshold(GARBAGE_AFTER)
    output.WHOLE_PROCESS = True
    sys.exit(command_line.run_cli(sys.argv[1:]))


if __name__ == "__main__":
    main()
