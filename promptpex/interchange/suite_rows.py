"""A suite from the rows of a table or the lines of a file: what the formats of suites share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.codecs.safe_csv import MAX_BYTES
from promptpex.codecs.text_file import read_text
from promptpex.core.errors import SuiteError
from promptpex.core.records import Case, Problem, Suite
from promptpex.documents.document import Reading
from promptpex.documents.kinds import CASES
from promptpex.documents.ownership import claimed
from promptpex.documents.record_problems import record_problems


def gather(rows: Iterable[tuple[int, dict[str, Any]]], path: Path | str) -> Reading[Suite]:
    """The suite of these rows, each with its line.

    A row may name the prompt under ``prompt``; one with neither an id nor inputs says nothing else.
    """
    prompt = ""
    cases: dict[str, Case] = {}
    lines: dict[str, int] = {}
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
        cases[case.id], lines[case.id] = case, line
    suite = Suite(prompt=prompt, cases=tuple(cases.values()))
    return Reading(suite, tuple(problems), lines, error=SuiteError, path=path)


def suite_of(path: Path, parse: Callable[[str, Path], Reading[Suite]]) -> Suite:
    """The suite of a file by the parser of its format.

    Raises:
        SuiteError: the first mistake, with file and line.
    """
    return parse(read_text(path, error=SuiteError, what=CASES.what, limit=MAX_BYTES), path).require()
