"""``github-prompt``: GitHub's ``.prompt.yml`` with its test data, evaluators and model parameters, both ways.

After GitHub's "Storing prompts in GitHub repositories" and the evaluators of ``gh models eval``: ``string`` evaluators
are checks, ``llm`` ones questions for the judge; those that ``uses`` names are GitHub's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.core.errors import ConfigError, InputError
from promptpex.core.records import Case, Check, Message, Prompt, Rule, Spec, Suite
from promptpex.core.records.prompt import Role
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader, yaml_writer
from promptpex.interchange.format import Exported, Format, Imported, ImportedPrompt, Option, Source
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.exchanges import Ids
from promptpex.interchange.reading.foreign_files import At, head, items, mapping, named, text_of_parts
from promptpex.interchange.reading.prompt_headers import KEYS, format_rules, github_name, is_plain
from promptpex.llm.named_models import free_name, settings_of
from promptpex.llm.names import parse_model

ENDINGS = (".prompt.yml", ".prompt.yaml")
_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_KINDS = {"equals": "equals", "contains": "icontains", "startsWith": "starts-with", "endsWith": "ends-with"}
"""GitHub's keys in the order in which the first that is there counts, and our kinds; only ``equals`` heeds the case
there (``runStringEvaluator`` of gh-models)."""
_EXPORTED = {"equals": "equals", "icontains": "contains", "contains": "contains", "starts-with": "startsWith",
             "ends-with": "endsWith"}  # fmt: skip
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|]")
_BEGINNING = re.compile(r"\^((?:[^\\^$.*+?()\[\]{}|]|\\[\\^$.*+?()\[\]{}|])+)\Z")
_END = re.compile(r"((?:[^\\^$.*+?()\[\]{}|]|\\[\\^$.*+?()\[\]{}|])+)\$\Z")
"""Patterns that an import makes of a beginning and an end."""
"""Conditions of a string evaluator, and our kinds."""
_READ = frozenset(("name", "description", "model", "modelParameters", "messages", "testData", "evaluators", *KEYS))
_THEIRS = {"temperature": "temperature", "top_p": "topP", "max_tokens": "maxTokens", "seed": "seed"}
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9_.-]+")
_EXPECTED = "expected"


def recognise(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith(ENDINGS) or (name.endswith((".yml", ".yaml")) and "\ntestData:" in f"\n{head(path)}")


def read(path: Path) -> Imported:
    """The prompt of a file, its test data as cases, its evaluators as rules, its model as a setting."""
    doc = yaml_reader.read(path, error=InputError, what="prompt file")
    top, log = At(path, doc=doc), Log()
    data = mapping(doc.data, top, "a prompt file")
    messages = tuple(_messages(data.get("messages"), top["messages"]))
    named_as = data.get("name")
    name = named_as if isinstance(named_as, str) and named_as.strip() else path.name.split(".")[0]
    for key in data:
        if key not in _READ:
            log.left_out(key, stored("promptpex has no equivalent"), path, top[key].line)
    rules = rules_of(data, top, log)
    cases = cases_of(data, top, log, messages)
    description = data.get("description")
    prompt = ImportedPrompt(name, messages, description if isinstance(description, str) else "")
    log.came("messages", len(messages))
    return Imported(
        prompt=prompt,
        spec=Spec(intent=" ".join(prompt.description.split()), rules=tuple(rules)) if rules else None,
        suite=Suite(cases=tuple(cases)) if cases else None,
        settings=_settings(data, top, log),
        over=dict(log.over),
        notes=log.notes,
    )


def rules_of(data: Mapping[str, object], top: At, log: Log) -> list[Rule]:
    """A rule for each evaluator that code or a judge can decide, and for the form that the file demands."""
    return [*_rules(data.get("evaluators"), top["evaluators"], log), *format_rules(data, top, log)]


def cases_of(data: Mapping[str, object], top: At, log: Log, messages: Sequence[Message]) -> list[Case]:
    """A case for each row of the test data; ``expected`` is the right output, unless the prompt names it."""
    return _cases(data.get("testData"), top["testData"], log, messages)


def _messages(value: object, at: At) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise at.fail("a prompt needs messages, a list of roles and contents")
    messages = []
    for item, place in items(value, at, "messages"):
        turn = mapping(item, place, "a message")
        role, text = _ROLES.get(str(turn.get("role")).lower()), text_of_parts(turn.get("content"))
        if role is None or text is None:
            raise place.fail("a message needs a role (system, user or assistant) and text")
        if text.strip():
            messages.append(Message(role=role, content=text.strip()))
    if not messages:
        raise at.fail("all messages are empty")
    return messages


def _cases(value: object, at: At, log: Log, messages: Sequence[Message]) -> list[Case]:
    is_input = any(re.search(r"\{\{\s*expected\b", message.content) for message in messages)
    cases = []
    for number, (item, place) in enumerate(items(value, at, "testData"), 1):
        row = dict(mapping(item, place, "a row of test data"))
        expected = None if is_input else row.pop(_EXPECTED, None)
        if expected is not None and not isinstance(expected, str):
            expected = json.dumps(expected, ensure_ascii=False)
        expected_field = {"expected": expected} if expected else {}
        cases.append(Case.model_validate({"id": f"t{number}", "inputs": row, "origin": "added", **expected_field}))
    log.came("testData", len(cases))
    return cases


def _rules(value: object, at: At, log: Log) -> list[Rule]:
    rules: list[Rule] = []
    ids = Ids()
    for item, place in items(value, at, "evaluators"):
        evaluator = mapping(item, place, "an evaluator")
        check, sentence = _check(evaluator, place, log)
        if check is None and sentence is None:
            continue
        stem = _NOT_AN_ID.sub("-", str(evaluator.get("name") or "evaluator")).strip("-")[:50] or "evaluator"
        checks = (check,) if check is not None else ()
        rules.append(Rule(id=ids.numbered(stem), rule=sentence or _sentence(check), checks=checks, origin="added"))
        log.came("evaluators")
    return rules


def _check(evaluator: Mapping[str, object], at: At, log: Log) -> tuple[Check | None, str | None]:
    """The check of an evaluator, or the statement that a judge decides; neither where it is left out."""
    text, judge = evaluator.get("string"), evaluator.get("llm")
    if isinstance(text, dict):
        return _of_text(text, at["string"], log), None
    if isinstance(judge, dict) and isinstance(judge.get("prompt"), str) and judge["prompt"].strip():
        why = stored("the --judge model says whether the output meets its prompt; choices and scores are left out")
        log.changed(at.name, why, at.path, at.line)
        if judge.get("systemPrompt"):
            why = stored("judges and their instructions are set by --judge and the settings")
            log.left_out(at["llm"]["systemPrompt"].name, why, at.path, at["llm"]["systemPrompt"].line)
        words = re.sub(r"\{\{\s*(completion|output)\s*\}\}", "the output", " ".join(judge["prompt"].split()))
        return (Check(kind="llm-rubric", value=words) if "{{" in words else None), words
    why = stored("it has neither a string evaluator nor a model")
    if "uses" in evaluator:
        why = stored("{kind} exists on GitHub only", kind=evaluator["uses"])
    log.left_out(at.name, why, at.path, at.line)
    return None, None


def _of_text(text: Mapping[str, object], at: At, log: Log) -> Check:
    """The check of a string evaluator: of several keys the first counts, as there; beginnings and ends of any case."""
    text_fields = {key: text[key] for key in _KINDS if isinstance(text.get(key), str) and text[key]}
    if not text_fields:
        raise at.fail(f"a string evaluator needs one of {', '.join(_KINDS)} with text")
    (key, value), *others = text_fields.items()
    for other, _ in others:
        why = stored("where both are given, GitHub's evaluator looks at {key} alone", key=key)
        log.left_out(at[other].name, why, at.path, at[other].line)
    if key not in ("startsWith", "endsWith"):
        return Check(kind=_KINDS[key], value=value)
    if "{{" in str(value):
        log.changed(at.name, stored("here the comparison is case-sensitive"), at.path, at.line)
        return Check(kind=_KINDS[key], value=value)
    return check_of_text({key: str(value)})


def check_of_text(text: Mapping[str, str]) -> Check:
    """The check of a beginning or an end, of any case; the opposite of ``as_evaluator``."""
    ((key, value),) = text.items()
    plain = _SPECIAL.sub(r"\\\g<0>", value)
    return Check(kind="regex", value=f"^{plain}" if key == "startsWith" else f"{plain}$", ignore_case=True)


def as_evaluator(check: Check) -> tuple[str, str] | None:
    """The key and the text of the evaluator that a check is; None where it is none."""
    if not isinstance(check.value, str) or check.path is not None or check.transform is not None:
        return None
    if check.kind != "regex":
        return (_EXPORTED[check.kind], check.value) if check.kind in _EXPORTED else None
    patterns = (
        (("startsWith", _BEGINNING), ("endsWith", _END)) if check.ignore_case and check.dialect == "ecmascript" else ()
    )
    matches = ((key, pattern.match(check.value)) for key, pattern in patterns)
    return next(((key, re.sub(r"\\(.)", r"\1", match[1])) for key, match in matches if match is not None), None)


def _sentence(check: Check | None) -> str:
    evaluator = as_evaluator(check) if check is not None else None
    if evaluator is None:
        return ""
    verbs = {"contains": "holds", "startsWith": "starts with", "endsWith": "ends with", "equals": "is"}
    ending = ", in any case" if check is not None and check.kind in ("icontains", "regex") else ""
    return f"The output {verbs[evaluator[0]]} {json.dumps(evaluator[1], ensure_ascii=False)}{ending}."


def _settings(data: Mapping[str, object], top: At, log: Log) -> dict[str, object]:
    """The model under test with its parameters; GitHub's names are asked of ``github/``."""
    model = data.get("model")
    if not isinstance(model, str) or not model.strip():
        return {}
    name = github_name(model) if is_plain(model.strip()) else model
    try:
        if not is_plain(name):
            raise ConfigError("it is not just a name")
        parse_model(name)
    except ConfigError:
        log.left_out(
            "model",
            stored("{value} is not a model name that promptpex knows", value=named(model)),
            top.path,
            top["model"].line,
        )
        return {}
    log.came("model")
    at = top["modelParameters"]
    table, unused = settings_of(mapping(data.get("modelParameters"), at, "modelParameters"))
    log.came("modelParameters", len(table))
    for key in unused:
        log.left_out(at[key].name, stored("promptpex has no such model parameter"), top.path, at[key].line)
    if not table:
        return {"models": {"under_test": [name]}}
    alias = free_name(name.partition("/")[2])
    return {"models": {"under_test": [alias], alias: {"model": name, **table}}}


def write(source: Source, *, model: str | None) -> Exported:
    """The prompt with its cases and the checks that GitHub's evaluators can say."""
    project = source.project()
    left_out: list[str] = []
    chosen = model or (project.models[0] if project.models else None)
    content: dict[str, Any] = {"name": project.prompt.name}
    if project.prompt.description:
        content["description"] = project.prompt.description
    content |= _model(chosen, left_out)
    content["messages"] = _turns(project.prompt)
    evaluators = _evaluators(project.spec, left_out)
    content["testData"] = [_row(case) for case in project.suite.usable()]
    unused = len(project.suite.cases) - len(content["testData"])
    left_out += [stored("cases that are not run, and are left out: {count}", count=unused)] if unused else []
    if evaluators:
        content["evaluators"] = evaluators
    return Exported(yaml_writer.document(content), tuple(left_out))


def _model(label: str | None, left_out: list[str]) -> dict[str, Any]:
    if label is None:
        left_out.append(stored("no model is named (--model NAME); write one under model"))
        return {}
    try:
        parsed = parse_model(label)
    except ConfigError:
        return {"model": label}
    params = parsed.params.model_dump(include=set(_THEIRS), exclude_none=True)
    about: dict[str, Any] = {"model": parsed.name.removeprefix("github/")}
    return {**about, "modelParameters": {_THEIRS[key]: value for key, value in params.items()}} if params else about


def _turns(prompt: Prompt) -> list[dict[str, str]]:
    turns = [{"role": message.role, "content": message.content} for message in prompt.messages]
    if prompt.implicit_input:
        turns.append({"role": "user", "content": f"{{{{{prompt.variables[0]}}}}}"})
    return turns


def _row(case: Case) -> dict[str, Any]:
    expected = {_EXPECTED: case.expected} if case.expected is not None else {}
    return {**case.inputs, **expected}


def _evaluators(spec: Spec, left_out: list[str]) -> list[dict[str, Any]]:
    evaluators = []
    for rule in spec.rules:
        fits = not rule.when and not rule.needs_judge and len(rule.checks) == 1
        check = rule.checks[0] if fits else None
        evaluator = as_evaluator(check) if check is not None else None
        if check is None or evaluator is None:
            why = stored(
                "rule {rule} is left out: a GitHub evaluator is one text that the output contains, begins or ends "
                "with, or equals",
                rule=rule.id,
            )
            left_out.append(why)
            continue
        if check.kind in ("contains", "starts-with", "ends-with"):
            left_out.append(stored("rule {rule}: GitHub's evaluators ignore case", rule=rule.id))
        evaluators.append({"name": rule.id, "string": {evaluator[0]: evaluator[1]}})
    return evaluators


FORMAT = Format(
    name="github-prompt",
    summary="GitHub's .prompt.yml: messages, testData, evaluators, model parameters",
    export_note="of a case file, with the prompt and the spec in its folder",
    extensions=(".yml", ".yaml"),
    reads="project",
    writes="project",
    read=read,
    write=write,
    write_options=(Option("model", "its model [the first of the run].", metavar="NAME"),),
    recognise=recognise,
    lost="GitHub's own evaluators (`uses`), choices and scores; out: ids, checks but `icontains`, "
    "`equals` and `regex`, rules with a condition",
)  # fmt: skip
