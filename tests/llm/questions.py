"""Requests for tests of the model layer."""

from __future__ import annotations

from typing import Any

from promptpex.core.records import Message, Params, Request


def request(text: str = "hello", **fields: Any) -> Request:
    """A request of one user message to the model ``m``."""
    fields = {"model": "m", "params": Params(temperature=0.0), **fields}
    return Request(messages=(Message(role="user", content=text),), **fields)
