"""What a reader finds in a YAML file: its problems, and where its records stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from promptpex.core.records import Problem, Record, Severity
from promptpex.documents.record_problems import in_words, record_problems
from promptpex.documents.yaml_reader import Keys, YamlDoc

R = TypeVar("R", bound=Record)


@dataclass
class Findings:
    """The problems of one document, gathered.

    Attributes:
        doc: the document.
        problems: in the order in which they were found.
        places: the keys of each record of a list, by the list's name and the record's id, or its position in what was
            read.
    """

    doc: YamlDoc
    problems: list[Problem] = field(default_factory=list)
    places: dict[tuple[str, str | int], Keys] = field(default_factory=dict)

    def add(self, message: str, *keys: str | int, suggestion: str = "", severity: Severity = "error") -> None:
        """Adds a problem at the line of these keys."""
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
