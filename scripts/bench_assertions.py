"""How fast the assertions are: per kind on one core, cold and warm, and a whole ``promptpex check`` as a process.

Run as ``python scripts/bench_assertions.py``; it prints Markdown tables and needs nothing but the package. With
``--whole`` it measures the command alone, with ``--workers`` the command with one worker and with two.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WORDS = (
    "the",
    "a",
    "of",
    "price",
    "order",
    "shipped",
    "total",
    "customer",
    "please",
    "refund",
    "hello",
    "42",
    "$19.99",
)
SCHEMA = {"type": "object", "required": ["word"], "properties": {"word": {"type": "string", "pattern": "^[a-z]+$"}}}
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "contains": ({"value": "refund"}, "text"),
    "contains (template)": ({"kind": "contains", "value": "{{name}}"}, "text"),
    "contains (filter)": ({"kind": "contains", "value": "{{name | upper}}"}, "text"),
    "icontains-all": ({"value": ["Refund", "order"]}, "text"),
    "equals": ({"value": {"word": "fox"}}, "json"),
    "starts-with": ({"value": "the"}, "text"),
    "regex": ({"value": r"\d+(\.\d+)?"}, "text"),
    "regex (unicode)": ({"kind": "regex", "value": r"\d+(\.\d+)?", "dialect": "unicode"}, "text"),
    "regex (python)": ({"kind": "regex", "value": r"\d+(\.\d+)?", "dialect": "python"}, "text"),
    "levenshtein": ({"value": "the answer is 42", "threshold": 500}, "text"),
    "is-json": ({}, "json"),
    "is-json (schema)": ({"kind": "is-json", "value": SCHEMA}, "json"),
    "contains-json": ({}, "mixed"),
    "is-json (exact)": ({"kind": "is-json", "value": SCHEMA, "exact": True}, "json"),
    "word-any": ({"value": ["refund", "as an AI"], "ignore_case": True}, "text"),
    "word-count": ({"value": {"max": 80}}, "text"),
    "word-count (spoken)": ({"kind": "word-count", "value": {"max": 80}, "unit": "spoken-words"}, "text"),
    "is-xml": ({}, "xml"),
    "contains-xml": ({"value": "a.b"}, "xml"),
    "is-html": ({}, "xml"),
    "contains-html": ({}, "xml"),
    "is-sql": ({}, "sql"),
    "bleu": ({"value": "the order shipped"}, "text"),
    "gleu": ({"value": "the order shipped"}, "text"),
    "rouge-n": ({"value": "the order shipped"}, "text"),
    "rouge-l": ({"value": "the order shipped"}, "text"),
    "cost": ({"threshold": 1}, "text"),
    "perplexity": ({"threshold": 9}, "text"),
    "is-refusal": ({}, "text"),
    "language": ({"value": "en"}, "text"),
    "javascript": ({"value": "output.length > 3"}, "text"),
}
COLD = """
import sys, time, json
began = time.perf_counter()
from promptpex.assertions import check
check(sys.argv[1], [json.loads(sys.argv[2])], vars={"name": "x"}, cost=0.1, logprobs=[-0.1])
print((time.perf_counter() - began) * 1000)
"""


def outputs(shape: str, count: int) -> list[str]:
    """Made-up outputs of some 60 words."""
    chance = random.Random(7)
    texts = [" ".join(chance.choices(WORDS, k=60)) for _ in range(count)]
    made: dict[str, Callable[[str], str]] = {
        "text": lambda text: text,
        "json": lambda text: json.dumps({"word": "fox", "text": text}),
        "mixed": lambda text: f"{text} {json.dumps({'word': text})} {text}",
        "xml": lambda text: f"<a><b>{text}</b></a>",
        "sql": lambda text: "SELECT a, count(*) FROM t WHERE b = 1 GROUP BY a",
    }
    return [made[shape](text) for text in texts]


def per_second(assertion: dict[str, Any], shape: str) -> float:
    """Assertions a second, warm, rows in chunks as the command takes them."""
    from promptpex.assertions import compiler, evaluator

    count = 60 if assertion["kind"] in ("javascript", "is-sql") else 1000
    compiled = compiler.compile_checks([assertion])
    checked = [
        evaluator.checked_output(text, {"name": f"n{place}"}, cost=0.1, logprobs=[-0.1, -0.2])
        for place, text in enumerate(outputs(shape, count))
    ]
    evaluator.evaluate_many([(compiled, checked[0], None)])
    began = time.perf_counter()
    for start in range(0, count, 256):
        evaluator.evaluate_many([(compiled, fact, None) for fact in checked[start : start + 256]])
    return count / (time.perf_counter() - began)


def cold(assertion: dict[str, Any], shape: str) -> float:
    """Milliseconds of a first check in a fresh process, imports included, Python's own start not."""
    command = [sys.executable, "-c", COLD, outputs(shape, 1)[0], json.dumps(assertion)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


CHECKS = {
    "contains, regex and levenshtein": (
        "- {kind: contains, value: '{{name}}'}\n- {kind: regex, value: '\\d+(\\.\\d+)?'}\n"
        "- {kind: levenshtein, value: 'the answer {{name}}', threshold: 500}\n"
    ),
    "contains, regex and javascript": (
        "- {kind: contains, value: '{{name}}'}\n- {kind: regex, value: '\\d+(\\.\\d+)?'}\n"
        "- {kind: javascript, value: 'output.length > 3 && output.includes(context.vars.name)'}\n"
    ),
}


def whole(checks: str, rows: int = 2000, workers: int = 1) -> tuple[float, float, int]:
    """Rows x 3 assertions through ``promptpex check`` as a process, start and V8 included.

    Returns:
        seconds of CPU of all its processes, seconds of the clock, exit code.
    """
    with tempfile.TemporaryDirectory() as folder:
        file, assertions = Path(folder) / "rows.jsonl", Path(folder) / "checks.yaml"
        texts = outputs("text", rows)
        data = [{"id": n, "output": f"{text} name{n}", "vars": {"name": f"name{n}"}} for n, text in enumerate(texts)]
        file.write_text("".join(json.dumps(row) + "\n" for row in data), encoding="utf-8")
        assertions.write_text(checks, encoding="utf-8")
        command = [sys.executable, "-m", "promptpex", "check", str(file), "--assertions", str(assertions), "--json"]
        command += ["--workers", str(workers)]
        before, began = _cpu(), time.perf_counter()
        code = subprocess.run([*command, "-q"], stdout=subprocess.DEVNULL, check=False).returncode
        return _cpu() - before, time.perf_counter() - began, code


def _cpu() -> float:
    """Seconds of CPU of the processes started here that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def print_by_workers() -> None:
    """Seconds of the clock with one worker and with two, the best of three turns."""
    print(
        "| checks | rows | 1 worker: s | CPU s | 2 workers: s | CPU s | times as fast |\n|---|---|---|---|---|---|---|"
    )
    for name, checks in CHECKS.items():
        for rows in (2_000, 20_000):
            turns = [[whole(checks, rows, workers) for workers in (1, 2)] for _ in range(3)]
            (cpu_1, one, _), (cpu_2, two, _) = (
                min(turn, key=lambda done: done[1]) for turn in zip(*turns, strict=True)
            )
            cells = (name, f"{rows:,}", f"{one:.2f}", f"{cpu_1:.2f}", f"{two:.2f}", f"{cpu_2:.2f}", f"{one / two:.2f}")
            print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    if "--workers" in sys.argv:
        print_by_workers()
        return
    if "--whole" not in sys.argv:
        print("| kind | warm, a second | cold, ms |\n|---|---|---|")
        for name, (rest, shape) in KINDS.items():
            assertion = {"kind": name, **rest}
            print(f"| {name} | {per_second(assertion, shape):,.0f} | {cold(assertion, shape):.0f} |", flush=True)
    print("\n| 2,000 outputs through `promptpex check` | CPU s | s | exit code |\n|---|---|---|---|")
    for name, checks in CHECKS.items():
        cpu, seconds, code = min(whole(checks) for _ in range(3))
        print(f"| {name} | {cpu:.2f} | {seconds:.2f} | {code} |")


if __name__ == "__main__":
    main()
