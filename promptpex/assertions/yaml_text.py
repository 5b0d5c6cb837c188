"""YAML 1.2 (and so JSON) inside of values, read into plain JSON data; total and bounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from promptpex.assertions import jsvalues
from promptpex.assertions.model import Unscorable

MOST_NODES = 100_000
DEEPEST = 200


def read(source: str, what: str) -> Any:
    """The data that a text holds as JSON or YAML.

    Raises:
        Unscorable: code ``bad-value``: it is neither, nests too deep or grows too large.
    """
    try:
        return jsvalues.strict_json(source)
    except jsvalues.NotJson:
        pass
    return plain(_yaml(source, what), what)


def _yaml(source: str, what: str) -> Any:
    from ruamel.yaml import YAML

    try:
        return YAML(typ="safe", pure=True).load(source)
    except Exception as error:  # beside its own errors ruamel raises what Python raises on odd input
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise Unscorable("bad-value", f"{what} is neither JSON nor YAML: {first}") from error


def plain(value: Any, what: str) -> Any:
    """The data with text keys and JSON values only; aliases are copied, within bounds."""
    return _Copy(what).of(value, 0)


class _Copy:
    def __init__(self, what: str) -> None:
        self._what = what
        self._nodes = 0

    def of(self, value: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MOST_NODES or depth > DEEPEST:
            raise Unscorable("bad-value", f"{self._what} is too large or nests too deep")
        if isinstance(value, Mapping):
            return {_key(key): self.of(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.of(item, depth + 1) for item in value]
        if value is None or isinstance(value, str | bool | int):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        return str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else jsvalues.text(key)
