"""Files of assertions: promptfoo's shape, a bare list, or a spec; refused with file and line before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpex.assertions import evaluate
from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Unscorable
from promptpex.assertions.rows import INPUTS, kept
from promptpex.assertions.time_limits import READING_SECONDS, Turn, check_time
from promptpex.codecs.ordinary_files import inside, read_bytes
from promptpex.core.errors import CheckError
from promptpex.documents import yaml_reader
from promptpex.documents.yaml_reader import YamlDoc

_FILE = "file://"
_TEMPLATES = "#/assertionTemplates/"
Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class CheckFile:
    """Assertions from a file.

    Attributes:
        compiled: ready to judge.
        raw: as data, in the same order.
        threshold: the least score that passes, where the file says one.
        vars: for templates and scripts, where a row does not say them itself.
    """

    compiled: evaluate.Compiled
    raw: tuple[Any, ...]
    threshold: float | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)


def read(path: Path) -> CheckFile:
    """The assertions of a file.

    A list; or a mapping with ``assert`` (and ``threshold``), with ``defaultTest`` and at most one of ``tests``, or with
    ``rules`` that have ``checks`` (a spec; each check's metric is its rule, where it names none).

    Raises:
        CheckError: the file cannot be read, or an assertion cannot be used; with file and line.
    """
    doc = yaml_reader.read(path, error=CheckError, what="assertion file")
    none = "the file has no assertions; write a list, a mapping with assert, or a spec with checks"
    with check_time():
        return _compiled(doc, path, none)


def of_run(folder: Path) -> CheckFile:
    """The checks of the spec that a run's folder keeps.

    Raises:
        CheckError: the spec cannot be read, or has no check that can be used.
    """
    path = folder / INPUTS
    doc = YamlDoc("", kept(path).get("spec"), None, path, error=CheckError)
    with check_time():
        return _compiled(doc, path, "the run's spec has no checks; give some by --assertions FILE")


def _compiled(doc: YamlDoc, path: Path, none: str) -> CheckFile:
    """The assertions of a document, ready to judge; ``none`` is what is said where there are none."""
    found = list(_found(doc, doc.data))
    if not found:
        raise doc.fail(none)
    data = list(_few(doc, ((keys, _resolved(doc, item, keys, path)) for keys, item in found)))
    made = evaluate.ready(item for _, item in data)
    evaluate.warm_up(made)
    evaluate.announce([made])
    warnings: list[str] = []
    for (keys, item), step in zip(data, made.steps, strict=True):
        try:
            compiled = evaluate.strict(evaluate.Compiled((step,)))
        except CheckError as error:
            raise doc.fail(error.message, *_place(doc, keys, item)) from error
        warnings += [f"{path}:{doc.line(*keys)}: {warning}" for warning in compiled.warnings]
    ready = evaluate.Compiled(made.steps, tuple(warnings))
    return CheckFile(ready, tuple(item for _, item in data), _threshold(doc), _vars(doc))


def _few(doc: YamlDoc, items: Iterator[tuple[Keys, Any]]) -> Iterator[tuple[Keys, Any]]:
    """The assertions while they are few: a template that is named a thousand times is as many."""
    count = 0
    for keys, item in items:
        count += evaluate.counted([item])
        if count > evaluate.MAX_CHECKS:
            raise doc.fail(f"there are more than {evaluate.MAX_CHECKS:,} assertions; divide them among several files")
        yield keys, item


def _found(doc: YamlDoc, data: Any) -> Iterator[tuple[Keys, Any]]:
    if isinstance(data, list):
        yield from _listed(doc, data, ())
    if not isinstance(data, Mapping):
        return
    if "rules" in data:
        yield from _of_spec(doc, data)
        return
    yield from _asserts(doc, data, ())
    default = data.get("defaultTest")
    if isinstance(default, Mapping):
        yield from _asserts(doc, default, ("defaultTest",))
    tests = data.get("tests")
    if isinstance(tests, list) and len(tests) > 1 and any(isinstance(t, Mapping) and "assert" in t for t in tests):
        raise doc.fail("the file has several tests with assertions of their own; put them into the rows", "tests", 1)
    if isinstance(tests, list) and len(tests) == 1 and isinstance(tests[0], Mapping):
        yield from _asserts(doc, tests[0], ("tests", 0))


def _asserts(doc: YamlDoc, data: Mapping[str, Any], keys: Keys) -> Iterator[tuple[Keys, Any]]:
    for name in ("assert", "checks"):
        if name in data:
            if isinstance(data[name], Mapping):
                yield (*keys, name), data[name]
                continue
            if not isinstance(data[name], list):
                raise doc.fail(f"{name} is a list of assertions", *keys, name)
            yield from _listed(doc, data[name], (*keys, name))


def _listed(doc: YamlDoc, items: list[Any], keys: Keys) -> Iterator[tuple[Keys, Any]]:
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise doc.fail("an assertion is a mapping with a kind", *keys, index)
        yield (*keys, index), item


def _of_spec(doc: YamlDoc, data: Mapping[str, Any]) -> Iterator[tuple[Keys, Any]]:
    rules = data["rules"]
    if not isinstance(rules, list):
        raise doc.fail("rules is a list", "rules")
    for number, rule in enumerate(rules):
        checks = rule.get("checks") if isinstance(rule, Mapping) else None
        if checks is None:
            continue
        if not isinstance(checks, list):
            raise doc.fail("checks is a list of assertions", "rules", number, "checks")
        for keys, item in _listed(doc, checks, ("rules", number, "checks")):
            yield keys, {"metric": str(rule.get("id", number)), **item}


def _threshold(doc: YamlDoc) -> float | None:
    for keys, place in _places(doc):
        if "threshold" in place:
            found = place["threshold"]
            if not js_values.is_number(found) or not math.isfinite(js_values.as_double(found)):
                raise doc.fail("the threshold is a number", *keys, "threshold")
            return float(found)
    return None


def _vars(doc: YamlDoc) -> Mapping[str, Any]:
    """The ``vars`` that stand beside ``assert``; those of the test over those of ``defaultTest``."""
    found: dict[str, Any] = {}
    for keys, place in _places(doc):
        given = place.get("vars", {})
        if not isinstance(given, Mapping):
            raise doc.fail("vars is a mapping of names to values", *keys, "vars")
        found |= given
    return found


def _places(doc: YamlDoc) -> Iterator[tuple[Keys, Mapping[str, Any]]]:
    """Where ``assert`` may stand with a threshold and vars: at the top, in ``defaultTest``, in the one test."""
    for keys in ((), ("defaultTest",), ("tests", 0)):
        place = doc.data
        for key in keys:
            held = isinstance(place, Mapping) if isinstance(key, str) else isinstance(place, list) and len(place) == 1
            place = (place.get(key) if isinstance(key, str) else place[key]) if held else None
        if isinstance(place, Mapping) and "rules" not in place:
            yield keys, place


def _place(doc: YamlDoc, keys: Keys, item: Any) -> Keys:
    """Where in an assertion the trouble stands: in a set, at the part that cannot be used."""
    parts = item.get("assert") if isinstance(item, Mapping) else None
    if not isinstance(parts, list):
        return keys
    for index, part in enumerate(parts):
        try:
            evaluate.compile_checks([part])
        except CheckError:
            return (*keys, "assert", index)
    return keys


def _resolved(doc: YamlDoc, item: Any, keys: Keys, path: Path, inside_a_set: bool = False) -> Any:
    """The assertion with its ``$ref`` to a template and its ``file://`` values put in.

    No set stands in a set, so the parts of one are looked at and theirs are not: templates may name each other.
    """
    if not isinstance(item, Mapping):
        return item
    reference = item.get("$ref")
    if isinstance(reference, str) and "kind" not in item and "type" not in item:
        item = {**_template(doc, reference, keys), **{key: value for key, value in item.items() if key != "$ref"}}
    made = dict(item)
    if isinstance(made.get("assert"), list) and not inside_a_set:
        parts = enumerate(made["assert"])
        made["assert"] = [_resolved(doc, part, (*keys, "assert", n), path, inside_a_set=True) for n, part in parts]
    value = made.get("value")
    if isinstance(value, str) and value.startswith(_FILE):
        name = value.removeprefix(_FILE)
        file = inside(path.parent, name, error=CheckError, what="value's file", path=path, line=doc.line(*keys))
        try:
            with Turn(each=READING_SECONDS):
                made["value"] = _value_file(doc, file, keys)
        except Unscorable as late:
            raise doc.fail(f"the value's file {file.name}: {late.message}", *keys) from late
    return made


def _template(doc: YamlDoc, reference: str, keys: Keys) -> Mapping[str, Any]:
    templates = doc.data.get("assertionTemplates") if isinstance(doc.data, Mapping) else None
    name = reference.removeprefix(_TEMPLATES)
    found = templates.get(name) if isinstance(templates, Mapping) and reference.startswith(_TEMPLATES) else None
    if not isinstance(found, Mapping):
        raise doc.fail(f"there is no assertion template {reference!r}", *keys)
    return found


def _value_file(doc: YamlDoc, path: Path, keys: Keys) -> Any:
    if path.suffix.lower() in (".json", ".yaml", ".yml"):
        return yaml_reader.read(path, error=CheckError, what="value").data
    if path.suffix.lower() != ".txt":
        raise doc.fail("a value is read from .json, .yaml and .txt files; write a script into the value itself", *keys)
    try:
        return js_values.trim(read_bytes(path, error=CheckError, what="value's file").decode("utf-8"))
    except ValueError as error:
        raise doc.fail(f"the value's file {path.name} is not UTF-8 text", *keys) from error


__all__ = ["CheckFile", "read"]
