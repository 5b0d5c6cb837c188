"""``inspect-ai``: datasets of Inspect as cases, and prompt, rules and cases as a task that ``inspect eval`` runs.

After Inspect 0.3's "Datasets" and "Scorers". The task asks its model what promptpex would, and promptpex's own checks
decide. Its data are literals of Python that nothing can leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.codecs import safe_csv
from promptpex.codecs.files.ordinary_files import read_text
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.errors import InputError
from promptpex.core.records import INPUT_VARIABLE, Case, Message, Prompt, Rule
from promptpex.core.translation import stored
from promptpex.interchange.case_tables import csv_table
from promptpex.interchange.format import Exported, Format, Imported, Project, Source
from promptpex.interchange.notes import Log
from promptpex.interchange.pytest_module import literal
from promptpex.interchange.reading.chats import Unfit, messages_of
from promptpex.interchange.reading.exchanges import Exchange
from promptpex.interchange.reading.foreign_files import JSON_ENDINGS, At, first_row, json_rows, mapping
from promptpex.interchange.reading.inferred_project import assembled

_READ = frozenset(("input", "target", "choices", "id"))
_KEYS = _READ | {"metadata", "files", "setup", "sandbox", "description"}
_OF_TURNS = frozenset(("role", "content", "type", "text"))
"""Keys of turns, which stand among those of a row that is too long to be looked at whole."""
_WHAT = "dataset"


def read(path: Path) -> Imported:
    """The cases of a dataset; where inputs are chats, also the prompt that they share."""
    log = Log()
    return assembled(list(_exchanges(path, log)), path, log)


def _exchanges(path: Path, log: Log) -> Iterator[Exchange]:
    rows = _csv_rows(path) if path.suffix.lower() == ".csv" else json_rows(path, _WHAT)
    for value, at in rows:
        row = mapping(value, at, "a sample")
        for name in row:
            if row[name] is not None and name not in _READ:
                log.left_out(name, stored("promptpex has no equivalent"), at.path, at.line)
        try:
            yield _exchange(row, at)
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)


def _exchange(row: Mapping[str, object], at: At) -> Exchange:
    input_value, name, choices = row.get("input"), row.get("id"), row.get("choices")
    if input_value is None or input_value == "":
        raise Unfit(stored("a sample needs an input"))
    inputs: dict[str, object] = {} if choices in (None, []) else {"choices": choices}
    named_as = "" if name is None else value_text(name)
    if isinstance(input_value, str):
        return Exchange(at, inputs={INPUT_VARIABLE: input_value, **inputs}, name=named_as, expected=right_of(row))
    return Exchange(at, messages_of(input_value), inputs, name=named_as, expected=right_of(row))


def right_of(row: Mapping[str, object]) -> tuple[str, ...]:
    target = row.get("target")
    targets = target if isinstance(target, list) else [target]
    return tuple(value_text(one) for one in targets if one is not None and one != "")


def _csv_rows(path: Path) -> Iterator[tuple[object, At]]:
    text = read_text(path, error=InputError, what=_WHAT, limit=safe_csv.MAX_BYTES)
    for line, row in csv_table(text, path).rows:
        yield {name: _cell(name, value, path, line) for name, value in row.items()}, At(path, row=line)


def _cell(name: str, value: object, path: Path, line: int) -> object:
    """A cell as Inspect reads it: empty ones are nothing, choices stand between commas."""
    if not isinstance(value, str) or value == "":
        return None
    if name == "choices":
        choices = safe_csv.cells_of(value, path=path, line=line, strict=False)
        return [choice.strip() for choice in choices if choice.strip()]
    return value


def recognise(path: Path) -> bool:
    """Whether samples have an input and a target, and nothing that Inspect's lack."""
    if path.suffix.lower() not in (".csv", *JSON_ENDINGS):
        return False
    names = first_row(path).keys()
    return {"input", "target"} <= names and names <= _KEYS | _OF_TURNS


_TEMPLATE = Path(__file__).with_name("inspect_task.txt")
_PLACE = "#DATA#"
_PLAIN = re.compile(r"(?:[^{]|\{(?![{%#])|\{\{\s*\w+\s*\}\})*", re.ASCII)
"""A prompt of which only names are filled in."""


def write(source: Source) -> Exported:
    """The task of what is exported."""
    project = source.project()
    left_out: list[str] = []
    rules = [rule for rule in project.spec.rules if not rule.stale]
    stale = len(project.spec.rules) - len(rules)
    if stale:
        left_out.append(stored("rules left out, since the prompt no longer contains their words: {count}", count=stale))
    cases = list(_cases(project, left_out))
    data = {
        "NAME": _name(project.prompt),
        "INTENT": project.spec.intent,
        "PROMPT": [_turn(turn) for turn in _chat(project.prompt)],
        "RULES": [_rule(rule) for rule in rules],
        "CASES": cases,
    }
    if any(rule.needs_judge for rule in rules):
        left_out.append(stored("rules that code does not decide need -T grader=MODEL"))
    text = "\n\n".join(f"{name} = {literal(value)}" for name, value in data.items())
    return Exported(_TEMPLATE.read_text(encoding="utf-8").replace(_PLACE, text), tuple(left_out))


def _cases(project: Project, left_out: list[str]) -> Sequence[dict[str, Any]]:
    """The usable cases; those of a prompt with more than names in it bring their messages along."""
    cases = []
    plain = all(_PLAIN.fullmatch(turn.content) for turn in project.prompt.messages)
    for case in project.suite.usable():
        data = _case(case, project)
        names = project.prompt.variables
        if not plain or any(name not in case.inputs for name in names):
            turns = project.rendered(case.inputs)
            if not turns:
                left_out.append(stored("case {case} is left out: the prompt cannot be rendered with it", case=case.id))
                continue
            data["messages"] = [_turn(turn) for turn in turns]
        cases.append(data)
    unused = len(project.suite.cases) - len(project.suite.usable())
    if unused:
        left_out.append(stored("cases that are not run, and are left out: {count}", count=unused))
    return cases


def _case(case: Case, project: Project) -> dict[str, Any]:
    data: dict[str, Any] = {"id": case.id, "inputs": dict(case.inputs)}
    if case.rule is not None:
        data |= {"rule": case.rule, "inverse": case.inverse}
    if case.expected is not None:
        data |= {"expected": case.expected, "match": project.suite.match_of(case)}
    if case.also_right:
        data["also_right"] = list(case.also_right)
    elsewhere = [rule for rule, cases in project.concerned.items() if case.id not in cases]
    return {**data, "unconcerned": elsewhere} if elsewhere else data


def _rule(rule: Rule) -> dict[str, Any]:
    field_names = ("id", "rule", "needs", "when", "inverse", "checks", "decides", "after")
    return {name: value for name, value in rule.to_dict().items() if name in field_names}


def _chat(prompt: Prompt) -> Sequence[Message]:
    implicit = Message(role="user", content=f"{{{{{prompt.variables[0]}}}}}") if prompt.implicit_input else None
    return (*prompt.messages, implicit) if implicit is not None else prompt.messages


def _turn(turn: Message) -> dict[str, str]:
    return {"role": turn.role, "content": turn.content}


def _name(prompt: Prompt) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", prompt.name).strip("-")[:60] or "prompt"


FORMAT = Format(
    name="inspect-ai",
    summary="Inspect (inspect_ai)",
    import_note="a dataset, as cases",
    export_note="a task in Python that inspect eval runs",
    extensions=(".csv", ".json", ".jsonl"),
    reads="project",
    writes="project",
    read=read,
    write=write,
    recognise=recognise,
    lost="tools, images, `metadata`, `files`, `setup` and `sandbox` of samples; out: scores of how near "
    "an output is",
)  # fmt: skip
