"""What other programs and we are compared on: the benchmarks, and what models may answer to them."""

from __future__ import annotations

from pathlib import Path

from promptpex.cases.file import read_suite

ROOT = Path(__file__).resolve().parents[2]
ODD = ("Yes.", "I'm sorry, but I can't help with that.", '{"answer": "ja", "n": 3}', "[1, 2]", "Hello {name}!",
       "```json\n{\"a\": \"}\"}\n```", "<p>Hi</p>", "SELECT a FROM t", "Bonjour le monde", "na so was", "NA", "4 2",
       "the quick brown fox jumps over the lazy dog", "Ünïcödé 👍", "  padded  ", "line one\nline two")  # fmt: skip
"""Answers that checks of every kind decide differently."""


def suites() -> list[Path]:
    """The benchmarks, each a prompt with spec and cases."""
    return sorted(path.parent for path in (ROOT / "benchmarks").glob("*/prompt.spec.yaml"))


def answers_for(suite: Path) -> tuple[str, ...]:
    """What the models of a suite may say: the expected outputs of its cases, and odd things."""
    cases = read_suite(suite / "prompt.cases.yaml").cases
    return (*dict.fromkeys(case.expected for case in cases if case.expected), *ODD)
