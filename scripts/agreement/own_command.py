"""Our own command, beside the programs that it is compared with."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Collection

_SECONDS = 600


def promptpex(*arguments: object, ends: Collection[int] = (0,)) -> str:
    """Runs the command; gives what it said on both streams.

    Args:
        ends: the exit codes that are no failure.

    Raises:
        RuntimeError: it failed.
    """
    done = subprocess.run(
        [sys.executable, "-m", "promptpex", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode not in ends:
        last = (done.stderr or done.stdout)[-900:]
        raise RuntimeError(f"promptpex {arguments[0]} ended with {done.returncode}: {last}")
    return done.stdout + done.stderr
