"""The same outputs, decided by the classes of openai/evals and by the checks that an import makes of them."""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.assertions import check
from promptpex.interchange.openai_evals import read
from promptpex.interchange.openai_evals.classes import TEMPLATES

THEIRS = Path(__file__).parent / "their_verdicts.py"
_SECONDS = 300
TEXTS = ("Paris", "paris", "the Paris", "Paris.", " Paris", "In Paris, of course", "", "a", "A an the", "no", "Yes!",
         "É", "ß", "4 2", "42", "x_y", "xy", "naïve café", "İstanbul", "Σίσυφος", "tab\there", "a\x1fb", "日本",
         '{"a": 1}', '{"a": 1.0}', '{"b": [1, {"c": "x"}]}', '{"b": [1, {"c": "y"}]}', "null", "[1, 2]", "[2, 1]",
         "true", "1", '"x"', '{"a": 1, "a": 2}', "{a: 1}", "NaN", "[]", "{}")  # fmt: skip
"""Right answers and outputs that the classes decide differently."""


@dataclass(frozen=True)
class Pair:
    """An output with its right answers, for a class."""

    template: str
    ideal: tuple[str, ...]
    output: str


REASONS: Mapping[str, Callable[[Pair], bool]] = {
    "NaN is JSON in Python": lambda row: "NaN" in f"{row.output}{row.ideal}",
    "true is 1 in Python": lambda row: row.template == "json-match" and "true" in (row.output, *row.ideal),
}
"""Why verdicts may differ."""


@dataclass
class Compared:
    """How often both said the same.

    Attributes:
        same: by template. explained: by reason. unexplained: the pairs with our verdict.
    """

    same: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: list[tuple[Pair, bool]] = field(default_factory=list)


def pairs(count: int, seed: int = 0) -> list[Pair]:
    """So many pairs of each class, drawn by the seed."""
    rng = random.Random(seed)
    drawn = []
    for template in TEMPLATES:
        texts = [text for text in TEXTS if template != "json-match" or _is_json(text)]
        for _ in range(count):
            ideal = tuple(rng.choice(texts) for _ in range(rng.choice((1, 1, 2, 3))))
            output = rng.choice((rng.choice(TEXTS), rng.choice(ideal), f"{rng.choice(ideal)} {rng.choice(TEXTS)}"))
            drawn.append(Pair(template, ideal, output))
    return drawn


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def theirs(python: Path, every: Sequence[Pair]) -> list[bool]:
    """What the classes say, each output asked of its own class.

    Raises:
        RuntimeError: the program failed; with the end of what it printed.
    """
    rows = [{"class": TEMPLATES[pair.template].theirs, "ideal": list(pair.ideal), "output": pair.output,
             "ignore_case": pair.template == "includes-ignore-case"} for pair in every]  # fmt: skip
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    done = subprocess.run([python, THEIRS], input=text, capture_output=True, text=True, timeout=_SECONDS, check=False)
    verdicts = [json.loads(line) for line in done.stdout.splitlines() if line in ("true", "false")]
    if done.returncode != 0 or len(verdicts) != len(every):
        raise RuntimeError(done.stderr[-500:])
    return verdicts


def ours(pair: Pair, folder: Path) -> bool:
    """What the check of an import says."""
    path = folder / "samples.jsonl"
    path.write_text(json.dumps({"input": "x", "ideal": list(pair.ideal)}), encoding="utf-8")
    made = read(path, template=pair.template)
    assert made.spec is not None
    assert made.suite is not None
    case = made.suite.cases[0]
    checks = made.spec.rules[0].checks
    return check(pair.output, checks, vars=case.inputs, expected=case.expected).status == "pass"


def compare(python: Path, count: int) -> Compared:
    """Both programs on so many pairs of each class."""
    every, compared = pairs(count), Compared()
    with tempfile.TemporaryDirectory() as folder:
        for pair, wanted in zip(every, theirs(python, every), strict=True):
            verdict = ours(pair, Path(folder))
            reason = next((why for why, holds in REASONS.items() if holds(pair)), None)
            if verdict == wanted:
                compared.same[pair.template] += 1
            elif reason is not None:
                compared.explained[reason] += 1
            else:
                compared.unexplained.append((pair, verdict))
    return compared
