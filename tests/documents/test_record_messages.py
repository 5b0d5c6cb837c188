"""What is wrong with a value is said in plain words with an example, never in those of the library that noticed it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.documents.least_files import CHECK, reader_errors
from tests.documents.test_schemas import MISTAKES, RULE, with_case, with_check

FOREIGN = re.compile(
    r"\bvalid (?:string|integer|number|boolean|dictionary|tuple|list)|unable to|parse|Input should|String should"
    r"|instance of|greater than|less than or equal|pydantic|\bNone\b|Value error"
)

MORE: list[tuple[str, Any, str]] = [
    ("cases", with_case(inputs="hello"), "a mapping here, such as {question: Where is my parcel?}, not text"),
    ("cases", with_case(inverse=3), "inverse: there should be true or false here, not 3"),
    ("cases", with_case(id=["a"]), "there should be text here, such as two-questions, not a list"),
    ("cases", with_case(expected="A", also_right=[1]), "text here, not a number; put it in quotes"),
    ("cases", with_case(rating={"severity": 1.5, "importance": 1}), "a whole number here, such as 3, not 1.5"),
    ("cases", with_case(rating={"severity": 6, "importance": 1}), "severity: there should be 5 or less here, not 6"),
    ("spec", with_check(kind="contains", value="x", weight=None), "a number here, such as 2, not nothing"),
    ("spec", with_check(kind="word-count", value=3, unit=None), "unit: nothing is not one of the words it may be"),
    ("spec", with_check(kind="contains", value="x", threshold=float("inf")), "a finite number"),
    ("spec", {"prompt": "p", "rules": [{**RULE, "checks": CHECK}]}, "a list here, such as [{kind: word-count"),
    ("spec", {"prompt": "p", "rules": [{**RULE, "judge": "gpt"}]}, "there should be a list here, such as [a, b]"),
    ("spec", {"prompt": "p", "rules": [RULE], "inputs": {"a": {"min_length": "few"}}}, "a whole number here"),
    ("candidates", {"prompt": "p", "criteria": [{"id": "a", "text": "One.", "max_ffr": 3}]}, "1 or less here, not 3"),
    ("settings", {"repeats": "often"}, 'repeats: it should be a whole number, such as 3, not "often"'),
    ("settings", {"max_cost": -1}, "max_cost: it should be 0 or more, not -1"),
    ("settings", {"scenarios": {"a": 1}}, 'a list, such as [{name = "angry customer", constraints = ['),
    ("settings", {"prices": 3}, 'a table, such as {"my/model" = {input = 0.1, output = 0.4}}, not 3'),
    ("settings", {"rank_by": "x" * 50}, "it should be text of at most 40 characters"),
    ("settings", {"models": {"a": {"model": "openai/x", "think": [1]}}}, "think: it should be true or false, not [1]"),
    ("prompt", {"inputs": {"word": {"min_length": "few"}}}, "a whole number here, such as 3, not 'few'"),
]


@pytest.mark.parametrize(("name", "data", "says"), MORE)
def test_a_mistake_is_said_with_an_example(tmp_path: Path, name: str, data: Any, says: str) -> None:
    assert any(says in message for message in reader_errors(name, data, tmp_path)), reader_errors(name, data, tmp_path)


@pytest.mark.parametrize(("name", "data"), [*MISTAKES, *((name, data) for name, data, _ in MORE)])
def test_no_message_has_words_of_a_library(tmp_path: Path, name: str, data: Any) -> None:
    assert [message for message in reader_errors(name, data, tmp_path) if FOREIGN.search(message)] == []
