"""Fifty assertions in SPADE's style: Monty and CPython agree on every response, raising included."""

from __future__ import annotations

import asyncio
import inspect
import re
from typing import Any

import pytest

from promptpex.assertions import compile_checks, evaluator
from promptpex.assertions.model import CheckResult
from tests.assertions.python_samples import SUPPORTED, UNSUPPORTED, Assertion

EXAMPLE: dict[str, Any] = {
    "product": "desk lamp",
    "items": ["lamp", "cable", "bulb"],
    "least": 5,
    "site": "shop.example",
    "price": 42.5,
    "ordered": "2026-11-02",
    "name": "Ada",
}
PROMPT = "Describe the desk lamp for customers. Offer: {{items}}. Answer in one paragraph."

RESPONSES = (
    "The desk lamp costs 42.50 euros. It comes with a cable and a bulb.",
    "Dear Ada,\n\nyour lamp, cable and bulb were sent on 2026-11-05.\n\nKind regards\nThe shop",
    "- lamp\n- cable\n- bulb",
    "* one\n* two\n\n1. first\n2. second\n3. third",
    "1. first\n3. third",
    '{"name": "lamp", "price": 42.5, "tags": ["Bright", "cosy"]}',
    '{"name":"lamp","price":42,"tags":["a","B"]}',
    '{"name":"Lämpchen","price":0}',
    '["a", "b"]',
    "[]",
    "{}",
    '```json\n{"name": "lamp"}\n```',
    '{"name": "lamp"',
    "",
    " ",
    "\n\n",
    "x",
    "12",
    "Total: 42",
    "Price: 42.50\nCable: 3.00\nTotal: 45.50",
    "3 lamps, 20 cables, 100 bulbs and 2500 more",
    "100% of 30 % is 30.5%, and 250% is too much",
    "On 2026-11-05, 2026-11-09 and 2026-11-21.",
    "On 2026-11-21 and 2026-11-05.",
    "On 2026-02-30 or 2026-13-01.",
    "Established in 1987, renewed in 2019.",
    "**Bold** and **open",
    "# Title\n\nSee [the shop](https://shop.example/lamp) or http://other.example.",
    "## One\n## Two\n[x](https://elsewhere.example/a)",
    "Write to ada@shop.example or call +44 20 7946 0958.",
    "I'm SORRY, we obviously regret the delay.",
    "Dear [NAME], {{product}} is <MISSING>.",
    "Café, naïve, Straße, Ωmega, 日本語, emoji 😀 and e\u0301.",
    "Ein Café\u2009in der “Straße” – für 5\u00a0€ …",
    "cafe\tcafe\tcafe cafe cafe",
    "aaaa bbbb the the the lamplight lamplight lamplight",
    "THE LAMP IS ON SALE",
    "A Title Of Words\nand a line",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "| a |\n| b | c |",
    "Answer: 7",
    "Name: Ada\nPrice: 3: or 4",
    "desk lampdesk lamp desk lamp, paragraph of customers",
    "word " * 90,
    "One. Two! Three? Four. Five. Six.",
    "  indented\n    more\n   odd",
    "ends with a comma,",
    "bulb, cable, lamp",
    "No, no items here at all, only 0.333 of 1,000.",
    "Line\r\nwith\rreturns\x0band\x0cfeeds\x85and\u2028separators",
    "\u202eright to left\u202c and \ufefftext",
    "Ünder, ﬁne, ſharp, ǅ and ß",
)


HEADER = """
import collections, datetime, itertools, json, math, re, unicodedata
from typing import Any
"""


def in_monty(assertion: Assertion) -> list[CheckResult]:
    """What the assertion says of each response, in the sandbox."""
    compiled = compile_checks([{"kind": "python", "value": HEADER + inspect.getsource(assertion)}])
    outputs = [evaluator.checked_output(text, EXAMPLE, prompt=PROMPT) for text in RESPONSES]
    return [report.results[0] for report in evaluator.evaluate_many([(compiled, each, None) for each in outputs])]


def in_cpython(assertion: Assertion, response: str) -> str:
    try:
        value = assertion(dict(EXAMPLE), PROMPT, response)
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
    except Exception:
        return "script-error"
    return "pass" if value else "fail"


async def _awaited(value: Any) -> object:
    return await value


@pytest.mark.parametrize("assertion", SUPPORTED, ids=lambda each: each.__name__)
def test_monty_and_cpython_agree(assertion: Assertion) -> None:
    there = [result.unscored or result.status for result in in_monty(assertion)]
    here = [in_cpython(assertion, response) for response in RESPONSES]
    assert dict(zip(RESPONSES, there, strict=True)) == dict(zip(RESPONSES, here, strict=True))


@pytest.mark.parametrize("assertion", UNSUPPORTED, ids=lambda each: each.__name__)
def test_what_monty_lacks_is_told_and_is_no_verdict(assertion: Assertion) -> None:
    assert {result.unscored for result in in_monty(assertion)} == {"unsupported-python"}
    assert {in_cpython(assertion, response) for response in RESPONSES} & {"pass", "fail"}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"b$", "ab\n"),
        (r"b\Z", "ab\n"),
        (r"^\w+$", "i\u0307s"),
        (r"^\s$", "\x1c"),
        (r"(?P<n>a)(?(n)b|c)", "ab"),
        (r"[a&&b]", "a"),
    ],
)
def test_where_the_regular_expressions_of_monty_differ(pattern: str, text: str) -> None:
    """Named in docs/assertions.md; one that is mended belongs among the samples."""
    code = f"import re\ndef f(output):\n    return bool(re.search({pattern!r}, output))"
    compiled = compile_checks([{"kind": "python", "value": code}])
    status = evaluator.evaluate(compiled, evaluator.checked_output(text)).status
    assert (status == "pass") != bool(re.search(pattern, text))
