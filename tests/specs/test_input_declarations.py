"""What Prompty's front matter says of a variable's type reaches the input spec, in both versions."""

from __future__ import annotations

import pytest

from promptpex.promptfile import parse
from promptpex.specs.extract import declared, unread_declarations


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ("{type: integer}", "integer"),
        ("{kind: integer}", "integer"),
        ("{kind: string, enumValues: [a, b]}", "enum"),
        ("{kind: array}", "json"),
        ("{kind: thread}", "text"),
        ("Jane", "text"),
    ],
)
def test_a_type_is_called_type_or_kind(about: str, expected: str) -> None:
    prompt = parse(f"---\ninputs:\n  q: {about}\n---\nsystem:\n{{{{q}}}}\n", "p.prompty")
    assert declared(prompt, "q").type == expected


@pytest.mark.parametrize(
    ("about", "sentences"),
    [
        ("{type: strnig}", ["the input 'q' is taken for a text: there is no type 'strnig'; did you mean 'string'?"]),
        ("{maxLenght: 4}", ["the input 'q': nothing reads the key 'maxLenght'; did you mean 'maxLength'?"]),
        ("{kind: thread, sample: Jane, required: true, description: Who, enum: [a]}", []),
        ("Jane", []),
    ],
)
def test_a_slip_in_a_declaration_is_named_and_other_tools_keys_are_not(about: str, sentences: list[str]) -> None:
    prompt = parse(f"---\ninputs:\n  q: {about}\n---\nsystem:\n{{{{q}}}}\n", "p.prompty")
    unread = unread_declarations(prompt)
    assert len(unread) == len(sentences)
    assert all(sentence.startswith(begin) for sentence, begin in zip(unread, sentences, strict=True)), unread
