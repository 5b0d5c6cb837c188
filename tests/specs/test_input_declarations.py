"""What Prompty's front matter says of a variable's type reaches the input spec, in both versions."""

from __future__ import annotations

import pytest

from promptpex.promptfile import parse
from promptpex.specs.input_declarations import declared


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
