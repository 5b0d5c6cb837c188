"""A project as bodies for the Evals API: the eval with its graders, and a run with the prompt and the items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from promptpex.core.records import Case, Check, Prompt, Rule, Suite
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Project, Source
from promptpex.interchange.openai_evals_api.graders import CALL, METRICS, OPERATIONS
from promptpex.interchange.openai_evals_api.read import EXPECTED
from promptpex.interchange.openai_evals_api.templates import ASKED_FOR, OUTPUT, theirs

CHAT = "input"
"""The field of an item with the whole chat, where the prompt cannot be a template of theirs."""
_KINDS = {ours: name for name, ours in OPERATIONS.items()}
_METRICS = {ours: name for name, ours in METRICS.items()}
_TYPES = ((bool, "boolean"), (int | float, "number"), (str, "string"), (list, "array"), (dict, "object"))


def write(source: Source, *, model: str | None, judge_model: str | None) -> Exported:
    """Both bodies as JSON: ``eval`` is for ``POST /v1/evals``, ``run`` for ``POST /v1/evals/ID/runs``."""
    project = source.project()
    left_out: list[str] = []
    cases = _usable(project.suite, left_out)
    template = _template(project.prompt, cases)
    rows = [row for case in cases if (row := _item(case, project, template is None, left_out)) is not None]
    if template is None:
        messages: dict[str, Any] = {"type": "item_reference", "item_reference": f"item.{CHAT}"}
        left_out.append(stored("the prompt is not a template in OpenAI's API: each item has the whole chat"))
    else:
        messages = {"type": "template", "template": template}
    chosen = model or next(iter(project.models), None)
    data: dict[str, Any] = {"type": "completions", "input_messages": messages}
    if chosen is not None:
        data["model"] = chosen.rpartition("=")[2].partition("?")[0].removeprefix("openai/")
    else:
        left_out.append(stored("no model is named (--model NAME); write one under run.data_source.model"))
    data["source"] = {"type": "file_content", "content": [{"item": row} for row in rows]}
    graders = list(_graders(project.spec.rules, judge_model, left_out))
    config = {"type": "custom", "item_schema": _schema(rows), "include_sample_schema": True}
    content = {
        "eval": {"name": project.prompt.name, "data_source_config": config, "testing_criteria": graders},
        "run": {"name": project.prompt.name, "data_source": data},
    }
    return Exported(json.dumps(content, ensure_ascii=False, indent=2) + "\n", tuple(left_out))


def _usable(suite: Suite, left_out: list[str]) -> Sequence[Case]:
    usable = suite.usable()
    if len(suite.cases) > len(usable):
        count = len(suite.cases) - len(usable)
        left_out.append(stored("cases that are not run, and are left out: {count}", count=count))
    return usable


def _template(prompt: Prompt, cases: Iterable[Case]) -> list[dict[str, str]] | None:
    """The prompt's turns as templates there; None where they do more than to put in texts."""
    if any(not isinstance(case.inputs.get(name), str) for case in cases for name in prompt.variables):
        return None
    turns = []
    for message in prompt.messages:
        text = theirs(message.content)
        if text is None:
            return None
        turns.append({"role": message.role, "content": text})
    if prompt.implicit_input:
        turns.append({"role": "user", "content": f"{{{{item.{prompt.variables[0]}}}}}"})
    return turns


def _item(case: Case, project: Project, with_chat: bool, left_out: list[str]) -> dict[str, Any] | None:
    item: dict[str, Any] = dict(case.inputs)
    if case.expected is not None:
        item.setdefault(EXPECTED, case.expected)
    if with_chat:
        messages = project.rendered(case.inputs)
        if not messages:
            left_out.append(stored("case {case} is left out: the prompt cannot be rendered with it", case=case.id))
            return None
        item[CHAT] = [{"role": message.role, "content": message.content} for message in messages]
    return item


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


def _graders(rules: Iterable[Rule], judge_model: str | None, left_out: list[str]) -> Iterator[dict[str, Any]]:
    for rule in rules:
        if rule.stale or rule.when:
            left_out.append(stored("rule {rule} is left out: it does not apply to all cases", rule=rule.id))
            continue
        for check in rule.checks:
            grader = _grader(rule, check, judge_model)
            if grader is None:
                why = stored("graders have no {kind} like this one", kind=check.kind)
                left_out.append(stored("a check of rule {rule} is left out: {reason}", rule=rule.id, reason=why))
            else:
                yield {"name": rule.id, **grader}
        if rule.needs_judge and judge_model is not None:
            yield {"name": rule.id, **_asked(f"Does the response keep this rule: {rule.rule}", judge_model)}
        elif rule.needs_judge:
            left_out.append(
                stored("rule {rule} is not decided by code (--judge-model NAME makes it a label_model)", rule=rule.id)
            )


def _grader(rule: Rule, check: Check, judge_model: str | None) -> dict[str, Any] | None:
    """The grader of a check, if there is one that means the same."""
    text = theirs(check.value) if isinstance(check.value, str) else None
    if text is None or check.transform is not None or check.weight != 1:
        return None
    looked_at = OUTPUT if check.path is None else f"{{{{sample.output_json.{check.path}}}}}"
    if check.kind in _KINDS and "[]" not in looked_at:
        operation = _KINDS[check.kind]
        return {"type": "string_check", "input": looked_at, "reference": text, "operation": operation}
    if (check.kind, check.n) in _METRICS and check.threshold is not None and check.path is None:
        return {"type": "text_similarity", "input": OUTPUT, "reference": text, "pass_threshold": check.threshold,
                "evaluation_metric": _METRICS[check.kind, check.n]}  # fmt: skip
    if check.kind == "question" and judge_model is not None:
        return _asked(text, judge_model)
    if check.kind == "python" and isinstance(check.value, str) and check.value.endswith(CALL):
        limit = {} if check.threshold is None else {"pass_threshold": check.threshold}
        return {"type": "python", "source": check.value.removesuffix(CALL) + "\n", **limit}
    return None


def _asked(question: str, judge_model: str) -> dict[str, Any]:
    """A model that answers a question about the output with yes or no."""
    turns = [{"role": "user", "content": question + ASKED_FOR}]
    return {"type": "label_model", "model": judge_model, "input": turns, "labels": ["yes", "no"],
            "passing_labels": ["yes"]}  # fmt: skip
