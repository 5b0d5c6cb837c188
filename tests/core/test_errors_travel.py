"""Errors go from one process to another as they are: kind, words, place and all that they carry."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from promptpex.core import errors
from promptpex.core.errors import InputError, ModelError, PromptpexError

texts = st.text(max_size=60)


def kinds(kind: type[PromptpexError] = PromptpexError) -> Iterator[type[PromptpexError]]:
    """The tree, from its root on."""
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from kinds(below)


def travelled(error: PromptpexError) -> PromptpexError:
    arrived = pickle.loads(pickle.dumps(error))
    assert isinstance(arrived, PromptpexError)
    return arrived


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
@settings(max_examples=15)
@given(
    message=texts,
    model=texts,
    reply=st.none() | texts,
    wait=st.none() | st.floats(0, 1e6),
    line=st.none() | st.integers(1, 99),
)
def test_every_error_of_the_tree_arrives_whole(
    kind: type[PromptpexError], message: str, model: str, reply: str | None, wait: float | None, line: int | None
) -> None:
    if issubclass(kind, ModelError):
        error: PromptpexError = kind(message, model=model, retry_after=wait, reply=reply)
    elif issubclass(kind, InputError):
        error = kind(message, path=Path("folder") / "prompt.md" if line else None, line=line)
    else:
        error = kind(message)
    arrived = travelled(error)
    assert type(arrived) is kind
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)
    assert arrived.exit_code == error.exit_code
