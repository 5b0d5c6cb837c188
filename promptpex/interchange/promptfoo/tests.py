"""promptfoo's tests, each with all that it comes to: defaults, scenarios, files and lists filled in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from promptpex.core.errors import InputError
from promptpex.core.translation import stored
from promptpex.interchange.promptfoo.files import FILE, MAX_TESTS, ConfigFiles, combinations, transform_of
from promptpex.interchange.reading.foreign_files import At, items, mapping, named

_WITH_THRESHOLD = frozenset(
    ("answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost", "latency",
     "levenshtein", "perplexity-score", "perplexity", "rouge-n", "similar", "starts-with")
)  # fmt: skip
"""Types whose text in a cell has a threshold even where it names none."""
_DEFAULT = 0.75
_LISTS = frozenset(("contains-all", "contains-any", "icontains-all", "icontains-any"))
_ASSERTION = re.compile(r"(not-)?([a-z][a-z-]*)(?:\((\d+(?:\.\d+)?)\))?(?::([\s\S]*))?\Z")
_TYPES = frozenset(
    ("bleu", "classifier", "contains", "contains-all", "contains-any", "contains-html", "contains-json",
     "contains-sql", "contains-xml", "context-faithfulness", "context-recall", "context-relevance", "cost", "equals",
     "factuality", "finish-reason", "g-eval", "gleu", "guardrails", "icontains", "icontains-all", "icontains-any",
     "is-html", "is-json", "is-refusal", "is-sql", "is-valid-function-call", "is-valid-openai-function-call",
     "is-valid-openai-tools-call", "is-xml", "javascript", "latency", "levenshtein", "llm-rubric", "meteor",
     "model-graded-closedqa", "model-graded-factuality", "moderation", "perplexity", "perplexity-score", "pi", "python",
     "regex", "rouge-n", "ruby", "similar", "starts-with", "tool-call-f1", "webhook", "word-count", "answer-relevance",
     "select-best", "max-score", "search-rubric", "conversation-relevance", "ends-with")
)  # fmt: skip
_PREFIXES = {"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "python:": "python",
             "grade:": "llm-rubric", "llm-rubric:": "llm-rubric"}  # fmt: skip
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\Z")
_FIELDS = {"__prefix": "prefix", "__suffix": "suffix"}


def table_tests(files: ConfigFiles, path: Path) -> Iterator[tuple[dict[str, object], At]]:
    """The tests of a CSV file, each with its line."""
    rows = files.table(path)
    head = [name.strip() for name in rows[0].cells] if rows else []
    for number, row in enumerate(rows[1:], 1):
        if not any(row.cells):
            continue
        if len(row.cells) > len(head):
            raise InputError(
                f"this row has {len(row.cells)} cells and the header {len(head)}", path=path, line=row.line
            )
        at = At(path, row=row.line)
        yield test_of_row(files, dict(zip(head, row.cells, strict=False)), number, at), at


def test_of_row(files: ConfigFiles, cells: Mapping[str, str], number: int, at: At) -> dict[str, object]:
    """The test that a row says, as the configuration would."""
    variables: dict[str, object] = {}
    options: dict[str, object] = {}
    metadata: dict[str, object] = {}
    asserts: list[dict[str, object]] = []
    test: dict[str, object] = {"description": f"Row #{number}", "vars": variables, "options": options}
    for name, cell in cells.items():
        if name.startswith("__expected"):
            asserts += [assertion_of(cell.strip())] if cell.strip() else []
        elif name in _FIELDS and cell:
            options[_FIELDS[name]] = cell
        elif name in ("__description", "__providerOutput", "__metric") and cell:
            test[name.removeprefix("__")] = cell
        elif name == "__threshold":
            test |= {"threshold": float(cell)} if _NUMBER.match(cell.strip()) else {}
            if cell.strip() and "threshold" not in test:
                files.left_out(at[name], stored("it is not a number, and promptfoo ignores it"))
        elif name.startswith("__metadata:") and cell.strip():
            metadata[name.removeprefix("__metadata:").removesuffix("[]")] = cell
        elif name.startswith("__config:"):
            _configure(asserts, name, cell, at)
        elif name.startswith("__") and cell:
            files.left_out(at[name], stored("promptfoo does not read this column either"))
        elif not name.startswith("__"):
            variables[name] = cell
    metric = test.pop("metric", None)
    test["assert"] = [{**each, **({"metric": metric} if metric else {})} for each in asserts]
    return {**test, **({"metadata": metadata} if metadata else {})}


def _configure(asserts: list[dict[str, object]], name: str, cell: str, at: At) -> None:
    """A column such as ``__config:__expected2:threshold``."""
    expected, _, key = name.removeprefix("__config:").partition(":")
    number = expected.removeprefix("__expected") or "1"
    index = int(number) - 1 if number.isdigit() and len(number) < 6 else -1
    if key != "threshold" or not _NUMBER.match(cell.strip()) or not 0 <= index < len(asserts):
        raise at.fail(f"the column {name} needs an assertion to its left, threshold as its key, and a number")
    asserts[index]["threshold"] = float(cell)


def assertion_of(text: str) -> dict[str, object]:
    """The assertion that a cell says: ``contains: x``, ``levenshtein(5): x``, or a text that the output has to be."""
    for prefix, kind in _PREFIXES.items():
        if text.startswith(prefix):
            return {"type": kind, "value": text.removeprefix(prefix).strip()}
    if text.startswith(FILE):
        name = text.lower().split("#")[0]
        if name.endswith((".py", ".js", ".mjs", ".cjs", ".ts")) or ".py:" in name or ".js:" in name:
            return {"type": "python" if ".py" in name else "javascript", "value": text}
    match = _ASSERTION.match(text)
    if match is None or match.group(2) not in _TYPES:
        return {"type": "equals", "value": text}
    negated, kind, threshold, value = match.groups()
    assertion: dict[str, object] = {"type": f"{negated or ''}{kind}"}
    if value is not None:
        assertion["value"] = value if kind in _LISTS or kind in ("contains-json", "is-json") else value.strip()
    if kind in _WITH_THRESHOLD:
        assertion["threshold"] = float(threshold) if threshold else _DEFAULT
    return assertion


Data = Mapping[str, object]
Written = tuple[Data, At]
"""An assertion as the file has it, with its place."""

_READ = frozenset(("description", "vars", "assert", "threshold", "options", "metadata"))
_WHY = {
    "provider": stored("all models of a run answer all cases; make a separate suite"),
    "providers": stored("all models of a run answer all cases; make a separate suite"),
    "prompts": stored("a suite belongs to one prompt; this test is run on all of them"),
    "providerOutput": stored("use promptpex check to judge existing outputs"),
    "assertScoringFunction": stored("scores of checks are combined by weights and thresholds only"),
}
_OPTIONS = frozenset(("transform", "postprocess", "disableVarExpansion", "disableDefaultAsserts", "prefix", "suffix"))
_WHY_NO_OPTION = {
    "transformVars": stored("inputs are used as they are; write what the program makes of them"),
    "storeOutputAs": stored("cases do not use each other's outputs"),
    "runSerially": stored("cases do not depend on each other"),
    "repeat": stored("all cases are run the same number of times; see --repeats"),
}
MAX_VALUES = 500_000
"""Of the variables of all tests: more than a file of cases holds."""
MAX_ASSERTS = 500_000
MAX_CHARACTERS = 100_000_000
_OWN_METADATA = frozenset(("case", "rule", "scenario", "expected"))


@dataclass(frozen=True, slots=True)
class TheirTest:
    """A test after all has been filled in.

    Attributes:
        number: of the test in the order of promptfoo's results, from 0.
        asserts: those of the defaults first.
        threshold: the least weighted score that passes.
        transform: what is done with the output before anything looks at it.
        metadata: what promptpex wrote there at an export.
    """

    number: int
    at: At
    description: str = ""
    variables: Data = field(default_factory=dict)
    asserts: tuple[Written, ...] = ()
    threshold: float | None = None
    transform: str | None = None
    scenario: str | None = None
    metadata: Data = field(default_factory=dict)


def read_tests(files: ConfigFiles, config: Data, top: At) -> list[TheirTest]:
    """All tests of a configuration."""
    default = _Default.of(files, *_default(files, config, top["defaultTest"]))
    tests: list[TheirTest] = []
    room = _Room()
    _name_unread(files, default.test, default.at)
    _name_unread_of_default(files, default.test, default.at)
    for test, place, scenario in _written(files, config, top):
        _name_unread(files, test, place)
        for test_case in _expanded(files, default, (test, place), scenario):
            room.take(test_case)
            tests.append(replace(test_case, number=len(tests)))
    return tests


def _written(files: ConfigFiles, config: Data, top: At) -> Iterator[tuple[Data, At, str | None]]:
    """The tests as they are written, then those of scenarios, one by one; without any the one that promptfoo makes."""
    is_empty = True
    for test, at in _listed(files, config.get("tests"), top["tests"]):
        is_empty = False
        yield test, at, None
    for test, at, name in _of_scenarios(files, config.get("scenarios"), top["scenarios"]):
        is_empty = False
        yield test, at, name
    if is_empty and not config.get("tests") and not config.get("scenarios"):
        yield {}, top["tests"], None


@dataclass(slots=True)
class _Room:
    """What tests may come to in all: a default that is written once stands in each of them."""

    tests: int = MAX_TESTS
    values: int = MAX_VALUES
    asserts: int = MAX_ASSERTS
    characters: int = MAX_CHARACTERS

    def take(self, test: TheirTest) -> None:
        self.tests -= 1
        self.values -= len(test.variables)
        self.asserts -= len(test.asserts)
        self.characters -= sum(len(value) for value in test.variables.values() if isinstance(value, str))
        for left, limit, what in (
            (self.tests, MAX_TESTS, "tests"),
            (self.values, MAX_VALUES, "values of variables"),
            (self.asserts, MAX_ASSERTS, "assertions"),
            (self.characters, MAX_CHARACTERS, "characters"),
        ):
            if left < 0:
                in_all = "" if what == "tests" else " in all tests, defaults among them"
                raise test.at.fail(f"there are more than {limit:,} {what}{in_all}")


@dataclass(frozen=True, slots=True)
class _Default:
    """What holds for all tests, read once."""

    test: Data
    at: At
    variables: Data
    asserts: tuple[Written, ...]

    @classmethod
    def of(cls, files: ConfigFiles, test: Data, at: At) -> _Default:
        asserts = tuple(_asserts(files, test.get("assert"), at["assert"]))
        return cls(test, at, _variables(files, test.get("vars"), at["vars"]), asserts)


def _default(files: ConfigFiles, config: Data, at: At) -> tuple[Data, At]:
    """What holds for all tests; it may be the name of a file."""
    value = config.get("defaultTest")
    if isinstance(value, str):
        data, place = files.data(files.path_of(value, at))
        return mapping(data, place, "defaultTest"), place
    return mapping(value, at, "defaultTest"), at


def _listed(files: ConfigFiles, value: object, at: At) -> Iterator[tuple[Data, At]]:
    for item, place in items(value, at, "tests"):
        name = item.get("path") if isinstance(item, dict) and "path" in item else item
        if isinstance(item, dict) and name is not item:
            for key in sorted(item.keys() - {"path"}):
                files.left_out(place[key], stored("it is meant for the program that makes the tests"))
        if isinstance(name, str):
            yield from _of_files(files, name, place)
        else:
            yield mapping(item, place, "a test"), place


def _of_files(files: ConfigFiles, name: str, at: At) -> Iterator[tuple[Data, At]]:
    if any(ending in name.lower() for ending in (".js", ".ts", ".py", ".mjs", ".cjs")) and ".json" not in name.lower():
        return files.left_out(
            at, stored("a program makes these tests, and import runs no programs; write them to a file")
        )
    for path in files.matching(name, at):
        ending = path.suffix.lower()
        if ending == ".csv":
            yield from table_tests(files, path)
        elif ending in (".yaml", ".yml", ".json", ".jsonl"):
            data, place = files.data(path)
            yield from ((mapping(item, where, "a test"), where) for item, where in items(data, place, "tests"))
        else:
            files.left_out(
                at, stored("tests are read from CSV, YAML, JSON and JSON lines, not from {name}", name=path.name)
            )


def _of_scenarios(files: ConfigFiles, value: object, at: At) -> Iterator[tuple[Data, At, str]]:
    for number, (item, place) in enumerate(_scenarios(files, value, at), 1):
        scenario = mapping(item, place, "a scenario")
        name = str(scenario.get("description") or f"scenario {number}")
        for key in sorted(scenario.keys() - {"config", "tests", "description"}):
            files.left_out(place[key], stored("a scenario needs configurations and tests"))
        tests = list(_listed(files, scenario.get("tests"), place["tests"]))
        configs = list(_listed(files, scenario.get("config"), place["config"]))
        if len(tests) * len(configs) > MAX_TESTS:
            raise place.fail(f"its configurations and tests make more than {MAX_TESTS:,} tests")
        if not tests:
            files.left_out(place, stored("a scenario without tests is not run by promptfoo either"))
        for data, at_data in configs:
            for test, at_test in tests:
                yield _with(data, at_data, test, at_test, files), at_test, name


def _scenarios(files: ConfigFiles, value: object, at: At) -> Iterator[tuple[object, At]]:
    for item, place in items(value, at, "scenarios"):
        if not isinstance(item, str):
            yield item, place
            continue
        for path in files.matching(item, place):
            data, where = files.data(path)
            yield from items(data, where, "scenarios")


def _with(data: Data, at_data: At, test: Data, at_test: At, files: ConfigFiles) -> Data:
    parts = {
        key: {
            **mapping(data.get(key), at_data[key], key),
            **mapping(test.get(key), at_test[key], key),
        }
        for key in ("vars", "options", "metadata")
    }
    asserts = [*_asserts(files, data.get("assert"), at_data["assert"]), *_asserts(files, test.get("assert"), at_test)]
    return {**data, **test, **parts, "assert": _Placed(asserts)}


@dataclass(frozen=True, slots=True)
class _Placed:
    """Assertions that know their places already."""

    asserts: list[Written]


def _asserts(files: ConfigFiles, value: object, at: At) -> list[Written]:
    """The assertions of a list, of one alone, or of a file."""
    if isinstance(value, _Placed):
        return value.asserts
    if isinstance(value, str):
        data, place = files.data(files.path_of(value, at))
        return _asserts(files, data, place)
    return [(mapping(item, place, "an assertion"), place) for item, place in items(value, at, "assert")]


def _expanded(
    files: ConfigFiles, default: _Default, written: tuple[Data, At], scenario: str | None
) -> Iterator[TheirTest]:
    """A test with the defaults, once for each combination of its lists."""
    (base, at_base), (test, at) = (default.test, default.at), written
    options = {
        **mapping(base.get("options"), at_base["options"], "options"),
        **mapping(test.get("options"), at["options"], "options"),
    }
    variables = {**default.variables, **_variables(files, test.get("vars"), at["vars"])}
    asserts = _asserts(files, test.get("assert"), at["assert"])
    if options.get("disableDefaultAsserts") is not True:
        asserts = [*default.asserts, *asserts]
    metadata = mapping(test.get("metadata"), at["metadata"], "metadata")
    expanded = TheirTest(
        number=0,
        at=at,
        description=_text(test.get("description")),
        asserts=tuple(asserts),
        threshold=_threshold(test.get("threshold", base.get("threshold"))),
        transform=_transform(files, options, at),
        scenario=scenario,
        metadata={key: value for key, value in metadata.items() if key in _OWN_METADATA},
    )
    for each in combinations(files, variables, at["vars"], expand=options.get("disableVarExpansion") is not True):
        yield replace(expanded, variables=each)


def _variables(files: ConfigFiles, value: object, at: At) -> Data:
    """The variables of a test; a name, or a list of names, means files that hold them."""
    if not isinstance(value, str | list):
        return mapping(value, at, "vars")
    variables_held: dict[str, object] = {}
    for name, place in items(value, at, "vars"):
        if not isinstance(name, str):
            raise place.fail(f"vars must be a mapping, or names of files, not {named(name)}")
        for path in files.matching(name, place):
            data, where = files.data(path)
            variables_held |= mapping(data, where, "a file of variables")
    return variables_held


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _threshold(value: object) -> float | None:
    """The least score; promptfoo ignores one that is not a number, and so does this."""
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9:
        return None
    return float(value)


def _transform(files: ConfigFiles, options: Data, at: At) -> str | None:
    value = options.get("transform", options.get("postprocess"))
    return transform_of(files, value, at["options"]["transform"])


def _name_unread_of_default(files: ConfigFiles, default: Data, at: At) -> None:
    if default.get("description"):
        files.left_out(at["description"], stored("the reasoning of a case is its own"))
    metadata = default.get("metadata")
    for key in metadata if isinstance(metadata, dict) else ():
        if key in _OWN_METADATA:
            files.left_out(at["metadata"][key], stored("cases keep no data of other tools"))


def _name_unread(files: ConfigFiles, test: Data, at: At) -> None:
    for key in test:
        if key not in _READ:
            files.left_out(at[key], _WHY.get(key, stored("promptpex has no equivalent for it in a case")))
    options = test.get("options")
    for key in options if isinstance(options, dict) else ():
        if key not in _OPTIONS:
            why = _WHY_NO_OPTION.get(key, stored("it is meant for promptfoo's own graders and providers"))
            files.left_out(at["options"][key], why)
    if "threshold" in test and test["threshold"] is not None and _threshold(test["threshold"]) is None:
        files.left_out(at["threshold"], stored("it is not a number, and promptfoo ignores it"))
    for key in ("prefix", "suffix"):
        if isinstance(options, dict) and key in options and at.keys[:1] != ("defaultTest",):
            files.left_out(
                at["options"][key], stored("the prompt is the same for all cases; write this into the prompt")
            )
    metadata = test.get("metadata")
    for key in metadata if isinstance(metadata, dict) else ():
        if key not in _OWN_METADATA:
            files.left_out(at["metadata"][key], stored("cases keep no data of other tools"))
