"""What a proposed check is read as."""

from __future__ import annotations

import re
from typing import Any

import pytest

from promptpex.assertions import KIND_NAMES, check
from promptpex.assertions.authored_checks import KINDS, without_needless_escapes
from promptpex.core import stage_templates
from promptpex.core.records import Check
from promptpex.specs.ask_checks import CheckReply, read_check


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (
            "not-word-any",
            "(?i)as an AI\n sorry \n",
            Check(kind="not-word-any", value=["as an AI", "sorry"], ignore_case=True),
        ),
        ("contains-any", "RED\nBLUE\n", Check(kind="contains-any", value=["RED", "BLUE"])),
        ("not-contains-any", "(?i)red\nblue", Check(kind="not-icontains-any", value=["red", "blue"])),
        ("contains", "(?i)red", Check(kind="icontains", value="red")),
        ("equals", "NN", Check(kind="equals", value="NN")),
        (
            "not-starts-with",
            "(?i)sure.",
            Check(kind="not-regex", value=r"^sure\.", dialect="unicode", ignore_case=True),
        ),
        ("equals", "(?i)n/a", Check(kind="regex", value=r"^n\/a$", dialect="unicode", ignore_case=True)),
        ("ends-with", "(?i)(end)", Check(kind="regex", value=r"\(end\)$", dialect="unicode", ignore_case=True)),
        ("regex", "(?i)^yes$", Check(kind="regex", value="^yes$", dialect="unicode", ignore_case=True)),
        ("is-json", "", Check(kind="is-json")),
        ("contains-json", '{"multipleOf": 0.01}', Check(kind="contains-json", value={"multipleOf": 0.01}, exact=True)),
        ("word-count", "40 to 120 words", Check(kind="word-count", value={"min": 40, "max": 120}, unit="spoken-words")),
        ("word-count", "At least 2 sentences", Check(kind="word-count", value={"min": 2}, unit="sentences")),
        ("word-count", "at most 500 characters", Check(kind="word-count", value={"max": 500}, unit="characters")),
        ("not-word-count", "exactly 1 line", Check(kind="not-word-count", value={"min": 1, "max": 1}, unit="lines")),
        ("is-xml", "whatever", Check(kind="is-xml")),
        ("contains", "{{order.total}}", Check(kind="contains", value="{{order.total}}")),
    ],
)
def test_a_reply_is_read_as_a_check(kind: str, value: str, made: Check) -> None:
    assert read_check(CheckReply(path="", kind=kind, value=value), frozenset(["order"])) == made
    there = read_check(CheckReply(path="items[].sku", kind=kind, value=value), frozenset(["order"]))
    assert there.to_dict() == {**made.to_dict(), "path": "items[].sku"}
    check("x", [made])


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (r"\"a\": \'b\' \- \, \_ \ü", r""""a": 'b' - , _ ü"""),
        (r"[\w\-.]+\.\/\$\\\-\d", r"[\w\-.]+\.\/\$\\-\d"),
        (r"\p{L}\u{1F600}\n\\", r"\p{L}\u{1F600}\n\\"),
        ("a\\", "a\\"),
        ("", ""),
    ],
)
def test_escapes_that_the_dialect_refuses_and_that_mean_nothing_are_left_out(written: str, kept: str) -> None:
    assert without_needless_escapes(written) == kept


def test_patterns_in_schemas_are_repaired_as_well() -> None:
    value = r'{"type": "object", "properties": {"pattern": {"type": "string", "pattern": "^\\#\\w+$"}}}'
    made: Any = read_check(CheckReply(path="$", kind="is-json", value=value), frozenset())
    assert check('{"pattern": "#a"}', [made]).status == "pass"
    assert check('{"pattern": "a"}', [made]).status == "fail"


def test_every_kind_that_may_be_proposed_is_one_and_stands_in_the_template() -> None:
    source = (stage_templates.folder() / "specs" / "checks.jinja").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^- |, |; )([a-z]+(?:-[a-z]+)*)(?=[,:])", source, re.MULTILINE))
    assert named >= KINDS
    assert set(KIND_NAMES) >= KINDS
