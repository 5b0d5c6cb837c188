"""A small benchmark in the shape of the published recordings, in our own words, to be damaged at will."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

PROMPTID = "abc1234"
MODELS = ("gpt-4o-mini", "gemma2:9b")
RESULT_COLUMNS = (
    "id", "promptid", "ruleid", "rule", "model", "input", "output", "compliance", "complianceText", "baseline",
)  # fmt: skip
TESTS = """ruleid, testid, testinput, expectedoutput, reasoning
1, 1, "a red, round apple", "RED", "plain"

2, 1, "the sea", "BLUE", "plain"
3, 1, "coal", "BLACK", "asks for the opposite"
4, 1, "a lemon", "YELLOW", "asks for the opposite"
"""
TEXTS = ("a red, round apple", "the sea", "coal", "a lemon")
RULES = ("The output is one word.", "The output is in capitals.")
INVERSES = ("The output has several words.", "The output is in small letters.")
BASELINE = ("Here are five test inputs for you:", "grass")


def write(root: Path, name: str = "colours", *, prompt: bool = True) -> Path:
    """Writes the benchmark under ``root/evals/v7`` and gives its folder."""
    folder = root / "evals" / "v7" / name
    folder.mkdir(parents=True)
    lines(folder / "rules.txt", RULES)
    lines(folder / "inverse_rules.txt", INVERSES)
    lines(folder / "input_spec.txt", ["The input names a thing."])
    lines(folder / "intent.txt", ["Name the colour."])
    (folder / "tests.csv").write_text(TESTS, encoding="utf-8")
    table(folder / "test_results.csv", [RESULT_COLUMNS, *result_rows()])
    evals = [("promptid", "ruleid", "input", "validity", "coverage")]
    evals += [(PROMPTID, str(n), text, "ok" if n < 4 else "err", "ok") for n, text in enumerate(TEXTS, 1)]
    table(folder / "test_evals.csv", evals)
    rules = [("id", "promptid", "ruleid", "rule", "groundedText", "grounded")]
    rules += [(str(n), PROMPTID, str(n), rule, "OK", "ok" if n == 1 else "err") for n, rule in enumerate(RULES, 1)]
    table(folder / "rule_evals.csv", rules)
    if prompt:
        messages = [
            {"role": "system", "content": "Name the colour of the thing in one word. Answer in capitals."},
            {"role": "user", "content": "{{thing}}"},
        ]
        place = root / "prompts" / f"{name}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps({"promptid": PROMPTID, "messages": messages}), encoding="utf-8")
    return folder


def result_rows() -> list[list[str]]:
    """Every model right on every test, but for the second on the second rule's."""
    rows = []
    for model in MODELS:
        for number, text in enumerate(TEXTS, 1):
            rule = (*RULES, *INVERSES)[number - 1]
            right = not (model == MODELS[1] and number in (2, 4))
            verdict = "ok" if right else "err"
            row = [
                f"{number:07x}",
                PROMPTID,
                str(number),
                rule,
                model,
                text,
                "RED" if right else "red",
                verdict,
                "OK",
                "",
            ]
            rows.append(row)
        for number, text in enumerate(BASELINE, 1):
            rows.append([f"b{number:06x}", PROMPTID, "", "", model, text, "GREEN", "ok", "OK", "1"])
    return rows


def table(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """A CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def lines(path: Path, texts: Iterable[str]) -> None:
    """A text file, a line each."""
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
