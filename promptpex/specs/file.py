"""The spec file: read with every mistake named by its line, written so that people's hands are respected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from promptpex.codecs.atomic import write_text
from promptpex.core.errors import CheckError, InputError, SpecError
from promptpex.core.records import Check, InputCheck, Problem, Rule, Spec, VariableSpec
from promptpex.documents import yaml_patch, yaml_reader
from promptpex.documents.record_problems import as_problem, unknown_key
from promptpex.documents.schema_ref import keep_schema, schema_place
from promptpex.documents.yaml_reader import Keys, YamlDoc
from promptpex.documents.yaml_records import (
    Findings,
    ListUpdate,
    check_written,
    claimed,
    new_document,
    take,
)
from promptpex.judging.modes import own_rules

WHAT = "spec file"
_RULE_TEXTS = ("id", "rule", "inverse", "source", "content")
_ALWAYS = ("id", "rule", "origin")
_TOP = ("prompt", "prompt_fingerprint", "intent")


def read_spec(path: Path | str) -> Spec:
    """The spec in this file, each rule with the origin it has in truth.

    A rule that says no origin counts as ``added``; an extracted one whose words no longer fit its ``content`` hash
    counts as ``edited``.

    Raises:
        SpecError: the first mistake, with file and line: not YAML, unknown key, missing or twice used id, a check
            that cannot be used, no rules.
    """
    doc = yaml_reader.read(path, error=SpecError, what=WHAT)
    spec, found = _examine(doc)
    found.raise_first()
    assert spec is not None
    return spec


def examine(path: Path | str) -> tuple[Spec | None, list[Problem]]:
    """The spec if it can be used, and all problems of the file, not just the first."""
    try:
        doc = yaml_reader.read(path, error=SpecError, what=WHAT)
    except SpecError as failure:
        return None, [as_problem(failure)]
    spec, found = _examine(doc)
    return spec, found.problems


def lines(path: Path | str) -> dict[str, int]:
    """The line that each rule begins on, by its id; empty for a file that is no spec."""
    try:
        doc = yaml_reader.read(path, error=SpecError, what=WHAT)
    except SpecError:
        return {}
    rules = doc.data.get("rules") if isinstance(doc.data, dict) else None
    ids = [item.get("id") if isinstance(item, dict) else None for item in rules] if isinstance(rules, list) else []
    return {str(name): doc.line("rules", position) for position, name in enumerate(ids)}


def input_line(path: Path | str, name: str) -> int | None:
    """The line on which the input spec of a variable begins; None for a file that cannot be read."""
    try:
        return yaml_reader.read(path, error=SpecError, what=WHAT).line("inputs", name)
    except SpecError:
        return None


def write_spec(path: Path | str, spec: Spec, *, by_hand: bool = False, schema: str | None = None) -> Spec:
    """Write the spec, or bring the file up to it with the least edits; gives what the file now says.

    What has not changed keeps every byte: comments, order, quoting, blank lines. Rules are matched by id. A rule that
    is a person's on file is neither changed nor removed, unless ``by_hand`` says that a person asked for it.

    Args:
        schema: what the first line of a new file names as its JSON schema; by default a place that is the same on
            every machine (``codecs.schemaplace``).

    Raises:
        SpecError: the file on disk is broken (it is left as it is), or cannot be edited in place.
        OSError: it cannot be written.
    """
    if not Path(path).exists():
        update = _rules_update((), spec.rules, by_hand)
        fresh = spec.replace(rules=tuple(update.wanted()))
        write_text(path, new_document(schema or schema_place(path, "spec"), _shown(fresh, update)))
        keep_schema(path)
        return fresh
    doc = yaml_reader.read(path, error=SpecError, what=WHAT, to_edit=True)
    old = _on_file(doc)
    update = _rules_update(old.rules, spec.rules, by_hand)
    text = _edited(doc, old, spec, update)
    if text != doc.text:
        _verify(text, doc, spec, update)
        write_text(path, doc.mark + text)
    keep_schema(path)
    return spec.replace(rules=tuple(update.wanted()))


def _rules_update(old: Sequence[Rule], new: Sequence[Rule], by_hand: bool) -> ListUpdate:
    return ListUpdate("rules", old, new, _ALWAYS, by_hand)


def _on_file(doc: YamlDoc) -> Spec:
    found = Findings(doc)
    spec = _load(doc, found)
    found.raise_first()
    assert spec is not None
    return spec


def _examine(doc: YamlDoc) -> tuple[Spec | None, Findings]:
    found = Findings(doc)
    spec = _load(doc, found)
    if isinstance(doc.data, dict) and not doc.data.get("rules") and not found.problems:
        found.add("the spec has no rules", "rules", suggestion="add some, or extract them from the prompt")
    if any(problem.severity == "error" for problem in found.problems):
        spec = None
    return spec, found


def _load(doc: YamlDoc, found: Findings) -> Spec | None:
    data = doc.data
    if not isinstance(data, dict):
        found.add("a spec must be a mapping with 'prompt' and 'rules'")
        return None
    for key in data:
        if key not in Spec.model_fields:
            message, suggestion = unknown_key(key, Spec.model_fields)
            found.add(message, key, suggestion=suggestion)
    from promptpex.assertions import check_time

    with check_time():
        written, written_checks = _items(data, "rules", found), _items(data, "input_checks", found)
        if not _announced(written, written_checks, found):
            return None
        rules = _rules(written, found)
        inputs = _inputs(data.get("inputs"), found)
        checks = _input_checks(written_checks, found)
    top = {name: data[name] for name in _TOP if name in data}
    head = take(Spec, top, (), found, text_fields=_TOP)
    if head is None or any(problem.severity == "error" for problem in found.problems):
        return None
    return head.replace(rules=tuple(rules), inputs=inputs, input_checks=tuple(checks))


def _announced(rules: list[Any], input_checks: list[Any], found: Findings) -> bool:
    """Whether the checks are few enough to be compiled; their patterns are by then, in few calls."""
    from promptpex.assertions import MAX_CHECKS, compile_patterns, count_checks, prepare

    lists = [rule["checks"] for rule in rules if isinstance(rule, dict) and isinstance(rule.get("checks"), list)]
    checks = [check for each in (*lists, input_checks) for check in each]
    if count_checks(checks) > MAX_CHECKS:
        said = f"the spec has more than {MAX_CHECKS:,} checks"
        found.add(said, "rules", suggestion="divide its rules among several specs")
        return False
    compile_patterns([prepare(checks)])
    return True


def _input_checks(items: list[Any], found: Findings) -> list[InputCheck]:
    checks: list[InputCheck] = []
    for number, item in enumerate(items):
        check = take(InputCheck, item, ("input_checks", number), found, text_fields=("variable",))
        if check is not None:
            _compile(check, f"the input check of {check.variable}", ("input_checks", number), found)
            checks.append(check)
    return checks


def _items(data: dict[str, Any], key: str, found: Findings) -> list[Any]:
    items = data.get(key)
    if items is None:
        return []
    if not isinstance(items, list):
        found.add(f"{key!r} must be a list", key, suggestion="put '- ' before each item")
        return []
    return items


def _rules(items: list[Any], found: Findings) -> list[Rule]:
    rules: list[Rule] = []
    seen: dict[str, int] = {}
    reserved = own_rules()
    for number, item in enumerate(items):
        rule = take(Rule, item, ("rules", number), found, text_fields=_RULE_TEXTS)
        if rule is None:
            continue
        line = found.doc.line("rules", number, "id")
        if rule.id in seen or rule.id in reserved:
            problem = f"is on line {seen[rule.id]} too" if rule.id in seen else "is that of a rule of a judge mode"
            found.add(f"the rule id {rule.id!r} {problem}", "rules", number, "id", suggestion="give it another")
        if not rule.rule.strip():
            found.add(f"the rule {rule.id!r} is empty", "rules", number, "rule")
        for position, check in enumerate(rule.checks):
            _compile(check, f"rule {rule.id}", ("rules", number, "checks", position), found)
        seen.setdefault(rule.id, line)
        rules.append(claimed(rule, item))
    for number, rule in enumerate(rules):
        if rule.inverse_id in seen:
            found.add(
                f"{rule.inverse_id!r} is the inverse of {rule.id!r}; no rule can have that id", "rules", number, "id"
            )
    return rules


def _inputs(data: Any, found: Findings) -> dict[str, VariableSpec]:
    if data is None:
        return {}
    if not isinstance(data, dict):
        found.add("'inputs' must name the variables, each with its constraints", "inputs")
        return {}
    result: dict[str, VariableSpec] = {}
    for name, said in data.items():
        shaped = {"constraints": [said]} if isinstance(said, str) else said
        shaped = {"constraints": said} if isinstance(said, list) else shaped
        spec = take(VariableSpec, {} if shaped is None else shaped, ("inputs", name), found)
        if spec is not None:
            result[name] = spec
    return result


def _compile(check: Check, where: str, keys: Keys, found: Findings) -> None:
    from promptpex.assertions import compile_checks

    try:
        compiled = compile_checks([check], where=where)
    except CheckError as failure:
        found.add(failure.message, *keys)
        return
    for warning in compiled.warnings:
        found.add(warning, *keys, severity="warning")


def _shown(spec: Spec, update: ListUpdate) -> dict[str, Any]:
    content: dict[str, Any] = {"prompt": spec.prompt}
    if spec.prompt_fingerprint is not None:
        content["prompt_fingerprint"] = spec.prompt_fingerprint
    content["intent"] = spec.intent
    content["inputs"] = {name: _variable(item) for name, item in spec.inputs.items()}
    if spec.input_checks:
        content["input_checks"] = [check.to_dict() for check in spec.input_checks]
    content["rules"] = [update.shown(rule) for rule in update.wanted()]
    return content


def _variable(item: VariableSpec) -> Any:
    plain = item.to_dict()
    return plain.get("constraints", []) if set(plain) <= {"constraints"} else plain


def _edited(doc: YamlDoc, old: Spec, new: Spec, update: ListUpdate) -> str:
    edits = yaml_patch.Edits(doc)
    for name in _TOP:
        if getattr(old, name) != getattr(new, name):
            edits.set((), name, getattr(new, name))
    _edit_inputs(edits, doc, old, new)
    if old.input_checks != new.input_checks:
        edits.set((), "input_checks", [check.to_dict() for check in new.input_checks])
    update.apply(edits)
    return edits.text()


def _edit_inputs(edits: yaml_patch.Edits, doc: YamlDoc, old: Spec, new: Spec) -> None:
    if old.inputs == new.inputs:
        return
    if not old.inputs or not new.inputs:
        edits.set((), "inputs", {name: _variable(item) for name, item in new.inputs.items()})
        return
    gone = [name for name in old.inputs if name not in new.inputs]
    if len(gone) == len(old.inputs):
        edits.set((), "inputs", {name: _variable(item) for name, item in new.inputs.items()})
        return
    for name, item in new.inputs.items():
        if old.inputs.get(name) != item:
            edits.set(("inputs",), name, _variable(item))
    for name in gone:
        edits.remove(("inputs",), name, [])


def _verify(text: str, doc: YamlDoc, spec: Spec, update: ListUpdate) -> None:
    sentence = f"the {WHAT} cannot be edited in place without harm; it was left as it is"
    try:
        again = _on_file(yaml_reader.load(text, path=doc.path, error=SpecError, what=WHAT))
    except InputError:
        raise SpecError(sentence, path=doc.path) from None
    check_written(sentence, doc, again.rules, update.wanted())
    if any(getattr(again, name) != getattr(spec, name) for name in (*_TOP, "inputs", "input_checks")):
        raise SpecError(sentence, path=doc.path)
