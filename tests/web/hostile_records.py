"""Records whose every text is hostile, made from their fields alone."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from promptpex.core.records import Record

R = TypeVar("R", bound=Record)


def filled(kind: type[R], text: str, fixed: Mapping[str, Any] | None = None) -> R:
    """A record of this kind: its texts are ``text``, its numbers small, its lists of two, and optional parts are there.

    Args:
        fixed: values of fields that are not free, by name, wherever they stand.
    """
    given = fixed or {}
    values = {
        name: given[name] if name in given else _value(field.annotation, text, given)
        for name, field in kind.model_fields.items()
    }
    return kind.model_validate(values)


def _value(annotation: Any, text: str, fixed: Mapping[str, Any]) -> Any:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _value(inner[0], text, fixed)
    if origin is Literal:
        return inner[0]
    if origin in (Union, types.UnionType):
        return _value(next(one for one in inner if one is not type(None)), text, fixed)
    if origin is tuple:
        return [_value(inner[0], text, fixed)] * 2
    if origin is dict:
        return {_value(inner[0], text, fixed): _value(inner[1], text, fixed)}
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return filled(annotation, text, fixed)
    plain = {str: text, bool: True, int: 2, float: 0.5}
    assert annotation in plain, f"no value for {annotation}"
    return plain[annotation]
