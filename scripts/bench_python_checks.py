"""How fast checks in Python are: many assertions in SPADE's style on many outputs, in the sandbox and in CPython.

Run as ``python scripts/bench_python_checks.py [--checks N] [--outputs N]``. It prints the seconds of the clock, the CPU
seconds of all processes, and how many times as long as CPython itself takes for the same functions in the same run.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from promptpex.assertions import evaluator  # noqa: E402
from promptpex.assertions.compiler import compile_checks  # noqa: E402
from promptpex.assertions.python import sandbox  # noqa: E402

WORDS = (
    *("the", "lamp", "costs", "42", "euros", "and", "comes", "with", "a", "cable"),
    *("please", "order", "before", "2026-11-30", ".", "hello", "sincerely"),
)
BODIES = (
    "return re.search(r'{word}\\b', response) is not None and len(response) > {number}",
    "return len(response.split()) <= {number} or '{word}' in response.lower()",
    "return sum(line.startswith('- ') for line in response.splitlines()) < {number}",
    "return all(item in response for item in example['items']) or response.count('{word}') < {number}",
    "words = re.findall(r'[a-z]+', response.lower())\n    return words.count('{word}') < {number}",
)


def code(number: int) -> str:
    """An assertion that is like no other."""
    chance = random.Random(number)
    body = BODIES[number % len(BODIES)].format(word=chance.choice(WORDS).strip(".,"), number=chance.randrange(1, 300))
    head = f"async def check_{number}(example: dict, prompt: str, response: str) -> bool:"
    return f'import re\n\n{head}\n    """Looks at the response."""\n    {body}\n'


def texts(count: int) -> list[str]:
    """Responses of about 900 characters."""
    chance = random.Random(7)
    return [" ".join(chance.choices(WORDS, k=200))[:900] for _ in range(count)]


def in_sandbox(codes: list[str], responses: list[str]) -> int:
    """How many verdicts pass."""
    compiled = compile_checks([{"kind": "python", "value": each} for each in codes])
    outputs = [evaluator.checked_output(text, {"items": ["lamp", "cable"]}, prompt="p" * 900) for text in responses]
    reports = evaluator.evaluate_many([(compiled, checked, None) for checked in outputs])
    return sum(result.status == "pass" for report in reports for result in report.results)


def in_cpython(codes: list[str], responses: list[str]) -> int:
    """The same by CPython, which these functions of our own may reach."""
    passed = 0
    for each in codes:
        space: dict[str, Any] = {}
        exec(each.replace("async def", "def"), space)
        function: Callable[..., object] = next(value for name, value in space.items() if name.startswith("check_"))
        passed += sum(bool(function({"items": ["lamp", "cable"]}, "p" * 900, text)) for text in responses)
    return passed


def measured(run: Callable[[list[str], list[str]], int], codes: list[str], responses: list[str]) -> tuple[int, float]:
    """What a run gives, and its seconds of the clock."""
    began = time.perf_counter()
    return run(codes, responses), time.perf_counter() - began


def _cpu() -> float:
    """CPU seconds of this process, of those that hold Monty, and of Monty's own, where the system shows them."""
    times = os.times()
    pids = [str(process._process.pid) for process in sandbox.PROCESSES if process._process is not None]
    for pid in list(pids):
        listed = Path(f"/proc/{pid}/task/{pid}/children")
        pids += listed.read_text().split() if listed.exists() else []
    return times.user + times.system + sum(map(_cpu_of, pids))


def _cpu_of(pid: str) -> float:
    stat = Path(f"/proc/{pid}/stat")
    fields = stat.read_text().rpartition(")")[2].split() if stat.exists() else []
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checks", type=int, default=1_000)
    parser.add_argument("--outputs", type=int, default=100)
    given = parser.parse_args()
    codes, responses = [code(number) for number in range(given.checks)], texts(given.outputs)
    in_sandbox(codes[:1], responses[:1])
    native, there = measured(in_cpython, codes, responses)
    before = _cpu()
    passed, seconds = measured(in_sandbox, codes, responses)
    cpu = _cpu() - before
    if passed != native:
        raise SystemExit(f"the sandbox passes {passed} verdicts, CPython {native}")
    print("| checks | outputs | s | CPU s | verdicts a second | times CPython |\n|---|---|---|---|---|---|")
    rate = f"{len(codes) * len(responses) / seconds:,.0f}"
    print(f"| {len(codes):,} | {len(responses)} | {seconds:.2f} | {cpu:.2f} | {rate} | {seconds / there:.1f} |")


if __name__ == "__main__":
    main()
