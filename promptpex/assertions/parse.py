"""Assertions as written, in promptfoo's shape or ours, checked for their shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Assertion, Unscorable
from promptpex.codecs.text.wording import cut
from promptpex.core.judge_questions import question_of_rubric

if TYPE_CHECKING:
    from promptpex.core.records import Check

KEYS = frozenset(
    ("kind", "type", "value", "threshold", "weight", "metric", "transform", "unit", "dialect", "n", "config")
) | {"ignore_case", "exact", "path", "assert", "asserts", "provider", "variable"}
UNITS = ("words", "spoken-words", "sentences", "lines", "characters")
DIALECTS = ("ecmascript", "unicode", "python")
SET = "assert-set"
RUBRIC = "llm-rubric"
"""promptfoo's name for what a judge decides; read as a question."""


def assertion(data: object) -> Assertion:
    """The assertion that a mapping or a ``records.Check`` says.

    Raises:
        Unscorable: code ``bad-check``, with what is wrong in one sentence.
    """
    if isinstance(data, Assertion):
        return data
    if isinstance(data, Mapping):
        return _from_mapping(data)
    from promptpex.core.records import Check

    if isinstance(data, Check):
        return from_check(data)
    raise _bad(f"an assertion must be a mapping with a kind, not {_named(data)}")


def from_check(check: Check) -> Assertion:
    """A record as an assertion; keys that were not set stay absent."""
    names = check.model_fields_set & KEYS - {"asserts"}
    fields: dict[object, object] = {name: getattr(check, name) for name in names}
    if "threshold" in fields and fields["threshold"] is None:
        del fields["threshold"]
    for name in ("metric", "path"):
        if name in fields and fields[name] is None:
            del fields[name]
    if "value" not in fields and check.value is not None:
        fields["value"] = check.value
    if check.asserts is not None:
        fields["assert"] = [from_check(part) for part in check.asserts]
    return _from_mapping(fields | {"kind": check.kind})


def _from_mapping(data: Mapping[object, object], inside: bool = False) -> Assertion:
    kind = _kind(data)
    if kind.removeprefix("not-") == RUBRIC and isinstance(data.get("value"), str):
        kind, question = question_of_rubric(kind, str(data["value"]))
        data = {**data, "value": question}
    base = kind.removeprefix("not-")
    if base == SET and inside:
        raise _bad("an assert-set cannot stand inside an assert-set; write its assertions in the outer one")
    return Assertion(
        kind=kind,
        value=data.get("value", js_values.MISSING),
        threshold=_number(data, "threshold", None),
        weight=_number(data, "weight", 1.0) or 0.0,
        metric=_text(data, "metric"),
        transform=_text(data, "transform"),
        unit=_choice(data, "unit", UNITS),
        dialect=_choice(data, "dialect", DIALECTS),
        ignore_case=_yes_or_no(data, "ignore_case"),
        exact=_yes_or_no(data, "exact"),
        path=_path(data, base),
        n=_order(data),
        config=data.get("config"),
        asserts=_parts(data, base),
        unknown=tuple(str(key) for key in data if key not in KEYS),
    )


def _kind(data: Mapping[object, object]) -> str:
    kind = data.get("kind", data.get("type"))
    if not isinstance(kind, str):
        raise _bad("an assertion has no kind; write kind: contains, or another kind")
    return kind


def _number(data: Mapping[object, object], key: str, default: float | None) -> float | None:
    if key not in data:
        return default
    value = data[key]
    if not js_values.is_number(value) or not math.isfinite(js_values.as_double(value)):
        raise _bad(f"the {key} must be a number, not {_named(value)}")
    return float(value)


def _text(data: Mapping[object, object], key: str) -> str | None:
    if key not in data:
        return None
    value = data[key]
    if isinstance(value, str):
        return value
    raise _bad(f"the {key} must be a text, not {_named(value)}")


def _choice(data: Mapping[object, object], key: str, choices: tuple[str, ...]) -> str:
    value = data.get(key, choices[0])
    if value not in choices:
        raise _bad(f"the {key} must be one of {', '.join(choices)}, not {_named(value)}")
    return str(value)


def _path(data: Mapping[object, object], base: str) -> str | None:
    path = _text(data, "path")
    if path is not None and base == SET:
        raise _bad("an assert-set has no path; give one to its assertions")
    return path


def _yes_or_no(data: Mapping[object, object], key: str) -> bool:
    value = data.get(key, False)
    if isinstance(value, bool):
        return value
    raise _bad(f"{key} must be true or false, not {_named(value)}")


def _order(data: Mapping[object, object]) -> int:
    value = data.get("n", 1)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 20:
        raise _bad(f"n must be a whole number from 1 to 20, not {_named(value)}")
    return value


def _parts(data: Mapping[object, object], base: str) -> tuple[Assertion, ...] | None:
    if base != SET:
        return None
    parts = data.get("assert", data.get("asserts"))
    if not isinstance(parts, list | tuple):
        raise _bad("an assert-set needs a list under assert")
    return tuple(part if isinstance(part, Assertion) else _inner(part) for part in parts)


def _inner(part: object) -> Assertion:
    if not isinstance(part, Mapping):
        raise _bad(f"an assertion must be a mapping with a kind, not {_named(part)}")
    return _from_mapping(part, inside=True)


def _named(value: object) -> str:
    try:
        value_text = "null" if value is None else repr(value)
    except ValueError:
        return "a number of so many digits"
    return cut(value_text, 40)


def _bad(message: str) -> Unscorable:
    return Unscorable("bad-check", message)
