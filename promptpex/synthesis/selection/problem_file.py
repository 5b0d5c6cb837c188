"""A selection problem from a JSON file: ``{"n", "m", "y", "M", "K"}``, or several of them under ``pipelines``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from promptpex.codecs.files.ordinary_files import MEGABYTE, read_bytes
from promptpex.codecs.json_text import loads, why_not_json
from promptpex.codecs.text.wording import cut, did_you_mean, named
from promptpex.core.errors import InputError
from promptpex.synthesis.selection.problem import SelectionProblem

FILE_LIMIT = 50 * MEGABYTE
MOST_CANDIDATES = 5_000
MOST_IMPLICATIONS = 1_000_000
WEIGHT_DIGITS = 10**6
"""Weights have at most six digits after the point, and are at most this, so that sums of them are exact."""

KEYS = ("n", "m", "y", "M", "K")
"""What a problem must have; ``names``, ``weights``, ``must`` and ``must_not`` may be there, all else is passed over."""


def read_problem(path: Path | str, entry: str | None = None) -> SelectionProblem:
    """The problem in a file."""
    path = Path(path)
    data = read_bytes(path, error=InputError, what="file of a selection problem", limit=FILE_LIMIT)
    try:
        value = loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as failure:
        raise InputError(f"this is not JSON: {why_not_json(failure)}", path=path) from None
    try:
        return problem_from(_entry(value, entry))
    except InputError as error:
        raise InputError(error.message, path=path) from None


def problem_from(value: object) -> SelectionProblem:
    """The problem that plain data describe."""
    if not isinstance(value, Mapping):
        raise InputError(f"a selection problem is a JSON object with {', '.join(KEYS)}")
    missing = [key for key in KEYS if key not in value]
    if missing:
        raise InputError(f"a selection problem has {', '.join(KEYS)}; missing here: {', '.join(missing)}")
    examples, candidates = _count(value, "n"), _count(value, "m")
    if candidates > MOST_CANDIDATES:
        raise InputError(f"m is {candidates}; up to {MOST_CANDIDATES} candidates can be chosen from")
    labels = _signs(value["y"], "y")
    if len(labels) != examples:
        raise InputError(f"y has {len(labels)} labels and n is {examples}; give one for each example")
    rows = [_signs(row, f"row {number} of M") for number, row in enumerate(_list(value, "M"))]
    names = [_text(name) for name in _list(value, "names")]
    return SelectionProblem.from_rows(
        labels,
        rows,
        candidates,
        _pairs(_list(value, "K")),
        names=names,
        weights=[_weight(weight) for weight in _list(value, "weights")],
        must=_numbers(value, "must", names),
        must_not=_numbers(value, "must_not", names),
    )


def _entry(value: object, entry: str | None) -> object:
    """One of the problems of a file, or the file itself where it is one."""
    problems = value.get("pipelines") if isinstance(value, Mapping) else None
    if not isinstance(problems, Mapping):
        if entry is not None:
            raise InputError("the file has a single problem; leave --pipeline out")
        return value
    if entry is None and len(problems) == 1:
        return next(iter(problems.values()))
    if entry is None:
        raise InputError(f"the file has {len(problems)} problems; name one with --pipeline: {_keys(problems)}")
    if entry not in problems:
        hint = did_you_mean(entry, problems) or f"there are: {_keys(problems)}"
        raise InputError(f"the file has no problem {entry!r}; {hint}")
    return problems[entry]


def _keys(problems: Mapping[str, Any]) -> str:
    return named([cut(" ".join(name.split()), 40) for name in problems])


def _count(value: Mapping[str, Any], key: str) -> int:
    number = value[key]
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise InputError(f"{key} is not a whole number, 0 or more")
    return number


def _list(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    items = value.get(key, [])
    if not isinstance(items, list):
        raise InputError(f"{key} is not a list")
    return items


def _signs(value: object, what: str) -> str:
    """A row of 0 and 1, which may be a text, or a list of numbers or truth values."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or any(type(sign) not in (int, bool) or sign not in (0, 1) for sign in value):
        raise InputError(f"{what} is neither a text nor a list of 0 and 1")
    return "".join("1" if sign else "0" for sign in value)


def _pairs(items: Sequence[Any]) -> list[tuple[int, int]]:
    if len(items) > MOST_IMPLICATIONS:
        raise InputError(f"K has {len(items)} pairs; up to {MOST_IMPLICATIONS} are read")
    for number, item in enumerate(items):
        if not (isinstance(item, list) and len(item) == 2 and all(type(end) is int for end in item)):
            raise InputError(f"entry {number} of K is not a pair [a, b] of candidates, where a implies b")
    return [(first, second) for first, second in items]


def _text(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InputError("a name of a candidate is not a text, or is empty")
    return name


def _weight(weight: object) -> Fraction:
    if isinstance(weight, int | float) and not isinstance(weight, bool) and math.isfinite(weight):
        value = Fraction(str(weight))
        if value <= WEIGHT_DIGITS and WEIGHT_DIGITS % value.denominator == 0:
            return value
    raise InputError("a weight is not a number up to 1,000,000 with at most six digits after the point")


def _numbers(value: Mapping[str, Any], key: str, names: Sequence[str]) -> list[int]:
    places = {name: number for number, name in enumerate(names)}
    return [_number(item, key, places) for item in _list(value, key)]


def _number(item: object, key: str, places: Mapping[str, int]) -> int:
    if type(item) is int:
        return item
    if isinstance(item, str) and item in places:
        return places[item]
    raise InputError(f"{key} names a candidate that is not there: {str(item)[:60]!r}")
