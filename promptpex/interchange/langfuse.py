"""``langfuse``: exports of Langfuse: observations, traces and items of data sets, as JSON, JSON lines or CSV.

After the source of its exports and the reference of its API: rows in snake case (exports to a bucket) or in camel case
(the API, downloads of the page), texts or JSON in ``input`` and ``output``. What a model was asked is an observation of
the type ``GENERATION``; a trace alone has what its application took and gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.records import INPUT_VARIABLE
from promptpex.core.translation import stored
from promptpex.interchange.format import Format, Imported
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Row, Unfit, Where, answer_of, is_chat, messages_of, read_chats, value_at
from promptpex.interchange.reading.exchanges import Exchange, amount
from promptpex.interchange.reading.foreign_files import JSON_ENDINGS, At, first_row, mapping, rows_of
from promptpex.interchange.reading.inferred_project import assembled

_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_OF_ITEMS = frozenset(("dataset_id", "dataset_name", "expected_output", "source_trace_id"))
_OF_ROWS = frozenset(("trace_id", "project_id", "session_id", "environment", "parent_observation_id", "start_time",
                      "timestamp", "dataset_id", "dataset_name"))  # fmt: skip
_ASKED = "GENERATION"
WHERE = Where(
    messages=("input",),
    output=("output",),
    model=("model", "provided_model_name", "internal_model"),
    tokens_in=("usage_details.input*", "usage.input", "usage.promptTokens", "input_usage", "prompt_tokens"),
    tokens_out=("usage_details.output*", "usage.output", "usage.completionTokens", "output_usage", "completion_tokens"),
    cost=("total_cost", "cost_details.total"),
    not_kept=("model_parameters", "comments", "scores", "tags", "metadata", "user_id", "session_id", "prompt_name"),
)


def recognise(path: Path) -> bool:
    """Whether its first row is an observation, a trace or an item of a data set."""
    keys = {_snake(key) for key in first_row(path)}
    is_item = {"input", "expected_output"} <= keys and bool(keys & _OF_ITEMS - {"expected_output"})
    is_row = "id" in keys and len(keys & _OF_ROWS) >= 2 and bool(keys & {"type", "output"})
    return not keys & {"resource_spans", "context"} and ({"trace", "observations"} <= keys or is_item or is_row)


def read(path: Path) -> Imported:
    """The requests of an export as cases and outputs, or the items of a data set as cases."""
    log = Log()
    rows = list(_rows(path))
    if rows and all(_OF_ITEMS & row.keys() for row, _ in rows):
        return assembled(list(_items(rows, log)), path, log)
    if any(row.get("type") == _ASKED for row, _ in rows):
        for row, at in rows:
            if row.get("type") != _ASKED:
                why = stored("it is not a request to a model, although others in the file are")
                log.left_out(at.name, why, at.path, at.line)
        rows = [(row, at) for row, at in rows if row.get("type") == _ASKED]
    return read_chats(path, rows, WHERE, log, _plain)


def _rows(path: Path) -> Iterator[tuple[Row, At]]:
    for value, at in rows_of(path, "file of traces"):
        row = mapping(value, at, "a row")
        key = "observations" if isinstance(row.get("observations"), list) else "data"
        inner = row.get(key)
        if not isinstance(inner, list):
            yield _in_snake_case(row), at
            continue
        for number, one in enumerate(inner):
            yield _in_snake_case(one if isinstance(one, dict) else {}), at[key][number]


def _in_snake_case(row: Row) -> Row:
    return {_snake(key): value for key, value in row.items()}


def _snake(key: str) -> str:
    return _CAPITAL.sub(r"_\1", key).lower()


def _plain(row: Row) -> Row:
    """The row with its error, and its latency in milliseconds: from beginning to end where both are known, since the
    unit of ``latency`` has changed."""
    more: dict[str, object] = {}
    if row.get("level") == "ERROR":
        more["error"] = row.get("status_message") or "error"
    begun, ended = (_time(row.get(name)) for name in ("start_time", "end_time"))
    if begun is not None and ended is not None and (begun.tzinfo is None) == (ended.tzinfo is None):
        more["latency_ms"] = max((ended - begun).total_seconds() * 1000, 0.0)
    elif row.get("latency_ms") is None and (seconds := amount(row.get("latency"))) is not None:
        more["latency_ms"] = seconds * 1000
    return {**row, **more}


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _items(rows: list[tuple[Row, At]], log: Log) -> Iterator[Exchange]:
    """The items of a data set; those that cannot come over are noted."""
    for row, at in rows:
        try:
            yield _item(row, at)
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)
            continue
        if value_at(row, ("metadata",)) is not None:
            log.left_out(at["metadata"].name, stored("promptpex has no equivalent"), at.path, at.line)


def _item(row: Row, at: At) -> Exchange:
    """An item of a data set: inputs by name, a chat, or one text."""
    value = value_at(row, ("input",))
    if value is None:
        raise Unfit(stored("it has no input"))
    if row.get("status") == "ARCHIVED":
        raise Unfit(stored("the item is archived"))
    if value_at(row, ("media_references",)) is not None:
        raise Unfit(stored("it has parts that are not text: {kind}", kind="media"))
    if isinstance(value, dict) and is_chat(value.get("messages")) and len(value) == 1:
        value = value["messages"]
    expected = value_at(row, ("expected_output",))
    messages = messages_of(value) if is_chat(value) else ()
    inputs = {} if messages else value if isinstance(value, dict) else {INPUT_VARIABLE: value_text(value)}
    name = row.get("id")
    return Exchange(at, messages, inputs, name=name if isinstance(name, str) else "",
                    expected=(answer_of(expected),) if expected is not None else ())  # fmt: skip


FORMAT = Format(
    name="langfuse",
    summary="exports of Langfuse: observations and traces as a run to judge, items of data sets as cases; JSON, JSON "
    "lines or CSV",
    extensions=(*JSON_ENDINGS, ".csv"),
    reads="run",
    read=read,
    recognise=recognise,
    lost="parameters, scores, comments, users, tags; images and tool calls; other observations "
    "than generations",
)  # fmt: skip
