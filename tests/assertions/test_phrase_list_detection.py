"""Exclusions that checks take for kept where some phrases are absent."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions.authored_checks import guessed_phrases
from promptpex.core.records import Check

STATED = 'Do not apologise, or say sorry. Never say "I can’t help".'


@pytest.mark.parametrize(
    ("kind", "value", "guessed"),
    [
        ("not-contains-any", ["I'm sorry", "I regret"], ("I'm sorry", "I regret")),
        ("not-contains-any", ["I can't help", "**", "12"], ()),
        ("not-regex", r"\b(?:sorry|apologies|my  bad)\b", ("apologies", "my  bad")),
        ("not-regex", r"^\d+$|[A-Z]{3}", ()),
        ("not-word-any", ["pardon"], ("pardon",)),
        ("is-json", {"type": "object"}, ()),
        ("question", "Does it apologise?", ()),
        ("python", "def f(response):\n    return not any(p in response for p in ['I am sorry', \"my bad\"])", 2),
        ("python", 'def f(response):\n    """I am sorry, my bad"""\n    return f"so so" not in response', ()),
        ("python", "def f(example, response):\n    return example['the name'] in response", ()),
    ],
)
def test_phrases_that_nobody_names_are_guesses(kind: str, value: Any, guessed: Any) -> None:
    phrases = guessed_phrases(Check(kind=kind, value=value), STATED)
    assert phrases == guessed or len(phrases) == guessed
