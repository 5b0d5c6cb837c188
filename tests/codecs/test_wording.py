"""Things are counted as people say it."""

from __future__ import annotations

import pytest

from promptpex.codecs.wording import plural


@pytest.mark.parametrize(("count", "said"), [(0, "0 replies"), (1, "1 reply"), (2, "2 replies")])
def test_one_is_one(count: int, said: str) -> None:
    assert plural(count, "reply", "replies") == said
    assert plural(count, "case") == f"{count} case{'' if count == 1 else 's'}"
