"""Cases as samples of openai/evals, and rules as entries of its registry."""

from __future__ import annotations

from typing import Any

from promptpex.codecs import jsonl
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Rule
from promptpex.core.translation import stored
from promptpex.documents import yaml_writer
from promptpex.interchange.format import Exported, Project, Source
from promptpex.interchange.openai_evals.classes import IDEAL, TEMPLATES
from promptpex.interchange.openai_evals.samples import INPUT
from promptpex.interchange.reading.exchanges import Ids

_KEPT = "id"
_RESERVED = frozenset((INPUT, IDEAL, _KEPT))


def write(source: Source, *, registry: str | None) -> Exported:
    """The usable cases with an expected output as samples, or the rules as a registry's YAML.

    Raises:
        InputError: the name of the registry is none.
    """
    project = source.project()
    return _registry(project, registry) if registry is not None else _samples(project)


def _samples(project: Project) -> Exported:
    left_out: list[str] = []
    usable = project.suite.usable()
    if len(project.suite.cases) > len(usable):
        count = len(project.suite.cases) - len(usable)
        left_out.append(stored("cases that are not run, and are left out: {count}", count=count))
    rows = [row for case in usable if (row := _sample(project, case, left_out)) is not None]
    if project.spec.rules:
        why = stored("samples contain no rules: --registry NAME writes those that evals has a class for")
        left_out.append(why)
    return Exported("".join(f"{jsonl.dumps(row)}\n" for row in rows), tuple(left_out))


def _sample(project: Project, case: Case, left_out: list[str]) -> dict[str, Any] | None:
    ideal = case.inputs.get(IDEAL)
    known = (
        isinstance(ideal, list)
        and all(isinstance(each, str) for each in ideal)
        and IDEAL not in project.prompt.variables
    )
    right = ideal if known else [case.expected, *case.also_right] if case.expected is not None else None
    if right is None:
        left_out.append(stored("case {case} is left out: it has no expected output", case=case.id))
        return None
    messages = project.rendered(case.inputs)
    if not messages:
        left_out.append(stored("case {case} is left out: the prompt cannot be rendered with it", case=case.id))
        return None
    turns = [{"role": message.role, "content": message.content} for message in messages]
    others = {key: value for key, value in case.inputs.items()
              if key not in project.prompt.variables and key not in _RESERVED}  # fmt: skip
    return {_KEPT: case.id, INPUT: turns, IDEAL: right[0] if len(right) == 1 else right, **others}


def _registry(project: Project, name: str) -> Exported:
    if Ids().free(name, "") != name:
        raise InputError("--registry takes a name of letters, digits, dots and hyphens")
    left_out: list[str] = []
    content: dict[str, Any] = {}
    for rule in project.spec.rules:
        template = _template(rule)
        if template is None:
            left_out.append(stored("rule {rule} is left out: evals has no class for it", rule=rule.id))
            continue
        full = f"{name}-{rule.id}"
        args: dict[str, Any] = {"samples_jsonl": f"{name}/samples.jsonl"}
        args |= {"ignore_case": True} if template == "includes-ignore-case" else {}
        content[full] = {"id": f"{full}.dev.v0", "description": " ".join(rule.rule.split()), "metrics": ["accuracy"]}
        content[f"{full}.dev.v0"] = {"class": TEMPLATES[template].theirs, "args": args}
    if not content:
        raise InputError("no rule has a check that evals has a class for; export the samples without --registry")
    left_out.append(stored("the samples: export them without --registry, as {file}", file=f"{name}/samples.jsonl"))
    return Exported(yaml_writer.document(content), tuple(left_out))


def _template(rule: Rule) -> str | None:
    """The template of evals that a rule's one check is."""
    if len(rule.checks) != 1 or rule.when or rule.needs_judge:
        return None
    check = rule.checks[0]
    if check.path is not None or check.transform is not None or not isinstance(check.value, str | None):
        return None
    for name, grading in TEMPLATES.items():
        by_kind = grading.kind is not None and (check.kind, check.value) == (grading.kind, grading.value)
        by_script = grading.script is not None and (check.kind, check.value) == ("javascript", grading.script)
        if by_kind or by_script:
            return name
    return None
