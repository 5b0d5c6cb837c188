"""Files of assertions: promptfoo's shape, a bare list, or a spec; refused with file and line before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

from promptpex.assertions import compiler, time_limits
from promptpex.assertions.javascript import js_values
from promptpex.assertions.model import Unscorable
from promptpex.assertions.rows_to_check import INPUTS, run_inputs
from promptpex.codecs.files.ordinary_files import inside, read_bytes, read_text
from promptpex.codecs.json_text import without_comments
from promptpex.core.errors import CheckError
from promptpex.documents import yaml_reader
from promptpex.documents.yaml_reader import YamlDoc

_FILE = "file://"
_TEMPLATES = "#/assertionTemplates/"
Keys = tuple[str | int, ...]
"""The place of a value in the file: the keys and indexes that lead to it."""
Written = Mapping[str, object]
"""An assertion as the file has it."""


@dataclass(frozen=True, slots=True)
class OfTest:
    """One of several tests of a file.

    Attributes:
        vars: by which a row is known to be of the test; a list of texts stands for any of them.
        places: of its own assertions among those of the file.
        threshold: the least score that passes, where the test or the file says one.
    """

    vars: Mapping[str, object]
    places: tuple[int, ...]
    threshold: float | None = None

    def fits(self, variables: Mapping[str, object]) -> bool:
        return all(name in variables and _is_one_of(variables[name], value) for name, value in self.vars.items())


def _is_one_of(value: object, wanted: object) -> bool:
    is_list = isinstance(wanted, list) and bool(wanted) and isinstance(wanted[0], str)
    return value == wanted or (is_list and isinstance(wanted, list) and value in wanted)


@dataclass(frozen=True, slots=True)
class CheckFile:
    """Assertions from a file. Sent to another process, it leaves behind what is compiled, and that process compiles it.

    Attributes:
        compiled: ready to evaluate.
        raw: as data, in the same order.
        threshold: the least score that passes, where the file says one.
        vars: for templates and scripts, where a row does not say them itself.
        tests: of several tests what each says; then the assertions of none are those of all.
    """

    compiled: compiler.Compiled
    raw: tuple[Written, ...]
    threshold: float | None = None
    vars: Mapping[str, object] = field(default_factory=dict)
    tests: tuple[OfTest, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return _compiled_again, (self.raw, self.threshold, self.vars, self.tests)

    def for_row(self, variables: Mapping[str, object]) -> CheckFile | None:
        """What is said of rows with these variables; None where none of several tests is about them, and of several
        that are the one with the most variables counts."""
        if not self.tests:
            return self
        fitting = [test for test in self.tests if test.fits(variables)]
        if not fitting:
            return None
        chosen = max(fitting, key=lambda test: len(test.vars))
        own = {place for test in self.tests for place in test.places}
        places = [place for place in range(len(self.raw)) if place not in own or place in chosen.places]
        steps = tuple(self.compiled.steps[place] for place in places)
        return CheckFile(
            compiler.Compiled(steps), tuple(self.raw[place] for place in places), chosen.threshold, self.vars
        )


def _compiled_again(
    raw: tuple[Written, ...], threshold: float | None, variables: Mapping[str, object], tests: tuple[OfTest, ...]
) -> CheckFile:
    with time_limits.check_time():
        compiled = compiler.prepare(raw)
    compiler.start_v8(compiled)
    return CheckFile(compiled, raw, threshold, variables, tests)


def read(path: Path) -> CheckFile:
    """The assertions of a file.

    A list, of assertions or of tests; or a mapping with ``assert`` (and ``threshold``), with ``defaultTest`` and
    ``tests``, or with ``rules`` that have ``checks`` (a spec; each check's metric is its rule, where it names none). Of
    several tests the assertions are for the rows with their variables.

    Raises:
        CheckError: the file cannot be read, or an assertion cannot be used; with file and line.
    """
    what = "assertion file"
    text = without_comments(read_text(path, error=CheckError, what=what, limit=yaml_reader.MAX_BYTES))
    doc = _as_tests(yaml_reader.load(text, path=path, error=CheckError, what=what))
    none = "the file has no assertions; write a list, a mapping with assert, or a spec with checks"
    with time_limits.check_time():
        return _compiled(doc, path, none)


def _as_tests(doc: YamlDoc) -> YamlDoc:
    """The document, a list of tests under the key that promptfoo has for them, as its files of tests are."""
    items = doc.data if isinstance(doc.data, list) else []
    tests = [item for item in items if isinstance(item, Mapping) and not {"kind", "type", "$ref"} & item.keys()]
    if not tests or len(tests) < len(items) or not any("assert" in test for test in tests):
        return doc
    key = SimpleNamespace(id="scalar", value="tests", start_mark=doc.root.start_mark)
    root = SimpleNamespace(id="mapping", value=[(key, doc.root)], start_mark=doc.root.start_mark)
    return replace(doc, data={"tests": items}, root=root)


def of_run(folder: Path) -> CheckFile:
    """The checks of the spec that a run's folder keeps.

    Raises:
        CheckError: the spec cannot be read, or has no check that can be used.
    """
    path = folder / INPUTS
    doc = YamlDoc("", run_inputs(path).get("spec"), None, path, error=CheckError)
    with time_limits.check_time():
        return _compiled(doc, path, "the run's spec has no checks; give some by --assertions FILE")


def _compiled(doc: YamlDoc, path: Path, none: str) -> CheckFile:
    """The assertions of a document, ready to evaluate; ``none`` is the error where there are none."""
    written = list(_written(doc, doc.data))
    if not written:
        raise doc.fail(none)
    data = list(_at_most(doc, ((keys, _resolved(doc, item, keys, path)) for keys, item in written)))
    prepared = compiler.prepare(item for _, item in data)
    compiler.start_v8(prepared)
    compiler.compile_patterns([prepared])
    warnings: list[str] = []
    for (keys, item), step in zip(data, prepared.steps, strict=True):
        try:
            compiled = compiler.require_usable(compiler.Compiled((step,)))
        except CheckError as error:
            raise doc.fail(error.message, *_culprit(keys, item)) from error
        warnings += [f"{path}:{doc.line(*keys)}: {warning}" for warning in compiled.warnings]
    whole = compiler.Compiled(prepared.steps, tuple(warnings))
    tests = _several(doc, [keys for keys, _ in data])
    return CheckFile(whole, tuple(item for _, item in data), _threshold(doc), _vars(doc), tests)


def _several(doc: YamlDoc, places: Sequence[Keys]) -> tuple[OfTest, ...]:
    """What each of several tests says; nothing where there is one, or none."""
    tests = _tests(doc.data)
    if len(tests) < 2 or not (
        any("threshold" in test for test in tests) or any(key[:1] == ("tests",) for key in places)
    ):
        return ()
    assertions = []
    for number, test in enumerate(tests):
        keys: Keys = ("tests", number)
        own = tuple(place for place, where in enumerate(places) if where[:2] == keys)
        variables = _mapping_of(doc, test, keys)
        assertions.append(OfTest(variables, own, _number(doc, test, keys, _threshold(doc))))
    return tuple(assertions)


def _tests(data: object) -> list[Mapping[str, object]]:
    tests = data.get("tests") if isinstance(data, Mapping) and "rules" not in data else None
    return [test for test in tests if isinstance(test, Mapping)] if isinstance(tests, list) else []


def _at_most(doc: YamlDoc, items: Iterator[tuple[Keys, Written]]) -> Iterator[tuple[Keys, Written]]:
    """The assertions, refused when there are too many: a template counts as often as it is named."""
    count = 0
    for keys, item in items:
        count += compiler.count_checks([item])
        if count > compiler.MAX_CHECKS:
            raise doc.fail(f"there are more than {compiler.MAX_CHECKS:,} assertions; divide them among several files")
        yield keys, item


def _written(doc: YamlDoc, data: object) -> Iterator[tuple[Keys, Written]]:
    """The assertions as the file has them, each with its place."""
    if isinstance(data, list):
        yield from _listed(doc, data, ())
    if not isinstance(data, Mapping):
        return
    if "rules" in data:
        yield from _of_spec(doc, data["rules"])
        return
    yield from _asserts(doc, data, ())
    default = data.get("defaultTest")
    if isinstance(default, Mapping):
        yield from _asserts(doc, default, ("defaultTest",))
    tests = data.get("tests")
    if isinstance(tests, str) or (isinstance(tests, list) and not all(isinstance(test, Mapping) for test in tests)):
        raise doc.fail("the tests are in files of their own; take them over with promptpex import promptfoo", "tests")
    for number, test in enumerate(tests if isinstance(tests, list) else ()):
        yield from _asserts(doc, test, ("tests", number))


def _asserts(doc: YamlDoc, data: Mapping[str, object], keys: Keys) -> Iterator[tuple[Keys, Written]]:
    for name in ("assert", "checks"):
        items = data.get(name)
        if isinstance(items, Mapping):
            yield (*keys, name), items
        elif isinstance(items, list):
            yield from _listed(doc, items, (*keys, name))
        elif name in data:
            raise doc.fail(f"{name} must be a list of assertions", *keys, name)


def _listed(doc: YamlDoc, items: list[object], keys: Keys) -> Iterator[tuple[Keys, Written]]:
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise doc.fail("an assertion must be a mapping with a kind", *keys, index)
        yield (*keys, index), item


def _of_spec(doc: YamlDoc, rules: object) -> Iterator[tuple[Keys, Written]]:
    if not isinstance(rules, list):
        raise doc.fail("rules must be a list", "rules")
    for number, rule in enumerate(rules):
        checks = rule.get("checks") if isinstance(rule, Mapping) else None
        if checks is None:
            continue
        if not isinstance(checks, list):
            raise doc.fail("checks must be a list of assertions", "rules", number, "checks")
        for keys, item in _listed(doc, checks, ("rules", number, "checks")):
            yield keys, {"metric": str(rule.get("id", number)), **item}


def _threshold(doc: YamlDoc) -> float | None:
    return next((_number(doc, place, keys, None) for keys, place in _places(doc) if "threshold" in place), None)


def _number(doc: YamlDoc, place: Mapping[str, object], keys: Keys, default: float | None) -> float | None:
    threshold = place.get("threshold", default)
    if threshold is None and "threshold" not in place:
        return None
    if not js_values.is_number(threshold) or not math.isfinite(js_values.as_double(threshold)):
        raise doc.fail("the threshold must be a number", *keys, "threshold")
    return float(threshold)


def _vars(doc: YamlDoc) -> Mapping[str, object]:
    """The ``vars`` next to ``assert``; those of the test over those of ``defaultTest``."""
    variables: dict[str, object] = {}
    for keys, place in _places(doc):
        variables |= _mapping_of(doc, place, keys)
    return variables


def _mapping_of(doc: YamlDoc, place: Mapping[str, object], keys: Keys) -> Mapping[str, object]:
    variables = place.get("vars", {})
    if not isinstance(variables, Mapping):
        raise doc.fail("vars must be a mapping of names to values", *keys, "vars")
    return variables


def _places(doc: YamlDoc) -> Iterator[tuple[Keys, Mapping[str, object]]]:
    """Where ``assert`` may stand with a threshold and vars: at the top, in ``defaultTest``, in the one test."""
    top = doc.data if isinstance(doc.data, Mapping) else {}
    tests = _tests(top)
    one_test = tests[0] if len(tests) == 1 else None
    places: tuple[tuple[Keys, object], ...] = (
        ((), top),
        (("defaultTest",), top.get("defaultTest")),
        (("tests", 0), one_test),
    )
    for keys, place in places:
        if isinstance(place, Mapping) and "rules" not in place:
            yield keys, place


def _culprit(keys: Keys, item: Written) -> Keys:
    """Where in an assertion the error is: in a set, at the part that cannot be used."""
    parts = item.get("assert")
    if not isinstance(parts, list):
        return keys
    for index, part in enumerate(parts):
        try:
            compiler.compile_checks([part])
        except CheckError:
            return (*keys, "assert", index)
    return keys


def _resolved(doc: YamlDoc, item: Written, keys: Keys, path: Path) -> Written:
    """The assertion with its ``$ref`` to a template and its ``file://`` values filled in.

    A set cannot hold sets, so the parts of a set are looked at and theirs are not: templates may name each other.
    """
    resolved = _filled(doc, item, keys, path)
    parts = resolved.get("assert")
    if isinstance(parts, list):
        resolved["assert"] = [
            _filled(doc, part, (*keys, "assert", n), path) if isinstance(part, Mapping) else part
            for n, part in enumerate(parts)
        ]
    return resolved


def _filled(doc: YamlDoc, item: Written, keys: Keys, path: Path) -> dict[str, object]:
    filled = dict(item)
    reference = item.get("$ref")
    if isinstance(reference, str) and "kind" not in item and "type" not in item:
        del filled["$ref"]
        filled = {**_template(doc, reference, keys), **filled}
    value = filled.get("value")
    if isinstance(value, str) and value.startswith(_FILE):
        name = value.removeprefix(_FILE)
        file = inside(path.parent, name, error=CheckError, what="value's file", path=path, line=doc.line(*keys))
        try:
            with time_limits.TimedCheck(each=time_limits.READING_SECONDS):
                filled["value"] = _value_file(doc, file, keys)
        except Unscorable as late:
            raise doc.fail(f"the value's file {file.name}: {late.message}", *keys) from late
    return filled


def _template(doc: YamlDoc, reference: str, keys: Keys) -> Written:
    templates = doc.data.get("assertionTemplates") if isinstance(doc.data, Mapping) else None
    name = reference.removeprefix(_TEMPLATES)
    template = templates.get(name) if isinstance(templates, Mapping) and reference.startswith(_TEMPLATES) else None
    if not isinstance(template, Mapping):
        raise doc.fail(f"there is no assertion template {reference!r}", *keys)
    return template


def _value_file(doc: YamlDoc, path: Path, keys: Keys) -> object:
    if path.suffix.lower() in (".json", ".yaml", ".yml"):
        return yaml_reader.read(path, error=CheckError, what="value").data
    if path.suffix.lower() != ".txt":
        raise doc.fail("a value is read from .json, .yaml and .txt files; write a script into the value itself", *keys)
    try:
        return js_values.trim(read_bytes(path, error=CheckError, what="value's file").decode("utf-8"))
    except ValueError as error:
        raise doc.fail(f"the value's file {path.name} is not UTF-8 text", *keys) from error
