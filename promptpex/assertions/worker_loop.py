"""What runs in a process of ``worker_process``: a file's function ``answer`` answers requests until stdin ends.

Started as ``python -I -S worker_loop.py FILE ARGUMENT ...``; the file finds the arguments in ``sys.argv``. Nothing of
promptpex is imported.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys

_PROCESS_BYTES = 1_500_000_000
"""Data of the whole process: the engines' own limits hold for single scripts."""


def _limit() -> None:
    """No core files, no files written, bounded memory, where the system knows such limits."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_DATA, _PROCESS_BYTES)):
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            continue


def serve() -> None:
    """Answer requests until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair; an interrupted V8 may hang as it ends
    _limit()
    del sys.argv[0]
    answer = runpy.run_path(sys.argv[0], run_name="__main__")["answer"]
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    serve()
