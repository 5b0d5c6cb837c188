"""Things are counted as people say it."""

from __future__ import annotations

import pytest

from promptpex.codecs.text.wording import QUOTED, cut, did_you_mean, plural, quoted, sentence


@pytest.mark.parametrize(("count", "text"), [(0, "0 replies"), (1, "1 reply"), (2, "2 replies")])
def test_one_is_one(count: int, text: str) -> None:
    assert plural(count, "reply", "replies") == text
    assert plural(count, "case") == f"{count} case{'' if count == 1 else 's'}"


def test_what_was_meant_is_the_nearest_name_if_one_is_near() -> None:
    names = ["rule", "inverse", "source"]
    assert did_you_mean("ruel", names) == "did you mean 'rule'?"
    assert did_you_mean("zzz", names) == ""
    assert did_you_mean("ruel", names, before="not-") == "did you mean 'not-rule'?"
    assert sentence(did_you_mean("ruel", names)) == "Did you mean 'rule'?"
    assert sentence("it is so") == "It is so."
    assert did_you_mean("ab1", ["ab2", "ab3", "x"], count=2, likeness=0.5) in (
        "did you mean one of 'ab2', 'ab3'?",
        "did you mean one of 'ab3', 'ab2'?",
    )


def test_a_cut_text_has_at_most_the_length_and_says_so() -> None:
    assert cut("abcde", 5) == "abcde"
    assert cut("abcdef", 5) == "abcd…"
    assert quoted(" a\n b ") == "“a b”"
    assert len(quoted("x" * 500)) == QUOTED + 2
