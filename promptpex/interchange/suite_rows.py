"""A suite from the rows of a table or the lines of a file: what the formats of suites share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.core.errors import SuiteError
from promptpex.core.match_kinds import DEFAULT_MATCH, match_name
from promptpex.core.records import Case, Problem, Suite
from promptpex.documents.derived_ids import called, derived_id
from promptpex.documents.editable_file import Reading
from promptpex.documents.kinds import CASES
from promptpex.documents.ownership import claimed
from promptpex.documents.record_problems import record_problems

_NOUN = CASES.items[0].noun


def gather(rows: Iterable[tuple[int, dict[str, Any]]], path: Path | str) -> Reading[Suite]:
    """The suite of these rows, each with its line.

    A row may name the prompt under ``prompt``, and under ``suite_match`` how outputs are compared where a case does not
    say it; one with neither an id nor inputs says nothing else. A case without an id is called by its inputs.
    """
    prompt, match = "", ""
    cases: dict[str, Case] = {}
    lines: dict[str, int] = {}
    problems: list[Problem] = []
    for line, row in rows:
        fields = dict(row)
        prompt = str(fields.pop("prompt", "") or "") or prompt
        named = str(fields.pop("suite_match", "") or "")
        wrong = _match_problems(named, line, path)
        problems += wrong
        match = match if wrong else named or match
        if not fields or (fields.get("id") is None and not fields.get("inputs")):
            continue
        is_named = fields.get("id") is not None
        if not is_named:
            fields["id"] = derived_id(fields["inputs"], _NOUN)
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
        if not is_named:
            problems.append(Problem.info(path, line, called(_NOUN, case.id)))
    suite = Suite(prompt=prompt, match=match or None, cases=tuple(cases.values()))
    return Reading(suite, tuple(problems), lines, error=SuiteError, path=path)


def _match_problems(named: str, line: int, path: Path | str) -> list[Problem]:
    """That a row names no comparison, where it does not."""
    try:
        match_name(named or DEFAULT_MATCH)
    except ValueError as error:
        return [Problem(path=str(path), line=line, message=f"suite_match: {error}")]
    return []
