"""The hand-made truths stay honest: ids exist, counts hold, no output stands twice, every promise can be broken."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from promptpex.promptfile import read
from tests.stage_outputs import DATA, places, read_truths

PUBLISHED = {"art-prompt": 45, "extract-names": 45, "speech-tag": 45}
PLANTED = {
    "published": {"odd": 5, "to-the-judge": 3},
    "benchmark": {"decision": 5, "odd": 5, "to-the-judge": 4},
}
RIGHT = {"odd", "prescribed"}

each_set = pytest.mark.parametrize("place", places(), ids=lambda path: path.stem)
each_benchmark = pytest.mark.parametrize(
    "place", [path for path in places() if path.is_dir()], ids=lambda path: path.stem
)


def _doubles(texts: list[str]) -> list[str]:
    return [text for text, n in Counter(texts).items() if n > 1]


def test_the_three_published_prompts_have_their_outputs() -> None:
    assert {path.stem for path in DATA.glob("*.yaml")} == set(PUBLISHED)
    for name, least in PUBLISHED.items():
        assert len(read_truths(DATA / f"{name}.yaml").outputs) >= least, name


@each_set
def test_ids_exist_and_truths_do_not_contradict_each_other(place: Path) -> None:
    truths = read_truths(place)
    known = {promise.id for promise in truths.promises}
    vague = {promise.id for promise in truths.promises if promise.vague}
    for output in truths.outputs:
        assert output.input in truths.inputs, output.id
        assert set(output.breaks) | set(output.arguable) <= known, output.id
        assert not set(output.breaks) & (set(output.arguable) | vague), output.id
        assert _doubles([*output.breaks, *output.arguable]) == [], output.id
        assert output.note.strip(), output.id


@each_set
def test_what_is_planted_is_what_it_says(place: Path) -> None:
    truths = read_truths(place)
    for output in truths.outputs:
        assert output.planted is None or (output.planted in RIGHT) == (not output.breaks), output.id
    counts = Counter(output.planted for output in truths.outputs)
    wanted = PLANTED["benchmark" if place.is_dir() else "published"]
    assert {kind: n for kind, n in wanted.items() if counts[kind] < n} == {}


@each_benchmark
def test_inputs_are_those_of_the_prompt(place: Path) -> None:
    prompt = read(place / "prompt.md")
    for key, inputs in read_truths(place).inputs.items():
        assert set(inputs) == set(prompt.variables), key
        assert isinstance(json.loads(inputs["record"]), dict), key
        weekday, day, _ = inputs["received"].split()
        assert date.fromisoformat(day).strftime("%A") == weekday, key


@each_benchmark
def test_promises_quote_the_prompt(place: Path) -> None:
    prompt = " ".join((place / "prompt.md").read_text(encoding="utf-8").split())
    for promise in read_truths(place).promises:
        for words in promise.words.replace("# Category ...", "...").split("..."):
            assert words.strip() in prompt, (promise.id, words)
