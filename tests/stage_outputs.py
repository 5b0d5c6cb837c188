"""Hand-counted promises of prompts and outputs with the truth written down, read from YAML.

Three published prompts have theirs in ``tests/data/stage_outputs``, in one file each; a benchmark that has any keeps
``promises.yaml`` and ``outputs.yaml`` beside its prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

DATA = Path(__file__).parent / "data" / "stage_outputs"
BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@dataclass(frozen=True)
class Promise:
    """One promise. ``needs`` is ``output`` or ``input``; ``vague`` where nobody could decide whether it is kept."""

    id: str
    promise: str
    needs: str
    vague: bool = False
    words: str = ""


@dataclass(frozen=True)
class TrueOutput:
    """An output for one input, with the ids of the promises that it breaks and of those that one could argue about."""

    id: str
    input: str
    output: str
    breaks: tuple[str, ...]
    note: str
    arguable: tuple[str, ...] = ()
    planted: str | None = None


@dataclass(frozen=True)
class TruthSet:
    """The promises of one prompt, its inputs by id (variable to text) and the outputs."""

    name: str
    promises: tuple[Promise, ...]
    inputs: dict[str, dict[str, str]]
    outputs: tuple[TrueOutput, ...]


def places() -> list[Path]:
    """Where the sets are: a file each, or the folder of a benchmark."""
    return sorted(DATA.glob("*.yaml")) + sorted(path.parent for path in BENCHMARKS.glob("*/outputs.yaml"))


@cache
def read_truths(place: Path) -> TruthSet:
    """The set in a file or in a benchmark's folder; a field that is not known is a TypeError."""
    files = [place / "promises.yaml", place / "outputs.yaml"] if place.is_dir() else [place]
    data: dict[str, Any] = {}
    for file in files:
        data |= YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))
    inputs = {
        key: {name: text for name, text in one.items() if name != "brings"} for key, one in data["inputs"].items()
    }
    return TruthSet(
        name=place.stem,
        promises=tuple(Promise(**one) for one in data["promises"]),
        inputs=inputs,
        outputs=tuple(_output(one) for one in data["outputs"]),
    )


def _output(one: dict[str, Any]) -> TrueOutput:
    return TrueOutput(**one | {"breaks": tuple(one["breaks"]), "arguable": tuple(one.get("arguable", ()))})
