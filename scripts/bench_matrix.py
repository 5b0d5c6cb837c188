#!/usr/bin/env python3
"""Measures the matrix: candidates run on examples, the results written, and read back by a second run.

python scripts/bench_matrix.py                       # 1,000 Python checks on 100 examples
python scripts/bench_matrix.py --kind ready --examples 1000
python scripts/bench_matrix.py --workers 1
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from promptpex.core.events import ignore_events  # noqa: E402
from promptpex.core.records import Candidate, Check, Example  # noqa: E402
from promptpex.engines import local_engine, usable_cpus  # noqa: E402
from promptpex.synthesis.results.fill_matrix import fill  # noqa: E402
from promptpex.synthesis.results.matrix import ERROR, Matrix, MatrixFile  # noqa: E402

PYTHON = (
    "def check_{n}(example: dict, prompt: str, response: str) -> bool:\n    words = response.lower().split()\n"
    "    return len(words) > {n} % 50 and example['topic'].lower() in response.lower()",
    "def check_{n}(example: dict, prompt: str, response: str) -> bool:\n    import re\n"
    "    return re.search(r'\\bword{n}\\b', response) is None",
    "def check_{n}(example: dict, prompt: str, response: str) -> bool:\n"
    "    sentences = [part.strip() for part in response.split('.') if part.strip()]\n"
    "    return all(len(one.split()) < {n} % 40 + 5 for one in sentences)",
    "def check_{n}(example: dict, prompt: str, response: str) -> bool:\n"
    "    counts = {{}}\n    for word in response.split():\n        counts[word] = counts.get(word, 0) + 1\n"
    "    return max(counts.values(), default=0) <= {n} % 7 + 1",
)
"""In the style of the paper's pipelines: words, patterns, sentences, counts."""


def candidates(count: int, kind: str) -> list[Candidate]:
    """So many different checks."""
    if kind == "python":
        checks = [Check(kind="python", value=PYTHON[n % len(PYTHON)].format(n=n)) for n in range(count)]
    else:
        ready = ({"kind": "contains"}, {"kind": "regex"}, {"kind": "word-count"})
        checks = [
            Check.model_validate({**ready[n % 3], "value": {"max": 10 + n} if n % 3 == 2 else f"word{n}"})
            for n in range(count)
        ]
    return [Candidate(id=f"c{n}", check=check) for n, check in enumerate(checks)]


def examples(count: int) -> list[Example]:
    """Outputs of some 60 words."""
    return [
        Example(
            id=f"{n:032x}",
            inputs={"topic": f"word{n % 9}"},
            prompt="Write about it. " * 20,
            output=". ".join(" ".join(f"word{(n * k + j) % 997}" for j in range(12)) for k in range(1, 6)),
        )
        for n in range(count)
    ]


def main() -> None:
    """Prints seconds, the size of the file and the memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--kind", choices=("python", "ready"), default="python")
    parser.add_argument("--workers", type=int, default=usable_cpus())
    given = parser.parse_args()
    checks, outputs = candidates(given.candidates, given.kind), examples(given.examples)
    with tempfile.TemporaryDirectory() as folder:
        file = MatrixFile(Path(folder) / "matrix.jsonl")
        for name in ("first run", "second run"):
            matrix = Matrix(checks, outputs)
            begun = time.monotonic()
            ran = asyncio.run(fill(matrix, file, local_engine(given.workers), ignore_events))
            print(f"{name}: {ran:,} results in {time.monotonic() - begun:.1f} s")
        errors = sum(matrix.where(number, ERROR).bit_count() for number in range(len(checks)))
        print(f"errors: {errors}; file: {file.path.stat().st_size / 1e6:.0f} MB", end="; ")
    print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
