"""Tables of strangers in formats that take a library to read, read in a process of its own (``table_process``).

A file of a few bytes may ask such a library for gigabytes or hours. There it has memory and time in proportion to the
file, no key of the environment, and what it makes of the file is bounded as it comes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from promptpex.codecs.files.ordinary_files import MEGABYTE, opened, room_for_repeats, weight_of
from promptpex.core.errors import InputError

MEMORY, TIMES = 350 * MEGABYTE, 8
"""Bytes that the process may use, and how many times as many as the file has beyond them."""
SECONDS, BYTES_A_SECOND = 3, 300_000
"""Seconds of CPU that it may take, and one more for so many bytes of the file."""
EXTRAS = {"pyarrow": "parquet", "openpyxl": "excel"}
LONGEST = 50 * MEGABYTE
"""Bytes of the longest row, as JSON."""
ROW_TO_CHECK = 1_000
"""Bytes that each row counts on top of its own: some 100,000 rows of nothing take seconds to check."""


def lines(
    job: str,
    path: Path,
    *given: object,
    kind: str,
    what: str,
    error: type[InputError],
    links: bool = True,
    in_total: bool = True,
) -> Iterator[bytes]:
    """What a job of ``table_process`` says of a file, line by line.

    Args:
        links: whether a link is followed, within its project.
        in_total: whether all lines together are bounded; each of them is in any case.
    """
    library = "openpyxl" if job == "excel" else "pyarrow"
    spec = find_spec(library)
    if spec is None or spec.origin is None:
        raise error(f"{kind} files need {library}: pip install 'promptpex[{EXTRAS[library]}]'", path=path)
    home = Path(spec.origin).parent.parent
    with opened(path, error=error, what=what, links=links) as file:
        size = os.fstat(file.fileno()).st_size
        room = left = room_for_repeats(size)
        process = _started(file, home, job, size, given)
        assert process.stdout is not None
        try:
            for line in iter(partial(process.stdout.readline, LONGEST + 1), b""):
                if line.startswith(b"!"):
                    raise error(f"the {what} cannot be read as {kind}: {json.loads(line[1:])}", path=path)
                left = (left if in_total else room) - weight_of(line) - ROW_TO_CHECK
                if left < 0 or not line.endswith(b"\n"):
                    raise _too_much(path, what, error)
                yield line
            if process.wait() != 0:
                raise _too_much(path, what, error)
        finally:
            process.kill()
            process.stdout.close()
            process.wait()


def _too_much(path: Path, what: str, error: type[InputError]) -> InputError:
    return error(
        f"the {what} holds far more than its size explains; if it is yours, write it as CSV or JSON lines", path=path
    )


def _started(file: BinaryIO, home: Path, job: str, size: int, given: tuple[object, ...]) -> subprocess.Popen[bytes]:
    script = str(Path(__file__).with_name("table_process.py"))
    limits = (MEMORY + TIMES * size, SECONDS + size // BYTES_A_SECOND)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", script, str(home), job, *map(str, limits), json.dumps(given)],
        stdin=file,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        | {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ},
    )
