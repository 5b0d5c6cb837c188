"""``promptpex-context``: the ``promptpex_context.json`` that microsoft/promptpex 0.0.18 writes of a whole run.

It holds the files of its folder as texts (``rules``, ``inverseRules``, ``intent``, ``inputSpec``), the prompt with its
front matter and messages, the tests as data, and results of models as a text of JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any

from promptpex.codecs.files.ordinary_files import read_text
from promptpex.core.errors import InputError
from promptpex.core.records import EXPECTED, INPUT_VARIABLE, Message, Output, Spec, Suite, VariableSpec
from promptpex.core.translation import stored
from promptpex.interchange.format import Format, Imported, ImportedMetric, ImportedPrompt
from promptpex.interchange.notes import Log
from promptpex.interchange.promptpex_files import lines_of, numbered_rules, suite_of
from promptpex.interchange.prompty import ROLES, divided, messages_of, settings_of_model
from promptpex.interchange.reading.foreign_files import LONGEST_JSON, At, head, items, loaded, mapping, text_of_parts
from promptpex.interchange.reading.prompt_headers import KEYS, format_rules

_ENDING = ".metric.prompty"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 40
_TAKEN = re.compile(rf"(?:_scored|_ci_low|_ci_high)\Z|\A{EXPECTED}\Z")
"""Names of columns that other figures have."""


def metrics_of(value: object, at: At, text: str, log: Log) -> tuple[ImportedMetric, ...]:
    """The metrics, by name; of two that PromptPex calls the same the later one, as there.

    Args:
        text: of the whole file, in which each is looked for.
    """
    by_name: dict[str, ImportedMetric] = {}
    for metric in _files(value, at, text, log):
        before = by_name.pop(metric.name, None)
        if before is not None:
            name, path, line = before.place
            log.left_out(name, stored("a later metric has the same name"), path, line)
        by_name[metric.name] = metric
    return tuple(by_name.values())


def _files(value: object, at: At, text: str, log: Log) -> Iterator[ImportedMetric]:
    start = max(text.find('"metrics"'), 0)
    for item, place in items(value, at, "metrics"):
        file = mapping(item, place, "a metric")
        file_name, content = file.get("filename"), file.get("content")
        if not isinstance(file_name, str) or not isinstance(content, str) or not content.strip():
            log.left_out(place.name, stored("it is not a text file"), place.path, None)
            continue
        base = PureWindowsPath(file_name).name
        file_place = replace(place, keys=(base,), row=_line_of_file(text, file_name, start))
        name = _metric_name(base.removesuffix(_ENDING))
        if name != base.removesuffix(_ENDING):
            log.changed(file_place.name, stored("its name here is {name}", name=name), file_place.path, file_place.line)
        yield ImportedMetric(
            name, content.replace("\r\n", "\n"), (file_place.name, str(file_place.path), file_place.line)
        )


def _line_of_file(text: str, name: str, start: int) -> int | None:
    """The line of a file's name in the context, from 1."""
    places = (text.find(json.dumps(name, ensure_ascii=is_ascii), start) for is_ascii in (False, True))
    place = next((place for place in places if place >= 0), None)
    return text.count("\n", 0, place) + 1 if place is not None else None


def _metric_name(wanted: str) -> str:
    """The name as one of ours: a letter first, then letters, digits, ``-`` and ``_``."""
    name = _NOT_IN_NAMES.sub("-", wanted).strip("-_") or "metric"
    name = name if name[0].isalpha() else f"metric-{name}"
    name = name[:_LONGEST].rstrip("-_")
    return f"{name[: _LONGEST - 7]}-metric" if _TAKEN.search(name) else name


NAME = "promptpex_context.json"
_BESIDE = ("scenarios", "instructions")
"""Front matter that the prompt file keeps in their words, which are read as they are."""
_READ = frozenset(("frontmatter", "inputs", "messages", "prompt", "intent", "rules", "inverseRules", "inputSpec",
                   "tests", "promptPexTests", "testOutputs", "testSamples", "name", "metrics"))  # fmt: skip
_OF_THE_RUN = frozenset(("runId", "writeResults", "dir", "versions", "reuseResults", "testData"))
"""What says nothing that is not said elsewhere."""
_SCORES = "testOutputs: compliance, metrics"
_FRONT = frozenset(("name", "description", "model", "inputs", "testSamples", *_BESIDE, *KEYS))


def recognise(path: Path) -> bool:
    beginning = head(path) if path.suffix.lower() == ".json" else ""
    return path.name == NAME or ('"runId"' in beginning and '"frontmatter"' in beginning)


def read(path: Path) -> Imported:
    """The prompt, its spec and cases, and what models answered."""
    log, top = Log(), At(path)
    text = read_text(path, error=InputError, what="context", limit=LONGEST_JSON)
    data = mapping(loaded(text, path), top, "a context")
    front = mapping(data.get("frontmatter"), top["frontmatter"], "the front matter")
    messages = _prompt(data, top)
    suite, case_of = _suite(data, top, log)
    names = [*_inputs(data, top), *(name for case in suite.cases for name in case.inputs)]
    spec = _spec(data, top, next(iter(names), INPUT_VARIABLE), log)
    outputs = tuple(_outputs(data, top, case_of, log))
    metrics = metrics_of(data.get("metrics"), top["metrics"], text, log)
    _name_the_rest(data, front, top, log)
    name, description = front.get("name") or data.get("name"), front.get("description")
    log.came("messages", len(messages))
    return Imported(
        prompt=ImportedPrompt(
            name if isinstance(name, str) and name.strip() else path.stem,
            messages,
            description if isinstance(description, str) else "",
            front=_front(data, front, top, log),
        ),
        spec=spec,
        suite=suite if suite.cases else None,
        settings=settings_of_model(front.get("model"), top["frontmatter"]["model"], log),
        over=dict(log.over),
        notes=log.notes,
        outputs=outputs,
        metrics=metrics,
    )


def _text(data: Mapping[str, object], key: str, top: At) -> str:
    """The content of one of its files; empty where there is none."""
    content = mapping(data.get(key), top[key], "a file").get("content")
    return content if isinstance(content, str) else ""


def _prompt(data: Mapping[str, object], top: At) -> tuple[Message, ...]:
    text = _text(data, "prompt", top).replace("\r\n", "\n")
    messages = tuple(messages_of(divided(text, top.path)[1]))
    if messages:
        return messages
    turns = []
    for item, at in items(data.get("messages"), top["messages"], "messages"):
        turn = mapping(item, at, "a message")
        role, content = ROLES.get(str(turn.get("role")).lower()), text_of_parts(turn.get("content"))
        if role is None or content is None:
            raise at.fail("a message needs a role (system, user or assistant) and text")
        turns += [Message(role=role, content=content.strip())] if content.strip() else []
    if not turns:
        raise top.fail("there is no prompt in this context: it needs a prompt's text, or messages")
    return tuple(turns)


def _spec(data: Mapping[str, object], top: At, variable: str, log: Log) -> Spec | None:
    texts, inverses = lines_of(_text(data, "rules", top)), lines_of(_text(data, "inverseRules", top))
    log.came("rules", len(texts))
    log.came("inverse rules", min(len(inverses), len(texts)))
    if inverses and len(inverses) != len(texts):
        why = stored("there are {inverses} inverse rules for {rules} rules", inverses=len(inverses), rules=len(texts))
        log.changed("inverseRules", why, top.path, None)
    constraints = tuple(lines_of(_text(data, "inputSpec", top)))
    intent = " ".join(lines_of(_text(data, "intent", top)))
    front = mapping(data.get("frontmatter"), top["frontmatter"], "the front matter")
    demanded = format_rules(front, top["frontmatter"], log)
    if not (texts or constraints or intent or demanded):
        return None
    inputs = {variable: VariableSpec(constraints=constraints)} if constraints else {}
    return Spec(intent=intent, inputs=inputs, rules=(*numbered_rules(texts, inverses), *demanded))


def _suite(data: Mapping[str, object], top: At, log: Log) -> tuple[Suite, dict[str, str]]:
    tests, at = data.get("promptPexTests"), top["promptPexTests"]
    if not tests:
        text = _text(data, "tests", top)
        tests, at = (loaded(text, top.path) if text.strip() else []), top["tests"]
    variable = next(iter(_inputs(data, top)), INPUT_VARIABLE)
    suite = suite_of(tests, at, variable, log, rules=len(lines_of(_text(data, "rules", top))))
    test_rows = [test for test, _ in items(tests, at, "tests") if isinstance(test, dict)]
    pairs = list(zip(test_rows, suite.cases, strict=True))
    return suite, {str(test["testinput"]): case.id for test, case in reversed(pairs)}


def _inputs(data: Mapping[str, object], top: At) -> Mapping[str, object]:
    front = mapping(data.get("frontmatter"), top["frontmatter"], "the front matter")
    key = "inputs" if data.get("inputs") else "frontmatter"
    return mapping(data.get("inputs") or front.get("inputs"), top[key], "inputs")


def _front(data: Mapping[str, object], front: Mapping[str, object], top: At, log: Log) -> dict[str, Any]:
    """The front matter of the prompt file: inputs, scenarios, instructions and samples as they are there."""
    front_fields: dict[str, Any] = {key: front[key] for key in _BESIDE if isinstance(front.get(key), list | dict)}
    inputs = {name: about for name, about in _inputs(data, top).items() if about is not None}
    front_fields |= {"inputs": inputs} if inputs else {}
    rows = [
        row for row, _ in items(data.get("testSamples"), top["testSamples"], "testSamples") if isinstance(row, dict)
    ]
    front_fields |= {"testSamples": rows} if rows else {}
    for key in (*_BESIDE, "testSamples"):
        log.came(key, len(front_fields.get(key, ())))
    return front_fields


def _outputs(data: Mapping[str, object], top: At, case_of: Mapping[str, str], log: Log) -> Iterator[Output]:
    """What models answered to the tests; several answers of a model to one are repeats."""
    text, at = _text(data, "testOutputs", top), top["testOutputs"]
    repeats: Counter[tuple[str, str]] = Counter()
    for item, place in items(loaded(text, top.path) if text.strip() else [], at, "results"):
        result = mapping(item, place, "a result")
        case, model = case_of.get(str(result.get("testinput"))), result.get("model")
        answer, error = result.get("output"), result.get("error")
        if case is None or not isinstance(model, str) or not model.strip():
            log.left_out(place.name, stored("it belongs to no test in this file"), top.path, None)
        elif not isinstance(answer, str) or not answer:
            log.left_out(place.name, stored("it has no output"), top.path, None)
        else:
            repeats[case, model] += 1
            yield Output(case=case, model=model.strip(), repeat=repeats[case, model] - 1, text=answer)
            log.came("testOutputs")
            if result.get("metrics") or result.get("compliance"):
                log.left_out(_SCORES, stored("verdicts and figures of other judges are not imported"), top.path, None)
            if error:
                log.changed(place.name, stored("its output is imported, its error is not"), top.path, None)


def _name_the_rest(data: Mapping[str, object], front: Mapping[str, object], top: At, log: Log) -> None:
    for key in front:
        if key not in _FRONT:
            log.left_out(f"frontmatter.{key}", stored("promptpex has no equivalent"), top.path, None)
    for key, value in data.items():
        content = value.get("content") if isinstance(value, dict) and "filename" in value else value
        if key in _READ or key in _OF_THE_RUN or not content:
            continue
        why = stored("verdicts and figures of other judges are not imported")
        if key == "groundtruthMetrics":
            why = stored("they rate expected outputs, but metrics in promptpex rate the outputs of models")
        elif key == "options":
            why = stored("the same is set elsewhere")
        elif key not in ("testEvals", "ruleEvals", "ruleCoverages", "baselineTestEvals", "rateTests"):
            why = stored("promptpex has no equivalent")
        log.left_out(key, why, top.path, None)


FORMAT = Format(
    name="promptpex-context",
    summary="the promptpex_context.json of microsoft/promptpex, as prompt, spec, cases and a run to judge again",
    extensions=(".json",),
    reads="project",
    read=read,
    recognise=recognise,
    lost="compliance and scores (judge again), `options`, `baselineTests`, `testEvals`, `ruleEvals`",
)  # fmt: skip
