"""What proposed checks are tried on: JSON in other forms, and outputs that the prompt prescribes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.specs.check_trials import DEEPEST, LONGEST, json_value, renderings
from promptpex.specs.propose_checks import MAX_VALUES, prescribed_outputs

VALUE = '{"total": 19.90, "at": "a/b <é> 😀\\n", "items": [{"sku": "x", "n": 1e2}, [], {}, null, true]}'


def test_every_form_says_the_same_and_differs_from_the_others() -> None:
    forms = list(renderings(VALUE))
    texts = [form.text for form in forms]
    assert [form.how for form in forms] == [
        "with escapes",
        "without white space",
        "indented",
        "with its keys in another order",
    ]
    assert len({*texts, VALUE}) == 5
    assert all(json.loads(text) == json.loads(VALUE) for text in texts)
    assert all(json_value(text) == json_value(VALUE) for text in texts)
    assert all("19.90" in text and "1e2" in text for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        "NN",
        '"text"',
        "1",
        '```json\n{"a": 1}\n```',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),
        "[" * 9_000 + "]" * 9_000,
        json.dumps(["x" * LONGEST]),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_not_plain_json_is_left_alone(text: str) -> None:
    assert (list(renderings(text)), json_value(text)) == ([], None)


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
