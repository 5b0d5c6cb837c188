"""``langfuse``: exports of Langfuse: observations, traces and items of data sets, as JSON, JSON lines or CSV.

After the source of its exports (tables ``observations``, ``events``, ``traces``, ``dataset_items``) and the reference
of its API: rows in snake case (exports to a bucket) or in camel case (the API, downloads of the page), texts or JSON in
``input`` and ``output``; in CSV lists and mappings are JSON, texts are as they are. What a model was asked is an
observation of the type ``GENERATION``; a trace alone has what its application took and gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import INPUT_VARIABLE
from promptpex.core.translation import stored
from promptpex.interchange.format import Format, Imported, Mapped
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit, answer_of, is_chat, messages_of
from promptpex.interchange.reading.exchanges import Exchange, RecordedAnswer, amount, count
from promptpex.interchange.reading.foreign_rows import JSON_ENDINGS, first_row, json_of_cell, rows_of
from promptpex.interchange.reading.foreign_values import At, mapping
from promptpex.interchange.reading.inferred_project import assembled

Row = Mapping[str, object]
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_OF_ITEMS = frozenset(("dataset_id", "dataset_name", "expected_output", "source_trace_id"))
_OF_ROWS = frozenset(("trace_id", "project_id", "session_id", "environment", "parent_observation_id", "start_time",
                      "timestamp", "dataset_id", "dataset_name"))  # fmt: skip
_ASKED = "GENERATION"
_WITHOUT_TEXTS = (
    {"data_type", "value", "source"}, {"count_traces", "session_duration"}, {"dataset_item_id", "trace_id"},
)  # fmt: skip
"""Columns by which exports of scores, of sessions and of items of runs are told."""
_NOT_KEPT = ("model_parameters", "comments", "scores", "tags", "metadata", "user_id", "session_id", "prompt_name")
"""What a request says besides; items of data sets name theirs one by one."""


def recognise(path: Path) -> bool:
    """Whether its first row is an observation, a trace or an item of a data set."""
    keys = {_snake(key) for key in first_row(path)}
    if "resource_spans" in keys or "context" in keys:
        return False
    is_trace_file = {"trace", "observations"} <= keys
    is_item = {"input", "expected_output"} <= keys and bool(keys & {"dataset_id", "dataset_name", "source_trace_id"})
    is_observation = {"id", "type"} <= keys and len(keys & _OF_ROWS) >= 2
    is_trace = {"id", "input", "output"} <= keys and len(keys & _OF_ROWS) >= 2
    return is_trace_file or is_item or is_observation or is_trace or _is_without_texts(keys)


def read(path: Path) -> Imported:
    """The requests of an export as cases and outputs, or the items of a data set as cases.

    Raises:
        InputError: it is not such a file, or nothing in it can come over; with the line.
    """
    log = Log()
    rows = list(_rows(path))
    has_generations = any(row.get("type") == _ASKED for row, _ in rows)
    exchanges = []
    for row, at in rows:
        if has_generations and row.get("type") != _ASKED:
            why = stored("it is not a request to a model, although others in the file are")
            log.left_out(at.name, why, at.path, at.line)
            continue
        try:
            exchanges.append(_exchange(row, at, log))
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)
            continue
        for key in () if _is_item(row) else _NOT_KEPT:
            if _value(row, key) not in (None, "", [], {}):
                log.left_out(key, stored("promptpex has no equivalent"), at.path, None)
    return assembled(exchanges, path, log)


def _exchange(row: Row, at: At, log: Log) -> Exchange:
    if _is_without_texts(row.keys()):
        raise Unfit(stored("scores, sessions and run items contain no inputs and outputs; export observations"))
    return _item(row, at, log) if _is_item(row) else _observation(row, at)


def _rows(path: Path) -> Iterator[tuple[Row, At]]:
    """All observations, traces and items of a file, their keys in snake case."""
    is_table = path.suffix.lower() == ".csv"
    for value, at in rows_of(path, "file of traces"):
        row = _plain(mapping(value, at, "a row"), is_table)
        inner = row.get("observations", row.get("data"))
        if not isinstance(inner, list):
            yield row, at
            continue
        for key in ("observations", "data"):
            for number, one in enumerate(inner if key in row else ()):
                if isinstance(one, dict):
                    yield _plain(one, is_table), at[key][number]
                else:
                    yield {}, at[key][number]
        trace = row.get("trace", row)
        if isinstance(trace, dict) and trace.get("input") and not _hold_inputs(inner):
            yield {**_plain(trace, is_table), "type": _ASKED}, at["trace"]


def _hold_inputs(observations: list[object]) -> bool:
    """Whether any of them says what went in: downloads of one trace leave that out of its observations."""
    return any(isinstance(one, dict) and one.get("input") not in (None, "", [], {}) for one in observations)


def _plain(row: Row, is_table: bool) -> Row:
    return {
        _snake(key): json_of_cell(value) if is_table and isinstance(value, str) else value for key, value in row.items()
    }


def _snake(key: str) -> str:
    return _CAPITAL.sub(r"_\1", key).lower()


def _is_without_texts(keys: AbstractSet[str]) -> bool:
    """Whether rows with these columns are of a table that has neither inputs nor outputs."""
    return "input" not in keys and "id" in keys and any(columns <= keys for columns in _WITHOUT_TEXTS)


def _is_item(row: Row) -> bool:
    return bool(_OF_ITEMS & row.keys())


def _value(row: Row, key: str) -> object:
    """What stands under a key; JSON that is kept as a text is read."""
    value = row.get(key)
    return json_of_cell(value) if isinstance(value, str) else value


def _observation(row: Row, at: At) -> Exchange:
    """The request of a generation, or what a trace took and gave."""
    value = _value(row, "input")
    if "input" not in row and row.get("type") is not None:
        raise Unfit(stored("a single downloaded trace has no inputs and outputs; export the table of observations"))
    if value in (None, "", [], {}):
        raise Unfit(stored("it has no input"))
    if isinstance(value, dict) and is_chat(value.get("messages")):
        value = value["messages"]
    value = value_text(value) if isinstance(value, bool | int | float) else value
    is_input = isinstance(value, dict) and "role" not in value
    messages = () if is_input else messages_of([value] if isinstance(value, dict) else value)
    name = row.get("id")
    return Exchange(
        at,
        messages,
        inputs=dict(value) if is_input and isinstance(value, dict) else {},
        answers=tuple(_answers(row)),
        name=name if isinstance(name, str) else "",
    )


def _answers(row: Row) -> Iterator[RecordedAnswer]:
    model = next((row[key] for key in ("model", "provided_model_name", "internal_model") if row.get(key)), "")
    cost = _value(row, "cost_details")
    total = amount(row.get("total_cost"))
    if total is None and isinstance(cost, dict):
        total = amount(cost.get("total"))
    output = _value(row, "output")
    message = row.get("status_message")
    if output is None and row.get("level") != "ERROR":
        return
    yield RecordedAnswer(
        None if output is None else answer_of(output),
        model if isinstance(model, str) else "",
        message=message if isinstance(message, str) and message else None,
        tokens_in=_tokens(row, "input", "prompt"),
        tokens_out=_tokens(row, "output", "completion"),
        cost_usd=total,
        latency_ms=_latency(row),
    )


def _tokens(row: Row, side: str, older: str) -> int | None:
    """The tokens of one side: all kinds of them together, as Langfuse counts them."""
    details = _value(row, "usage_details")
    kinds = (
        [count(value) for key, value in details.items() if key.startswith(side)] if isinstance(details, dict) else []
    )
    if any(kind is not None for kind in kinds):
        return sum(kind for kind in kinds if kind is not None)
    usage = _value(row, "usage")
    inner = {_snake(str(key)): value for key, value in usage.items()} if isinstance(usage, dict) else {}
    names = (side, f"{older}_tokens", f"{side}_tokens"), (f"{side}_usage", f"{older}_tokens", f"{side}_tokens")
    counts = (*(inner.get(name) for name in names[0]), *(row.get(name) for name in names[1]))
    return next((tokens for value in counts if (tokens := count(value)) is not None), None)


def _latency(row: Row) -> float | None:
    """Milliseconds: from the beginning to the end where both are known, since the unit of ``latency`` has changed."""
    times = [_time(row.get(name)) for name in ("start_time", "end_time")]
    if times[0] is not None and times[1] is not None and (times[0].tzinfo is None) == (times[1].tzinfo is None):
        return max((times[1] - times[0]).total_seconds() * 1000, 0.0)
    seconds, whole = amount(row.get("latency")), amount(row.get("latency_ms"))
    return whole if whole is not None else seconds * 1000 if seconds is not None else None


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _item(row: Row, at: At, log: Log) -> Exchange:
    """An item of a data set: inputs by name, a chat, or one text."""
    value = _value(row, "input")
    if value in (None, "", [], {}):
        raise Unfit(stored("it has no input"))
    if row.get("status") == "ARCHIVED":
        raise Unfit(stored("the item is archived"))
    if row.get("media_references"):
        raise Unfit(stored("it has parts that are not text: {kind}", kind="media"))
    metadata = _value(row, "metadata")
    if metadata not in (None, "", {}, []):
        log.left_out(at["metadata"].name, stored("promptpex has no equivalent"), at.path, at.line)
    if isinstance(value, dict) and is_chat(value.get("messages")) and len(value) == 1:
        value = value["messages"]
    expected = _value(row, "expected_output")
    right = expected if isinstance(expected, str) else answer_of(expected) if expected is not None else None
    name = row.get("id")
    messages = messages_of(value) if is_chat(value) else ()
    inputs = {} if messages else value if isinstance(value, dict) else {INPUT_VARIABLE: value_text(value)}
    return Exchange(at, messages, inputs, name=name if isinstance(name, str) else "",
                    expected=(right,) if right is not None else ())  # fmt: skip


FORMAT = Format(
    name="langfuse",
    summary="exports of Langfuse: observations and traces as a run to judge, items of data sets as cases; JSON, JSON "
    "lines or CSV",
    extensions=(*JSON_ENDINGS, ".csv"),
    reads="run",
    read=read,
    recognise=recognise,
    maps=(
        Mapped("an observation of the type `GENERATION`", "a request: the prompt is what all have in common", "in",
               "images, tool calls, parameters"),
        Mapped("other observations", "nothing, where there are generations", "in", "they are named"),
        Mapped("a trace", "a request, where the file has no observations", "in", "users, sessions, tags"),
        Mapped("`input` with keys", "inputs by these names; outputs come with `--prompt`", "in"),
        Mapped("`output`", "an output", "in", "what it is about besides text"),
        Mapped("`level`: `ERROR`, `status_message`", "an output that is an error", "in"),
        Mapped("`model`, `usageDetails`, `totalCost`, `latency`", "the model's name, tokens, cost, latency", "in",
               "other amounts"),
        Mapped("an item of a data set, `expectedOutput`", "a case, its expected output", "in", "metadata, media"),
        Mapped("columns of scores", "nothing: `promptpex judge` gives verdicts", "in", "they are left there"),
        Mapped("`modelParameters`, `comments`", "nothing", "in", "they are named"),
        Mapped("exports of scores, sessions and run items", "nothing: they contain no inputs and outputs", "in",
               "an error says so"),
    ),
)  # fmt: skip
