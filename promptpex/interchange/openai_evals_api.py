"""``openai-evals-api``: a project as bodies for OpenAI's Evals API: an eval with its graders, a run with its items.

After the reference of the API: an eval has ``testing_criteria``, a run a ``data_source`` with the items and the turns
that a model is sent. ``{{word}}`` of a template here is ``{{item.word}}`` there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from promptpex.core.records import Case, Check, Rule
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Format, Option, Project, Source

EXPECTED = "expected"
"""The field of an item with the expected output."""
CHAT = "input"
"""The field of an item with the whole chat, where the prompt cannot be a template of theirs."""
OUTPUT = "{{sample.output_text}}"
OPERATIONS = {"equals": "eq", "not-equals": "ne", "contains": "like", "icontains": "ilike"}
METRICS = {("bleu", 1): "bleu", ("gleu", 1): "gleu", ("rouge-l", 1): "rouge_l",
           **{("rouge-n", n): f"rouge_{n}" for n in range(1, 6)}}  # fmt: skip
_OURS = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.\w+|\[\d+\])*)\s*\}\}", re.ASCII)
_TYPES = ((bool, "boolean"), (int | float, "number"), (str, "string"), (list, "array"), (dict, "object"))


def write(source: Source, *, model: str | None, judge_model: str | None) -> Exported:
    """Both bodies as JSON: ``eval`` is for ``POST /v1/evals``, ``run`` for ``POST /v1/evals/ID/runs``."""
    project = source.project()
    left_out: list[str] = []
    cases = project.suite.usable()
    if unused := len(project.suite.cases) - len(cases):
        left_out.append(stored("cases that are not run, and are left out: {count}", count=unused))
    template = _template(project, cases)
    rows = list(_items(cases, project, template is None, left_out))
    if template is None:
        messages: dict[str, Any] = {"type": "item_reference", "item_reference": f"item.{CHAT}"}
        left_out.append(stored("the prompt is not a template in OpenAI's API: each item has the whole chat"))
    else:
        messages = {"type": "template", "template": template}
    data: dict[str, Any] = {"type": "completions", "input_messages": messages}
    chosen = model or next(iter(project.models), None)
    if chosen is not None:
        data["model"] = chosen.partition("?")[0].rpartition("=")[2].removeprefix("openai/")
    else:
        left_out.append(stored("no model is named (--model NAME); write one under run.data_source.model"))
    data["source"] = {"type": "file_content", "content": [{"item": row} for row in rows]}
    graders = [one for rule in project.spec.rules for one in _graders(rule, judge_model, left_out)]
    config = {"type": "custom", "item_schema": _schema(rows), "include_sample_schema": True}
    content = {
        "eval": {"name": project.prompt.name, "data_source_config": config, "testing_criteria": graders},
        "run": {"name": project.prompt.name, "data_source": data},
    }
    return Exported(json.dumps(content, ensure_ascii=False, indent=2) + "\n", tuple(left_out))


def _theirs(text: str) -> str | None:
    """A template of ours as one of theirs; None where it does more than to put in values."""
    rest = _OURS.sub("", text)
    if any(mark in rest for mark in ("{{", "}}", "{%", "{#")):
        return None
    return _OURS.sub(lambda field: f"{{{{item.{field[1]}}}}}", text)


def _template(project: Project, cases: Sequence[Case]) -> list[dict[str, str]] | None:
    """The prompt's turns as templates there; None where they do more than to put in texts."""
    prompt = project.prompt
    if any(not isinstance(case.inputs.get(name), str) for case in cases for name in prompt.variables):
        return None
    turns = [(message.role, _theirs(message.content)) for message in prompt.messages]
    if prompt.implicit_input:
        turns.append(("user", f"{{{{item.{prompt.variables[0]}}}}}"))
    whole = [{"role": role, "content": text} for role, text in turns if text is not None]
    return whole if len(whole) == len(turns) else None


def _items(cases: Sequence[Case], project: Project, with_chat: bool, left_out: list[str]) -> Iterator[dict[str, Any]]:
    for case in cases:
        item: dict[str, Any] = dict(case.inputs)
        if case.expected is not None:
            item.setdefault(EXPECTED, case.expected)
        messages = project.rendered(case.inputs) if with_chat else ()
        if with_chat and not messages:
            left_out.append(stored("case {case} is left out: the prompt cannot be rendered with it", case=case.id))
            continue
        chat = [{"role": message.role, "content": message.content} for message in messages]
        yield {**item, CHAT: chat} if with_chat else item


def _schema(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The JSON schema of the items: the type of each field that has one type alone."""
    properties: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        kinds = {
            next((kind for of, kind in _TYPES if isinstance(row[name], of)), "null") for row in rows if name in row
        }
        properties[name] = {"type": kinds.pop()} if len(kinds) == 1 else {}
    always = [name for name in properties if all(name in row for row in rows)]
    return {"type": "object", "properties": properties, "required": always}


def _graders(rule: Rule, judge_model: str | None, left_out: list[str]) -> Iterator[dict[str, Any]]:
    if rule.stale or rule.when:
        left_out.append(stored("rule {rule} is left out: it does not apply to all cases", rule=rule.id))
        return
    for check in rule.checks:
        grader = _grader(check, judge_model)
        if grader is not None:
            yield {"name": rule.id, **grader}
            continue
        why = stored("graders have no {kind} like this one", kind=check.kind)
        left_out.append(stored("a check of rule {rule} is left out: {reason}", rule=rule.id, reason=why))
    if rule.needs_judge and judge_model is not None:
        yield {"name": rule.id, **_asked(f"Does the response keep this rule: {rule.rule}", judge_model)}
    elif rule.needs_judge:
        left_out.append(
            stored("rule {rule} is not decided by code (--judge-model NAME makes it a label_model)", rule=rule.id)
        )


def _grader(check: Check, judge_model: str | None) -> dict[str, Any] | None:
    text = _theirs(check.value) if isinstance(check.value, str) else None
    if text is None or check.transform is not None or check.weight != 1:
        return None
    looked_at = OUTPUT if check.path is None else f"{{{{sample.output_json.{check.path}}}}}"
    if check.kind in OPERATIONS and "[]" not in looked_at:
        operation = OPERATIONS[check.kind]
        return {"type": "string_check", "input": looked_at, "reference": text, "operation": operation}
    if (check.kind, check.n) in METRICS and check.threshold is not None and check.path is None:
        return {"type": "text_similarity", "input": OUTPUT, "reference": text, "pass_threshold": check.threshold,
                "evaluation_metric": METRICS[check.kind, check.n]}  # fmt: skip
    return _asked(text, judge_model) if check.kind == "question" and judge_model is not None else None


def _asked(question: str, judge_model: str) -> dict[str, Any]:
    turn = {"role": "user", "content": f"{question}\n\nAnswer yes or no. The response is:\n{OUTPUT}"}
    return {"type": "label_model", "model": judge_model, "input": [turn], "labels": ["yes", "no"],
            "passing_labels": ["yes"]}  # fmt: skip


FORMAT = Format(
    name="openai-evals-api",
    summary="OpenAI's Evals API: an eval's graders, with the prompt and items of its run, as JSON",
    extensions=(".json",),
    writes="project",
    write=write,
    write_options=(
        Option("model", "its model [the first of the run].", metavar="NAME"),
        Option("judge_model", "the model that grades what code does not decide.", metavar="NAME"),
    ),
    lost="ids, checks without a grader of that kind, rules with a condition",
)  # fmt: skip
