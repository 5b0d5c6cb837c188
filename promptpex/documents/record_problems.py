"""What is wrong with a record in a file, in words that need no Python: of pydantic's errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from promptpex.codecs.wording import did_you_mean
from promptpex.core.errors import InputError
from promptpex.core.records import Check, InputCheck, Problem

_LIST, _MAPPING = "a list, such as [a, b]", "a mapping, such as {name: value}"
_WANTED = {"list_type": _LIST, "tuple_type": _LIST, "dict_type": _MAPPING, "model_type": _MAPPING}
_LISTS_OF_CHECKS: dict[str | int, type[BaseModel]] = {
    "checks": Check,
    "asserts": Check,
    "assert": Check,
    "when": InputCheck,
}
_KINDS = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}


@dataclass(frozen=True, slots=True)
class RecordProblem:
    """One thing that is wrong with a record.

    Attributes:
        place: the keys and positions that lead to it within the record.
        message: what is wrong.
        suggestion: what to do; may be empty.
    """

    place: tuple[str | int, ...]
    message: str
    suggestion: str = ""


def record_problems(failure: ValidationError, kind: type[BaseModel]) -> list[RecordProblem]:
    """The problems of data that is not a record of this kind."""
    errors = failure.errors(include_url=False, include_context=False, include_input=True)
    return [_problem(error, kind) for error in errors]


def _problem(error: Any, kind: type[BaseModel]) -> RecordProblem:
    place: tuple[str | int, ...] = error["loc"]
    name = str(place[-1]) if place else ""
    if error["type"] == "extra_forbidden":
        return RecordProblem(place, *unknown_key(name, _keys_at(kind, place)))
    if error["type"] == "missing":
        return RecordProblem(place[:-1], f"{name!r} is missing", f"add '{name}: ...'")
    label = ".".join(map(str, place))
    return RecordProblem(place, f"{label}: {plain_message(error)}" if label else plain_message(error))


def unknown_key(name: str, known: Iterable[str]) -> tuple[str, str]:
    """Message and suggestion for a key that means nothing here."""
    names = sorted(known)
    return f"the key {name!r} is not known here", did_you_mean(name, names) or f"use {', '.join(names)}"


def known_keys(kind: type[BaseModel]) -> list[str]:
    """The keys of a record as they stand in a file."""
    return [info.serialization_alias or info.alias or name for name, info in kind.model_fields.items()]


def _keys_at(kind: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    inside = next((part for part in reversed(place[:-1]) if part in _LISTS_OF_CHECKS), None)
    return known_keys(kind if inside is None else _LISTS_OF_CHECKS[inside])


def plain_message(error: Mapping[str, Any]) -> str:
    """What a value of a file lacks: of one of the ``errors()`` of pydantic."""
    type_, given = error["type"], error.get("input")
    if type_ in _WANTED:
        return f"there should be {_WANTED[type_]} here, not {in_words(given)}"
    if type_ == "string_type":
        return f"there should be text here, not {in_words(given)}; put it in quotes"
    if type_ == "string_pattern_mismatch":
        return f"{given!r} may hold only letters, digits, '_', '.' and '-'"
    if type_ == "string_too_short":
        return "it is empty"
    if type_ == "literal_error":
        return f"{given!r} is not one of the words it may be ({error['msg'].removeprefix('Input should be ')})"
    return str(error["msg"]).removeprefix("Value error, ").replace("Input should", "it should")


def in_words(value: Any) -> str:
    """What kind of value stands in a file: ``a list``, ``text``, ``nothing``."""
    return "nothing" if value is None else _KINDS.get(type(value), "this")


def as_problem(error: InputError) -> Problem:
    """An error that ended the reading of a file, as a problem."""
    return Problem(path=str(error.path), line=error.line, message=error.message)


def raise_first(problems: Iterable[Problem], error: type[InputError], path: Path | str | None) -> None:
    """Raises the first error among the problems of a file, in the order of its lines, if there is one."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        first = min(errors, key=lambda problem: problem.line or 0)
        raise error(first.sentence(), path=path, line=first.line)
