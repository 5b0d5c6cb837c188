"""The case file: YAML for people, CSV and JSON lines for other tools, each both ways without loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from promptpex.codecs import safe_csv
from promptpex.codecs.atomic import write_text
from promptpex.codecs.text_file import read_text
from promptpex.core.errors import InputError, SuiteError
from promptpex.core.records import Case, Problem, Prompt, Severity, Spec, Suite
from promptpex.documents import yaml_patch, yaml_reader
from promptpex.documents.record_problems import as_problem, unknown_key
from promptpex.documents.schema_ref import keep_schema, schema_place
from promptpex.documents.yaml_reader import YamlDoc
from promptpex.documents.yaml_records import (
    Findings,
    ListUpdate,
    check_written,
    claimed,
    new_document,
    take,
)
from promptpex.interchange import suite_csv, suite_jsonl
from promptpex.promptfile import required

WHAT = "case file"
_CASE_TEXTS = (
    "id", "rule", "reasoning", "expected", "scenario", "inputs_fingerprint", "expanded_from", "expected_from",
    "invalid", "content",
)  # fmt: skip
_NUMBERED = re.compile(r"r(\d{1,6})")
_ALWAYS = ("id", "rule", "inverse", "inputs", "origin")
_FORMS: dict[str, str] = {
    ending: module.FORMAT.name for module in (suite_csv, suite_jsonl) for ending in module.FORMAT.extensions
}
_FORMS |= dict.fromkeys((".yaml", ".yml", ".json"), "yaml")
ENDINGS = frozenset(_FORMS)
"""What the names of case files end in."""


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

    Raises:
        SuiteError: the first mistake, with file and line.
    """
    suite, problems = _examine(path, spec, prompt, lost)
    errors = [problem for problem in problems if problem.severity == "error"]
    if suite is None or errors:
        first = min(errors, key=lambda problem: problem.line or 0)
        raise SuiteError(first.sentence(), path=path, line=first.line)
    return suite


def examine(
    path: Path | str, spec: Spec | None = None, prompt: Prompt | None = None
) -> tuple[Suite | None, list[Problem]]:
    """The suite if its file can be read, and all problems of the file, not just the first."""
    return _examine(path, spec, prompt, "error")


def lines(path: Path | str) -> dict[str, int]:
    """The line that each case begins on, by its id; empty for a file that cannot be read."""
    suite, places, _ = _read(path)
    return dict(zip((case.id for case in suite.cases), places, strict=True)) if suite is not None else {}


def write_suite(path: Path | str, suite: Suite, *, by_hand: bool = False, schema: str | None = None) -> Suite:
    """Write the suite, or bring the file up to it with the least edits; gives what the file now says.

    In YAML what has not changed keeps every byte; in JSON lines unchanged lines do. Cases are matched by id. A case
    that is a person's on file is neither changed nor removed, unless ``by_hand`` says that a person asked for it.

    Args:
        schema: what the first line of a new YAML file names as its JSON schema; by default a place that is the same on
            every machine (``codecs.schemaplace``).

    Raises:
        SuiteError: the file on disk is broken (it is left as it is), or cannot be edited in place.
        OSError: it cannot be written.
    """
    fresh = not Path(path).exists()
    if _form(path) != "yaml":
        return _write_plain(path, suite, by_hand, fresh)
    if fresh:
        update = _update((), suite.cases, by_hand)
        wanted = update.wanted()
        content = {"prompt": suite.prompt, "cases": [update.shown(case) for case in wanted]}
        write_text(path, new_document(schema or schema_place(path, "cases"), content))
        keep_schema(path)
        return Suite(prompt=suite.prompt, cases=tuple(wanted))
    doc = yaml_reader.read(path, error=SuiteError, what=WHAT, to_edit=True)
    old = _on_file(doc)
    update = _update(old.cases, suite.cases, by_hand)
    edits = yaml_patch.Edits(doc)
    if old.prompt != suite.prompt:
        edits.set((), "prompt", suite.prompt)
    update.apply(edits)
    text = edits.text()
    if text != doc.text:
        _verify(text, doc, suite, update)
        write_text(path, doc.mark + text)
    keep_schema(path)
    return Suite(prompt=suite.prompt, cases=tuple(update.wanted()))


def _form(path: Path | str) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMS:
        raise SuiteError("a case file must end in .yaml, .csv or .jsonl", path=path)
    return _FORMS[suffix]


def _update(old: Sequence[Case], new: Sequence[Case], by_hand: bool) -> ListUpdate:
    return ListUpdate("cases", old, new, _ALWAYS, by_hand)


def _write_plain(path: Path | str, suite: Suite, by_hand: bool, fresh: bool) -> Suite:
    old = Suite(prompt=suite.prompt) if fresh else read_suite(path)
    wanted = Suite(prompt=suite.prompt, cases=tuple(_update(old.cases, suite.cases, by_hand).wanted()))
    if not fresh and wanted == old:
        return wanted
    if _form(path) == "csv":
        safe_csv.write(path, suite_csv.rows_of(wanted))
    else:
        before = "" if fresh else read_text(path, error=SuiteError, what=WHAT, limit=yaml_reader.MAX_BYTES)
        write_text(path, suite_jsonl.text(wanted, before))
    return wanted


def _examine(
    path: Path | str, spec: Spec | None, prompt: Prompt | None, lost: Severity
) -> tuple[Suite | None, list[Problem]]:
    suite, lines, problems = _read(path)
    for case, line in zip(suite.cases if suite is not None else (), lines, strict=True):
        problems += [
            Problem(path=str(path), line=line, message=message, suggestion=hint, severity=severity)
            for message, hint, severity in _against(case, spec, prompt, lost)
        ]
    return suite, problems


def _read(path: Path | str) -> tuple[Suite | None, list[int], list[Problem]]:
    """The suite, the line of each of its cases, and what is wrong with the file by itself."""
    try:
        form = _form(path)
        if form == "yaml":
            found = Findings(yaml_reader.read(path, error=SuiteError, what=WHAT))
            suite, lines = _load(found.doc, found)
            return suite, lines, found.problems
        text = read_text(path, error=SuiteError, what=WHAT, limit=safe_csv.MAX_BYTES)
        rows = suite_csv.parse(text, path) if form == "csv" else suite_jsonl.parse(text, path)
        return rows.suite, list(rows.lines), list(rows.problems)
    except SuiteError as failure:
        return None, [], [as_problem(failure)]


def _on_file(doc: YamlDoc) -> Suite:
    found = Findings(doc)
    suite, _ = _load(doc, found)
    found.raise_first()
    return suite


def _load(doc: YamlDoc, found: Findings) -> tuple[Suite, list[int]]:
    """The suite of the cases that can be read, and the line of each."""
    data = doc.data
    if not isinstance(data, dict):
        found.add("a case file must be a mapping with 'prompt' and 'cases'")
        return Suite(prompt=""), []
    for key in data:
        if key not in Suite.model_fields:
            message, suggestion = unknown_key(key, Suite.model_fields)
            found.add(message, key, suggestion=suggestion)
    items = data.get("cases") or []
    if not isinstance(items, list):
        found.add("'cases' must be a list", "cases", suggestion="put '- ' before each case")
        items = []
    cases, lines = _cases(items, found)
    head = take(Suite, {"prompt": data.get("prompt")}, (), found, text_fields=("prompt",))
    return Suite(prompt=head.prompt if head else "", cases=tuple(cases)), lines


def _cases(items: list[Any], found: Findings) -> tuple[list[Case], list[int]]:
    cases: list[Case] = []
    lines: list[int] = []
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        case = take(Case, item, ("cases", number), found, text_fields=_CASE_TEXTS)
        if case is None:
            continue
        line = found.doc.line("cases", number)
        if case.id in seen:
            said = f"the case id {case.id!r} is on line {seen[case.id]} too"
            found.add(said, "cases", number, "id", suggestion="give it another")
        seen.setdefault(case.id, line)
        cases.append(claimed(case, item))
        lines.append(line)
    return cases, lines


def _against(case: Case, spec: Spec | None, prompt: Prompt | None, lost: Severity) -> list[tuple[str, str, Any]]:
    """What is wrong with a case, given the spec and the prompt."""
    found: list[tuple[str, str, Any]] = []
    if spec is not None and case.rule is not None and spec.rule(case.rule) is None:
        known = ", ".join(rule.id for rule in spec.rules)
        said = f"the case {case.id!r} names the rule {case.rule!r}, which the spec has not"
        deleted = case.content is not None or was_a_rule(case.rule, spec)
        found.append((said, f"it has {known}", "warning" if deleted else lost))
    if prompt is None:
        return found
    missing = [name for name in required(prompt) if name not in case.inputs]
    extra = [name for name in case.inputs if name not in prompt.variables]
    if missing:
        found.append((f"the case {case.id!r} lacks {', '.join(missing)}", "give it under 'inputs'", "error"))
    if extra:
        hint = f"the prompt takes {', '.join(prompt.variables)}"
        found.append((f"the case {case.id!r} has inputs that the prompt has not: {', '.join(extra)}", hint, "error"))
    return found


def was_a_rule(rule_id: str, spec: Spec) -> bool:
    """Whether an id that the spec has not is likely a deleted rule's, not a slip: ``r2`` where there is an ``r4``."""
    numbers = [int(found[1]) for rule in spec.rules if (found := _NUMBERED.fullmatch(rule.id))]
    asked = _NUMBERED.fullmatch(rule_id)
    return bool(asked and numbers and int(asked[1]) < max(numbers))


def _verify(text: str, doc: YamlDoc, suite: Suite, update: ListUpdate) -> None:
    sentence = f"the {WHAT} cannot be edited in place without harm; it was left as it is"
    try:
        again = _on_file(yaml_reader.load(text, path=doc.path, error=SuiteError, what=WHAT))
    except InputError:
        raise SuiteError(sentence, path=doc.path) from None
    check_written(sentence, doc, again.cases, update.wanted())
    if again.prompt != suite.prompt:
        raise SuiteError(sentence, path=doc.path)
