"""A suite from the rows of a table or the lines of a file: what the formats of suites share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.codecs.safe_csv import MAX_BYTES
from promptpex.codecs.text_file import read_text
from promptpex.core.errors import SuiteError
from promptpex.core.records import Case, Problem, Suite
from promptpex.documents.record_problems import raise_first, record_problems
from promptpex.documents.yaml_records import claimed

WHAT = "case file"


@dataclass(frozen=True, slots=True)
class SuiteRows:
    """A suite, the line that each of its cases begins on, and what is wrong with the rest of the file."""

    suite: Suite
    lines: tuple[int, ...]
    problems: tuple[Problem, ...]


def gather(rows: Iterable[tuple[int, dict[str, Any]]], path: Path | str) -> SuiteRows:
    """The suite of these rows, each with its line.

    A row may name the prompt under ``prompt``; one with neither an id nor inputs says nothing else.
    """
    prompt = ""
    cases: dict[str, Case] = {}
    lines: list[int] = []
    problems: list[Problem] = []
    for line, row in rows:
        fields = dict(row)
        prompt = str(fields.pop("prompt", "") or "") or prompt
        if not fields or (fields.get("id") is None and not fields.get("inputs")):
            continue
        try:
            case = claimed(Case.model_validate(fields), fields)
        except ValidationError as failure:
            problems += [
                Problem(path=str(path), line=line, message=problem.message, suggestion=problem.suggestion)
                for problem in record_problems(failure, Case)
            ]
            continue
        if case.id in cases:
            problems.append(Problem(path=str(path), line=line, message=f"the case id {case.id!r} is used twice"))
            continue
        cases[case.id] = case
        lines.append(line)
    return SuiteRows(Suite(prompt=prompt, cases=tuple(cases.values())), tuple(lines), tuple(problems))


def suite_of(path: Path, parse: Callable[[str, Path], SuiteRows]) -> Suite:
    """The suite of a file by the parser of its format.

    Raises:
        SuiteError: the first mistake, with file and line.
    """
    rows = parse(read_text(path, error=SuiteError, what=WHAT, limit=MAX_BYTES), path)
    raise_first(rows.problems, SuiteError, path)
    return rows.suite
