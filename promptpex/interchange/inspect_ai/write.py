"""A project as a task of Inspect: a template in Python, and the data in it as literals that nothing can leave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from promptpex.core.records import Case, Message, Prompt, Rule
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Project, Source

_TEMPLATE = Path(__file__).with_name("task.txt")
_PLACE = "#DATA#"
_PLAIN = re.compile(r"(?:[^{]|\{(?![{%#])|\{\{\s*\w+\s*\}\})*", re.ASCII)
"""A prompt of which only names are filled in."""
_WIDTH = 110


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
    return Exported(_template().replace(_PLACE, text), tuple(left_out))


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
    """The prompt's name as one of a task, which ends up in names of files."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", prompt.name).strip("-")[:60] or "prompt"


def literal(value: Any, indent: int = 0) -> str:
    """A value as a Python literal over several lines; what does not print stands in it as an escape."""
    short = _short(value)
    if len(short) + indent <= _WIDTH and "\n" not in short:
        return short
    pad, inner = " " * indent, " " * (indent + 4)
    if isinstance(value, str):
        parts = re.findall(r"[^\n]*\n|[^\n]+", value) if "\n" in value else [value]
        return "(\n" + "\n".join(inner + _short(part) for part in parts) + f"\n{pad})" if len(parts) > 1 else short
    if isinstance(value, Mapping):
        items = (f"{inner}{_short(key)}: {literal(one, indent + 4)},\n" for key, one in value.items())
        return "{\n" + "".join(items) + pad + "}"
    if isinstance(value, list | tuple):
        return "[\n" + "".join(f"{inner}{literal(one, indent + 4)},\n" for one in value) + pad + "]"
    return short


def _short(value: Any) -> str:
    """The value on one line, of plain types alone; NaN and infinities, which have no literal, as calls."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_short(key)}: {_short(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_short, value)) + "]"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    if isinstance(value, bool | int | float) or value is None:
        return repr(value)
    return repr(str(value))


@cache
def _template() -> str:
    return _TEMPLATE.read_text(encoding="utf-8")
