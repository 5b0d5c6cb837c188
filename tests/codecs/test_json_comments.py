"""JSON with comments loses them, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.assertions import assertion_file
from promptpex.codecs.json_text import without_comments
from promptpex.core.errors import CheckError

COMMENTED = """[
  {"type": "contains", // what it has to hold
   "value": "http://x.y // \\" /* no comment */"},
  /* and
     how long it may be */
  {"type": "word-count", "value": {"max": 3}} // the end
]
"""


def test_comments_become_blanks_on_their_lines(tmp_path: Path) -> None:
    plain = without_comments(COMMENTED)
    assert json.loads(plain)[0]["value"] == 'http://x.y // " /* no comment */'
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in COMMENTED.splitlines()]
    path = tmp_path / "checks.json"
    path.write_text(COMMENTED, encoding="utf-8")
    assert [check["type"] for check in assertion_file.read(path).raw] == ["contains", "word-count"]
    path.write_text(COMMENTED.replace("word-count", "word-cnt"), encoding="utf-8")
    with pytest.raises(CheckError) as caught:
        assertion_file.read(path)
    assert caught.value.line == 6


@pytest.mark.parametrize("text", ["- a // b\n", "{a: http://x.y}\n", "[a, // b\n c]\n", "{", '"a" // b', ""])
def test_what_is_no_json_without_them_stays(text: str) -> None:
    assert without_comments(text) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('/*"\\ \n\u00e9a'), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.sampled_from('/*"\\a'), max_size=4), inner),
    max_leaves=8,
)


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), st.integers(0, 3))
def test_a_value_is_the_same_with_comments_around_it(value: object, indent: int) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    commented = text.replace("\n", ' // a "comment" \\\n') + " /* 'b' */ // c"
    assert json.loads(without_comments(commented)) == value
