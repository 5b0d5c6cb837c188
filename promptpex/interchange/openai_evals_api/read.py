"""An eval of the hosted Evals API, with the items and the prompt of its run where the file has them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.errors import ConfigError, InputError
from promptpex.core.records import Message, Spec
from promptpex.core.translation import stored
from promptpex.documents import yaml_reader
from promptpex.interchange.format import Imported, ImportedPrompt
from promptpex.interchange.notes import Log
from promptpex.interchange.openai_evals_api.graders import rules_of
from promptpex.interchange.openai_evals_api.templates import item_field, looked_at, names, ours
from promptpex.interchange.reading.chats import Unfit, answer_of, is_chat, messages_of
from promptpex.interchange.reading.exchanges import Exchange, Recorded, RecordedAnswer, count
from promptpex.interchange.reading.foreign_rows import json_rows
from promptpex.interchange.reading.foreign_values import At, items, mapping
from promptpex.interchange.reading.foreign_values import named as named_kind
from promptpex.interchange.reading.inferred_project import assembled, gathered
from promptpex.llm.names import parse_model

EXPECTED = "expected"
_READ = frozenset(("name", "testing_criteria", "data_source", "data_source_config", "eval", "run", "object", "id",
                   "created_at", "metadata", "share_with_openai"))  # fmt: skip

_OF_SOURCE = frozenset(("type", "model", "source", "input_messages"))


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a file that are read, with their places."""

    name: str
    criteria: tuple[object, At]
    source: tuple[Mapping[str, object], At]


def read_items(path: Path) -> Imported:
    """The items of a file of JSON lines as cases, what a model answered to them as outputs.

    Raises:
        InputError: it is not such a file.
    """
    log = Log()
    return assembled(list(_exchanges(json_rows(path, "file of items"), log, {})), path, log)


def read_eval(path: Path, items_file: Path | None) -> Imported:
    """The rules of an eval's graders; with its run the prompt and the cases.

    Raises:
        InputError: it is not such a file; with the line.
    """
    deque(json_rows(path, "file of an eval"), maxlen=0)  # JSON that YAML would take otherwise is refused
    doc = yaml_reader.read(path, error=InputError, what="file of an eval")
    log = Log()
    parts = _parts(mapping(doc.data, At(path, doc=doc), "a file of an eval"), At(path, doc=doc), log)
    criteria, at = parts.criteria
    rules, places = rules_of(criteria, at, log)
    source, source_at = parts.source
    turns, field = _prompt(source.get("input_messages"), source_at["input_messages"], log)
    named = {name for turn in turns for name in names(turn.content)}
    label = _compared(criteria, named)
    rows = json_rows(items_file, "file of items") if items_file is not None else _content(source, source_at, log)
    exchanges = [_with(each, label, named) for each in _exchanges(rows, log, {"chat": field or ""})]
    settings = _settings(source, source_at, log)
    spec = Spec(rules=tuple(rules)) if rules else None
    named_places = {rule: (place.name, str(place.path), place.line) for rule, place in places.items()}
    if not exchanges and spec is None:
        raise InputError("nothing in this file can be imported: it has neither graders nor items that do", path=path)
    if not exchanges:
        prompt = ImportedPrompt(parts.name, turns) if turns else None
        return Imported(
            prompt=prompt, spec=spec, settings=settings, over=dict(log.over), notes=log.notes, places=named_places
        )
    if not turns:
        return replace(assembled(exchanges, path, log, spec=spec), places=named_places, settings=settings)
    project = gathered([(each, each.inputs) for each in exchanges], log)
    return replace(project, prompt=ImportedPrompt(parts.name, turns), spec=spec, over=dict(log.over), notes=log.notes,
                   places=named_places, settings=settings, recorded=Recorded(tuple(exchanges)))  # fmt: skip


def _parts(data: Mapping[str, object], top: At, log: Log) -> _Parts:
    """The eval and its run, whether they are one body or stand under ``eval`` and ``run``."""
    for key in data:
        if key not in _READ:
            log.left_out(key, stored("promptpex has no equivalent"), top.path, top[key].line)
    both = "eval" in data or "run" in data
    body, at = (mapping(data.get("eval"), top["eval"], "eval"), top["eval"]) if both else (data, top)
    run, run_at = (mapping(data.get("run"), top["run"], "run"), top["run"]) if both else (data, top)
    source = mapping(run.get("data_source"), run_at["data_source"], "data_source")
    name = body.get("name")
    is_name = isinstance(name, str) and name.strip()
    return _Parts(
        str(name).strip() if is_name else top.path.stem,
        (body.get("testing_criteria"), at["testing_criteria"]),
        (source, run_at["data_source"]),
    )


def _settings(source: Mapping[str, object], at: At, log: Log) -> dict[str, object]:
    """The run's model as a setting; what else it says of sampling is noted."""
    for key in source:
        if key not in _OF_SOURCE:
            log.left_out(at[key].name, stored("promptpex has no equivalent"), at.path, at[key].line)
    model = source.get("model")
    if not isinstance(model, str) or not model.strip():
        return {}
    try:
        parse_model(model)
    except ConfigError:
        why = stored("{value} is not a model name that promptpex knows", value=named_kind(model))
        log.left_out(at["model"].name, why, at.path, at["model"].line)
        return {}
    return {"models": {"under_test": [model]}}


def _prompt(value: object, at: At, log: Log) -> tuple[tuple[Message, ...], str | None]:
    """The prompt of a run as templates of ours, or the field of the item that holds the chat."""
    about = mapping(value, at, "input_messages")
    if about.get("type") == "item_reference":
        field = item_field(f"{{{{{about.get('item_reference')}}}}}")
        if field is None:
            log.left_out(at.name, stored("its template names something that promptpex does not have"), at.path, at.line)
        return (), field
    if "template" not in about:
        return (), None
    try:
        turns = messages_of(about["template"])
        return tuple(Message(role=turn.role, content=ours(turn.content)) for turn in turns), None
    except Unfit as failure:
        log.left_out(at["template"].name, failure.why, at.path, at["template"].line)
        return (), None


def _compared(criteria: object, named: set[str]) -> str | None:
    """The field of the item that a grader wants the output to equal: the expected output."""
    for grader in criteria if isinstance(criteria, list) else ():
        if isinstance(grader, dict) and (grader.get("type"), grader.get("operation")) == ("string_check", "eq"):
            texts = [text for key in ("input", "reference") if isinstance(text := grader.get(key), str)]
            fields = [field for text in texts if (field := item_field(text)) is not None and field not in named]
            if len(texts) == 2 and fields and any(looked_at(text) == (True, None) for text in texts):
                return fields[0]
    return None


def _content(source: Mapping[str, object], at: At, log: Log) -> Iterator[tuple[object, At]]:
    """The items that the run has in the file itself."""
    origin = mapping(source.get("source"), at["source"], "source")
    if origin and origin.get("type") != "file_content":
        why = stored("its items are not in this file; name the file that has them: --items FILE")
        log.left_out(at["source"].name, why, at.path, at["source"].line)
        return iter(())
    return items(origin.get("content"), at["source"]["content"], "content")


def _exchanges(rows: Iterator[tuple[object, At]], log: Log, fields: Mapping[str, str]) -> Iterator[Exchange]:
    """An exchange for each row, which is an item or holds one under ``item``."""
    for row, at in rows:
        about = mapping(row, at, "a row")
        item = mapping(about.get("item", about), at, "an item")
        try:
            answers = _replies(mapping(about.get("sample"), at, "a sample")) if "item" in about else ()
            chat = item.get(fields.get("chat", ""))
            messages = messages_of(chat) if chat is not None and is_chat(chat) else ()
            others = {key: value for key, value in item.items() if not messages or key != fields.get("chat")}
            yield Exchange(at, messages, others, answers)
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)


def _replies(sample: Mapping[str, object]) -> tuple[RecordedAnswer, ...]:
    """What a sample says that a model answered."""
    replies = next((sample[key] for key in ("output_text", "output", "outputs") if sample.get(key) is not None), None)
    if replies is None:
        return ()
    model, usage = sample.get("model"), sample.get("usage")
    tokens = usage if isinstance(usage, dict) else {}
    return (
        RecordedAnswer(
            answer_of(replies),
            model if isinstance(model, str) else "",
            tokens_in=count(tokens.get("prompt_tokens")),
            tokens_out=count(tokens.get("completion_tokens")),
        ),
    )


def _with(exchange: Exchange, label: str | None, named: set[str]) -> Exchange:
    """The exchange with its expected output, where the item has one."""
    inputs = dict(exchange.inputs)
    expected = inputs.get(label) if label is not None else None
    if EXPECTED not in named and isinstance(inputs.get(EXPECTED), str):
        expected = inputs.pop(EXPECTED)
    if expected is None:
        return exchange
    text = value_text(expected)
    return replace(exchange, inputs=inputs, expected=(text,))
