"""Outputs that a prompt prescribes for special cases are found by their form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.specs.propose_checks import MAX_VALUES, prescribed_outputs

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "published" / "prompts"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            "If no tag fits, return Unknown.  If you are unable to tag it, return\nCantAnswer.",
            ("Unknown", "CantAnswer"),
        ),
        ('If you find none, or are not sure, return ["NA"]', ('["NA"]',)),
        (r"If you find none, return [\"NA\"]", ('["NA"]',)),
        ('If you do not know, just say "I don\'t know".', ("I don't know",)),
        ("Otherwise reply with the word ‘none’ only.", ("none",)),
        ("If there is no name, the reply is an empty array: []. Never fill it.", ("[]",)),
        ("When the text is empty, output `N/A` and nothing else.", ("N/A",)),
        ('If it is late, say "sorry" first, then explain.', ()),
        ('If it is unclear, answer "unknown" in the field "category".', ()),
        ("If the user writes in German, answer in German.", ()),
        ("Return only the tag.", ()),
        ('Begin with "Dear customer".', ()),
        ("", ()),
    ],
)
def test_what_a_sentence_with_a_condition_orders_is_found(text: str, values: tuple[str, ...]) -> None:
    assert prescribed_outputs(text) == values


def test_it_is_bounded() -> None:
    assert len(prescribed_outputs("\n".join(f'If {n}, return "{n}".' for n in range(99)))) == MAX_VALUES
    assert prescribed_outputs("If return " * 20_000) == ()
    assert prescribed_outputs("if " + "return the " * 20_000) == ()


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published prompts are not beside the repository")
def test_the_published_prompts() -> None:
    def of(name: str) -> tuple[str, ...]:
        turns = json.loads((PUBLISHED / f"{name}.json").read_text(encoding="utf-8"))["messages"]
        return prescribed_outputs("\n\n".join(turn["content"] for turn in turns))

    assert of("speech-tag") == ("Unknown", "CantAnswer")
    assert of("extract-names") == ('["NA"]',)
    assert of("art-prompt") == ()
