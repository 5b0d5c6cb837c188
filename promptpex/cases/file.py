"""The case file: YAML for people, CSV and JSON lines for other tools, each both ways without loss."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import read_text
from promptpex.codecs.safe_csv import MAX_BYTES
from promptpex.core.errors import SuiteError
from promptpex.core.records import Case, Problem, Prompt, Severity, Spec, Suite
from promptpex.documents.editable_file import CASES, Reading, read, update
from promptpex.documents.ownership import merged
from promptpex.documents.record_problems import as_problem
from promptpex.interchange import suite_files
from promptpex.promptfile import required
from promptpex.promptfile.find_prompts import of_prompt_beside

_YAML = (".yaml", ".yml", ".json")
_LINES = (suite_files.jsonl_text, suite_files.parse_jsonl)
_TABLES = {".csv": (suite_files.csv_text, suite_files.parse_csv), ".jsonl": _LINES, ".ndjson": _LINES}
ENDINGS = frozenset((*_YAML, *_TABLES))
"""What the names of case files end in."""
_NUMBERED = re.compile(r"r(\d{1,6})")


def read_suite(
    path: Path | str, spec: Spec | None = None, prompt: Prompt | None = None, *, lost: Severity = "error"
) -> Suite:
    """The cases in this file, each with the origin it has in truth; the name's end says the format.

    A case that says no origin counts as ``added``; a generated one whose words no longer fit its ``content`` hash
    counts as ``edited``.

    Args:
        spec: where given, a case has to name one of its rules, or one that was deleted (a warning).
        lost: what a case of people's that names no rule is: an error, or a ``warning`` where it is to stay.
        prompt: where given, a case must have a value for each of its variables and no other.
    """
    return examine(path, spec, prompt, lost=lost).require()


def examine(
    path: Path | str, spec: Spec | None = None, prompt: Prompt | None = None, *, lost: Severity = "error"
) -> Reading[Suite]:
    """What the file says, and all its problems, not just the first; arguments as of ``read_suite``."""
    reading = _read(path)
    reading = replace(reading, record=of_prompt_beside(reading.record, path))
    problems = (
        problem.replace(path=str(path), line=reading.lines.get(case.id))
        for case in reading.record.cases
        for problem in _against(case, spec, prompt, lost)
    )
    return replace(reading, problems=(*reading.problems, *problems))


def usable_cases(suite: Suite, path: Path | str) -> tuple[Case, ...]:
    usable = suite.usable()
    if not usable:
        raise SuiteError("holds no usable case; add some or run `promptpex generate`", path=path)
    return usable


def write_suite(path: Path | str, suite: Suite, *, by_hand: bool = False, schema: str | None = None) -> Suite:
    """Writes the suite, or brings the file up to it with the least edits, as ``documents.document.update`` does.

    In YAML what has not changed keeps every byte; in JSON lines unchanged lines do.

    Raises:
        OSError: it cannot be written.
    """
    ending = _ending(path)
    if ending in _YAML:
        return of_prompt_beside(update(CASES, path, suite, by_hand=by_hand, schema=schema), path)
    is_new = not Path(path).exists()
    old = Suite(prompt=suite.prompt) if is_new else read_suite(path)
    cases = merged(old.cases, suite.cases, by_hand=by_hand)
    new_suite = Suite(prompt=suite.prompt, match=suite.match or old.match, cases=cases)
    if is_new or new_suite != old:
        before = "" if is_new else _text(path)
        to_text, _ = _TABLES[ending]
        write_text(path, to_text(new_suite, before))
    return new_suite


def _read(path: Path | str) -> Reading[Suite]:
    try:
        ending = _ending(path)
        if ending in _YAML:
            return read(CASES, path)
        _, parse = _TABLES[ending]
        return parse(_text(path), path)
    except SuiteError as failure:
        return Reading(CASES.empty, (as_problem(failure),), error=SuiteError, path=path)


def _text(path: Path | str) -> str:
    return read_text(path, error=SuiteError, what=CASES.what, limit=MAX_BYTES)


def _ending(path: Path | str) -> str:
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise SuiteError("a case file must end in .yaml, .csv or .jsonl", path=path)
    return ending


def _against(case: Case, spec: Spec | None, prompt: Prompt | None, lost: Severity) -> Iterator[Problem]:
    """What is wrong with a case, given the spec and the prompt; without the place."""
    if spec is not None and case.rule is not None and spec.rule(case.rule) is None:
        was_deleted = case.content is not None or was_a_rule(case.rule, spec)
        yield _problem(
            f"the case {case.id!r} names the rule {case.rule!r}, which the spec does not have",
            f"it has {', '.join(rule.id for rule in spec.rules)}",
            "warning" if was_deleted else lost,
        )
    if prompt is None:
        return
    missing = [name for name in required(prompt) if name not in case.inputs]
    extra = [name for name in case.inputs if name not in (*prompt.variables, *prompt.checks_only)]
    if missing:
        yield _problem(f"the case {case.id!r} lacks {', '.join(missing)}", "give it under 'inputs'")
    if extra:
        message = f"the case {case.id!r} has inputs the prompt does not use: {', '.join(extra)}"
        yield _problem(message, f"the prompt takes {', '.join(prompt.variables)}")


def _problem(message: str, suggestion: str, severity: Severity = "error") -> Problem:
    return Problem(path="", message=message, suggestion=suggestion, severity=severity)


def was_a_rule(rule_id: str, spec: Spec) -> bool:
    """Whether an id that the spec does not have is likely a deleted rule's, not a slip: ``r2`` beside an ``r4``."""
    numbers = [int(match[1]) for rule in spec.rules if (match := _NUMBERED.fullmatch(rule.id))]
    numbered = _NUMBERED.fullmatch(rule_id)
    return bool(numbered and numbers and int(numbered[1]) < max(numbers))
