"""What is wrong with the records in a file, in words that need no Python, with the lines where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from promptpex.codecs.text.wording import (
    LIST,
    MAPPING,
    MOST_HINTS,
    NUMBER,
    SHAPES,
    TEXT,
    WHOLE,
    cut,
    did_you_mean,
    wanted,
)
from promptpex.core.errors import InputError
from promptpex.core.records import Check, InputCheck, Problem, Record, Severity
from promptpex.documents import yaml_writer
from promptpex.documents.yaml_reader import Keys, YamlDoc

_EXAMPLES = {LIST: "[a, b]", MAPPING: "{name: value}", WHOLE: "3", NUMBER: "0.5"}
_LONGEST_EXAMPLE = 80
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
    """

    place: tuple[str | int, ...]
    message: str
    suggestion: str = ""


def record_problems(failure: ValidationError, kind: type[BaseModel]) -> list[RecordProblem]:
    errors = failure.errors(include_url=False)
    return [_problem(error, kind) for error in errors[:MOST_HINTS]]


def _problem(error: Any, kind: type[BaseModel]) -> RecordProblem:
    place: tuple[str | int, ...] = error["loc"]
    name = str(place[-1]) if place else ""
    if error["type"] == "extra_forbidden":
        return RecordProblem(place, *unknown_key(name, known_keys(_record_at(kind, place))))
    if error["type"] == "missing":
        return RecordProblem(place[:-1], f"{name!r} is missing", f"add '{name}: ...'")
    label = ".".join(map(str, place))
    message = plain_message(error, _example(kind, place))
    return RecordProblem(place, f"{label}: {message}" if label else message)


def unknown_key(name: str, known: Iterable[str]) -> tuple[str, str]:
    names = sorted(known)
    return f"the key {name!r} is not known here", did_you_mean(name, names) or f"use {', '.join(names)}"


def known_keys(kind: type[BaseModel]) -> list[str]:
    return [info.serialization_alias or info.alias or name for name, info in kind.model_fields.items()]


def _record_at(kind: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel]:
    inside = next((part for part in reversed(place[:-1]) if part in _LISTS_OF_CHECKS), None)
    return kind if inside is None else _LISTS_OF_CHECKS[inside]


def _example(kind: type[BaseModel], place: Sequence[str | int]) -> str:
    """What may stand at this place, as its key's declaration shows it; empty where that is inside a value."""
    inside = _record_at(kind, place)
    named = [info for name, info in inside.model_fields.items() if place and place[-1] in (name, info.alias)]
    examples = named[0].examples if named else None
    text = yaml_writer.inline(examples[0]) if examples else ""
    return text if len(text) <= _LONGEST_EXAMPLE else ""


def plain_message(error: Mapping[str, Any], example: str = "") -> str:
    """What a value of a file lacks: of one of the ``errors()`` of pydantic.

    Args:
        example: what may stand there instead.
    """
    type_, input_value = error["type"], error.get("input")
    if type_ == "string_pattern_mismatch":
        return f"{input_value!r} may hold only letters, digits, '_', '.' and '-'"
    if type_ == "string_too_short":
        return "it is empty"
    if type_ == "literal_error":
        return f"{_shown(input_value)} is not one of the words it may be ({wanted(error)})"
    value = wanted(error)
    if value is None:
        return str(error["msg"]).removeprefix("Value error, ")
    if value == TEXT and isinstance(input_value, bool | int | float):
        return f"there should be text here, not {in_words(input_value)}; put it in quotes"
    such = (example or _EXAMPLES.get(value)) if value in SHAPES else None
    instead = in_words(input_value) if value in (LIST, MAPPING, TEXT) else _shown(input_value)
    return f"there should be {value} here{f', such as {such}' if such else ''}, not {instead}"


def _shown(given: Any) -> str:
    return in_words(given) if given is None or isinstance(given, dict | list) else cut(repr(given), 40)


def in_words(value: Any) -> str:
    """What kind of value stands in a file: ``a list``, ``text``, ``nothing``."""
    return "nothing" if value is None else _KINDS.get(type(value), "this")


def as_problem(error: InputError) -> Problem:
    return Problem(path=str(error.path), line=error.line, message=error.message)


def raise_first(problems: Iterable[Problem], error: type[InputError], path: Path | str | None) -> None:
    """Raises the first error among the problems of a file, in the order of its lines, if there is one."""
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        first = min(errors, key=lambda problem: problem.line or 0)
        raise error(first.sentence(), path=path, line=first.line)


R = TypeVar("R", bound=Record)


@dataclass
class Findings:
    """The problems of one document, gathered.

    Attributes:
        places: the keys of each record of a list, by the list's name and the record's id, or its position in what was
            read.
    """

    doc: YamlDoc
    problems: list[Problem] = field(default_factory=list)
    places: dict[tuple[str, str | int], Keys] = field(default_factory=dict)

    def add(self, message: str, *keys: str | int, suggestion: str = "", severity: Severity = "error") -> None:
        line, path = self.doc.line(*keys), str(self.doc.path)
        self.problems.append(Problem(path=path, line=line, message=message, suggestion=suggestion, severity=severity))


def take(kind: type[R], data: Any, keys: Keys, findings: Findings, *, texts: Iterable[str] = ()) -> R | None:
    """The record that this data says, or None with its problems in ``findings``.

    Args:
        texts: fields that may stand as a number or a bare word in the file: what the file shows is taken as text.
    """
    if not isinstance(data, dict):
        findings.add(f"there should be a mapping here, not {in_words(data)}", *keys)
        return None
    fields = {name: value for name, value in data.items() if value is not None}
    for name in texts:
        if isinstance(fields.get(name), bool | int | float):
            fields[name] = findings.doc.source(*keys, name)
    try:
        return kind.model_validate(fields)
    except ValidationError as failure:
        for problem in record_problems(failure, kind):
            findings.add(problem.message, *keys, *problem.place, suggestion=problem.suggestion)
        return None
