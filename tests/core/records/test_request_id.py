from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Message, Params, Request

BASE = Request(model="m", messages=(Message(role="user", content="hello"),))


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"messages": (Message(role="user", content="hello!"),)},
        {"messages": (Message(role="system", content="hello"),)},
        {"params": Params(seed=1)},
        {"params": Params(extra={"top_k": 4})},
        {"reply_schema": {"type": "object"}},
        {"template": "ab"},
        {"repeat": 1},
        {"api_base": "http://127.0.0.1:1"},
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_whatever_shapes_the_reply_shapes_the_id(change: dict[str, Any], known: bool) -> None:
    request = BASE.model_copy()
    if known:
        assert request.id == BASE.id
    changed = request.replace(**change).id
    assert changed != BASE.id
    assert request.model_copy(update=change).id == changed
    assert request.model_copy(update=change, deep=True).id == changed


def test_an_id_that_was_asked_for_leaves_the_request_as_it_was() -> None:
    one, other = BASE.model_copy(), BASE.model_copy()
    assert one.id
    assert one == other
    assert one.to_dict() == other.to_dict()
    for again in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), Request(**one.to_dict())):
        assert again == one
        assert again.id == one.id


@given(st.text(), st.integers(0, 9), st.floats(0, 2))
def test_equal_requests_have_equal_ids_after_a_round_trip(text: str, repeat: int, temperature: float) -> None:
    request = BASE.replace(
        messages=(Message(role="user", content=text),), repeat=repeat, params={"temperature": temperature}
    )
    assert Request.model_validate(request.to_dict()).id == request.id


def test_the_id_is_the_same_in_every_version() -> None:
    assert BASE.id == "0ef05bdfa9597ece9b201e1a1d25b14fc8185ddecac30baf6f5ff26d7b36c21f"
