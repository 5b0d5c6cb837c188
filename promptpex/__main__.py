"""``python -m promptpex`` and the ``promptpex`` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line and leaves with its exit code."""
    from promptpex.cli import main as command_line

    command_line.WHOLE_PROCESS = True
    sys.exit(command_line.run_cli(sys.argv[1:]))


if __name__ == "__main__":
    main()
