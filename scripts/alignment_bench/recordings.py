"""Worlds of published recordings: models' answers, code that decides some rules as the truth, candidates of ours.

The recordings are not part of the project (``benchmarks.reproduce`` says where they come from). The candidates are
what an author might propose for each rule, most of them good guesses at best; the recorded judge's verdict is one too.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from alignment_bench.worlds import World, as_bits, split
from benchmarks.reproduce.dataset import read_benchmark
from promptpex.alignment.choose import Contender
from promptpex.assertions import OutputOfCase, RuleCheckJob, chunked
from promptpex.core.records import Run
from promptpex.engines import LocalEngine

Passes = Callable[[str], object]


def _longest(characters: int) -> Passes:
    return lambda text: len(text) <= characters


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return False


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


_TAG = re.compile(r"\b(?:NN[SP]{0,2}|VB[DGNPZ]?|JJ[RS]?|RB[RS]?|IN|DT|CC|CD|PRP|MD|UH|TO|Unknown|CantAnswer)\b")

CANDIDATES: dict[str, dict[str, dict[str, Passes]]] = {
    "speech-tag": {
        "r6": {
            "one-word": lambda text: len(text.split()) == 1,
            "three-words": lambda text: len(text.split()) <= 3,
            "five-characters": _longest(5),
            "ten-characters": _longest(10),
            "capitals": lambda text: text.strip().isupper(),
            "no-full-stop": lambda text: "." not in text,
            "holds-a-tag": _TAG.search,
            "begins-with-a-tag": lambda text: _TAG.match(text.strip()),
        }
    },
    "classify-input-text": {
        "r3": {
            "one-word": lambda text: len(text.split()) == 1,
            "three-words": lambda text: len(text.split()) <= 3,
            "no-full-stop": lambda text: not text.strip().endswith("."),
            "no-line-break": lambda text: "\n" not in text.strip(),
            "twenty-characters": _longest(20),
            "hundred-characters": _longest(100),
            "begins-with-a-category": lambda text: text.strip().startswith(("World", "Sports", "Business", "Sci")),
            "no-category-word": lambda text: "category" not in text.lower(),
        }
    },
    "extract-names": {
        "r1": {
            "is-json": _is_json,
            "begins-with-a-bracket": lambda text: text.strip().startswith("["),
            "has-quotes": lambda text: '"' in text,
            "short": _longest(120),
            "no-backslash": lambda text: "\\" not in text,
            "no-na": lambda text: '"NA"' not in text,
        },
        "r2": {
            "no-word-twice": lambda text: len(_words(text)) == len(set(_words(text))),
            "five-words": lambda text: len(_words(text)) <= 5,
            "ten-words": lambda text: len(_words(text)) <= 10,
            "three-items": lambda text: text.count(",") <= 2,
            "is-json": _is_json,
        },
        "r4": {
            "begins-with-a-bracket": lambda text: text.strip().startswith("["),
            "ends-with-a-bracket": lambda text: text.strip().endswith("]"),
            "no-fence": lambda text: "```" not in text,
            "no-colon": lambda text: ":" not in text,
            "short": _longest(200),
        },
    },
    "art-prompt": {
        "r1": {
            "400-characters": _longest(400),
            "450-characters": _longest(450),
            "500-characters": _longest(500),
            "600-characters": _longest(600),
            "no-blank-line": lambda text: "\n\n" not in text.strip(),
            "no-line-break": lambda text: "\n" not in text.strip(),
            "three-sentences": lambda text: len(re.findall(r"[.!?](?:\s|$)", text)) <= 3,
            "five-sentences": lambda text: len(re.findall(r"[.!?](?:\s|$)", text)) <= 5,
            "no-colon": lambda text: ":" not in text,
        }
    },
}
"""By benchmark and rule."""


@dataclass(frozen=True)
class Recording:
    """The outputs of a recording, each (case, text) once.

    Attributes:
        cases: of each output.
        broken: per rule that code decides, the outputs that break it, as bits.
        contenders: candidates.
    """

    name: str
    cases: tuple[str, ...]
    broken: dict[str, int]
    contenders: tuple[Contender, ...]

    def world(self, seed: int) -> World:
        """A world, its halves drawn anew for each seed."""
        return split(self.name, self.cases, self.broken, self.contenders, seed)


def recordings(folder: Path) -> Iterator[Recording]:
    """The recordings in a folder ``published``; none where it is absent."""
    for name, by_rule in CANDIDATES.items():
        place = folder / "evals" / "v7" / name
        if place.is_dir():
            yield _recording(name, read_benchmark(place).run, by_rule)


def _recording(name: str, run: Run, by_rule: dict[str, dict[str, Passes]]) -> Recording:
    usable = [one for one in run.outputs if one.error is None and one.text and one.text.strip()]
    outputs = list({(one.case, one.text): one for one in usable}.values())
    inputs = {case.id: case.inputs for case in run.suite.cases}
    rules = tuple(rule for rule in run.spec.rules if rule.id in by_rule)
    to_check = [OutputOfCase(one, inputs[one.case], None) for one in outputs]
    chunks = asyncio.run(LocalEngine().map(RuleCheckJob(rules), chunked(to_check)))
    by_code = {(one.verdict.case, one.verdict.model, one.verdict.rule): one.verdict for each in chunks for one in each}
    judged = {(one.case, one.model): one.status for one in run.verdicts}
    broken, contenders = {}, []
    for rule, candidates in by_rule.items():
        broken[rule] = as_bits(by_code[one.case, one.model, rule].status == "fail" for one in outputs)
        for order, (label, passes) in enumerate(candidates.items()):
            fails = as_bits(not passes(one.text or "") for one in outputs)
            contenders.append(Contender(f"{rule}-{label}", (rule,), fails, (0, order)))
        fails = as_bits(judged.get((one.case, one.model)) == "fail" for one in outputs)
        contenders.append(Contender(f"{rule}-judge", (rule,), fails, (2,)))
    return Recording(name, tuple(one.case for one in outputs), broken, tuple(contenders))
