from __future__ import annotations

import math

import pytest

from promptpex.core.records import Completion, TokenLogprob
from promptpex.judging.judge import confidences

LABELS = ("pass", "fail")


def token(text: str, share: float = 1.0, **others: float) -> TokenLogprob:
    top = tuple((name, math.log(value)) for name, value in {text: share, **others}.items())
    return TokenLogprob(token=text, logprob=math.log(share), top=top)


def reply(*tokens: TokenLogprob) -> Completion:
    return Completion(text="".join(one.token for one in tokens), logprobs=tokens)


def test_the_label_is_weighed_against_the_other_one() -> None:
    answer = reply(token('{"verdict": "'), token("pass", 0.6, fail=0.2, maybe=0.2), token('"}'))
    assert confidences(answer, LABELS) == [pytest.approx(0.75)]


def test_a_label_split_into_tokens_and_one_behind_a_quote() -> None:
    answer = reply(
        token('{"verdict":'), token(' "fa', 0.9), token("il"), token('","x":{"verdict": "'), token("p", 0.5, f=0.5),
        token('ass"}}'),
    )  # fmt: skip
    assert confidences(answer, LABELS) == [pytest.approx(1.0), pytest.approx(0.5)]


def test_no_confidence_is_given_where_none_is_known() -> None:
    assert confidences(Completion(text='{"verdict": "pass"}'), LABELS) == []
    other = Completion(text='{"verdict": "pass"}', logprobs=(token("something else"),))
    assert confidences(other, LABELS) == []
    assert confidences(reply(token("no verdict")), LABELS) == []
