"""Spans and log records of OpenTelemetry as plain data, whichever exporter wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from promptpex.interchange.reading.foreign_values import At, items, mapping

Row = Mapping[str, object]
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event of a span, or a log record.

    Attributes:
        name: such as ``gen_ai.choice``. body: what it holds, its attributes among it.
    """

    name: str
    body: Row


@dataclass(slots=True)
class Span:
    """A span, or what log records say of one that is not in the file.

    Attributes:
        at: where it, or the first record about it, stands.
        attributes: plain values by name. events: of the span, then the log records.
        latency_ms: from its beginning to its end.
        error: what its status says where that is an error.
    """

    at: At
    name: str = ""
    attributes: Row = field(default_factory=dict)
    events: list[SpanEvent] = field(default_factory=list)
    latency_ms: float | None = None
    error: str | None = None


def telemetry_of(rows: Iterable[tuple[object, At]]) -> list[Span]:
    """The spans of these rows with their log records, in the order of the file.

    Raises:
        InputError: what should be a mapping or a list is none.
    """
    spans: dict[tuple[str, str], Span] = {}
    records: list[tuple[tuple[str, str], SpanEvent, At]] = []
    for value, at in rows:
        row = _in_camel_case(mapping(value, at, "a row"))
        if is_console_record(row):
            records.append((_key(row, "trace_id", "span_id", at), _console_record(row, at), at))
        elif "context" in row:
            context = mapping(row["context"], at["context"], "a context")
            spans.setdefault(_key(context, "trace_id", "span_id", at), _of_console(row, at))
        for span, place in _inside(row, at, ("resourceSpans", "batches"), ("scopeSpans", "instrumentationLibrarySpans"),
                                   "spans"):  # fmt: skip
            spans.setdefault(_key(span, "traceId", "spanId", place), _of_otlp(span, place))
        for record, place in _inside(row, at, ("resourceLogs",), ("scopeLogs",), "logRecords"):
            records.append((_key(record, "traceId", "spanId", place), _record(record, place), place))
    for key, event, place in records:
        if key not in spans:
            spans[key] = Span(place)
        spans[key].events.append(event)
    return list(spans.values())


def _in_camel_case(row: Row) -> Row:
    """The row of a writer that keeps the names of OTLP's protocol (``resource_spans``) as JSON has them."""
    if not any(key in row for key in ("resource_spans", "resource_logs")):
        return row
    return {_camel(key): _renamed(value) for key, value in row.items()}


def _renamed(value: object) -> object:
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    return {_camel(key): _renamed(each) for key, each in value.items()} if isinstance(value, dict) else value


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(other.capitalize() for other in others)


def is_console_record(row: Row) -> bool:
    """Whether it is a log record as the console exporter of Python prints it."""
    return "body" in row and "span_id" in row and ("severity_number" in row or "observed_timestamp" in row)


def _console_record(row: Row, at: At) -> SpanEvent:
    attributes = mapping(row.get("attributes"), at["attributes"], "attributes")
    body = row.get("body")
    named = row.get("event_name") or attributes.get("event.name")
    within = body if isinstance(body, dict) else {"content": body}
    return SpanEvent(named if isinstance(named, str) else "", {**attributes, **within})


def _inside(row: Row, at: At, tops: tuple[str, ...], scopes: tuple[str, ...], leaf: str) -> Iterator[tuple[Row, At]]:
    """What stands three lists deep: in resources, in scopes, under ``leaf``."""
    for top in tops:
        for resource, place in items(row.get(top), at[top], top):
            within = mapping(resource, place, "a resource")
            for scope in scopes:
                for each, inner in items(within.get(scope), place[scope], scope):
                    leaves = mapping(each, inner, "a scope").get(leaf)
                    for one, where in items(leaves, inner[leaf], leaf):
                        yield mapping(one, where, "a span or log record"), where


def _key(row: Row, trace: str, span: str, at: At) -> tuple[str, str]:
    """What a span is known by; one without ids by where it stands."""
    named = row.get(trace), row.get(span)
    if isinstance(named[0], str) and isinstance(named[1], str) and all(named):
        return named[0], named[1]
    return str(at.row), at.name


def _of_otlp(span: Row, at: At) -> Span:
    start, stop = (_nanoseconds(span.get(f"{which}TimeUnixNano")) for which in ("start", "end"))
    latency = (stop - start) / _MILLION if start is not None and stop is not None and stop >= start else None
    status = mapping(span.get("status"), at["status"], "a status")
    name = span.get("name")
    listed_events = items(span.get("events"), at["events"], "events")
    events = [_event(mapping(each, place, "an event"), place) for each, place in listed_events]
    return Span(
        at,
        name if isinstance(name, str) else "",
        plain_attributes(span.get("attributes"), at["attributes"]),
        events,
        latency,
        _error(status.get("code"), status.get("message")),
    )


def _nanoseconds(value: object) -> int | None:
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 25 else None


def _of_console(row: Row, at: At) -> Span:
    status = mapping(row.get("status"), at["status"], "a status")
    events = []
    for each, place in items(row.get("events"), at["events"], "events"):
        event = mapping(each, place, "an event")
        attributes = mapping(event.get("attributes"), place["attributes"], "attributes")
        events.append(SpanEvent(str(event.get("name", "")), attributes))
    attributes = mapping(row.get("attributes"), at["attributes"], "attributes")
    name = row.get("name")
    error = _error(status.get("status_code"), status.get("description"))
    times = [_time(row.get(f"{which}_time")) for which in ("start", "end")]
    latency = (times[1] - times[0]) / timedelta(milliseconds=1) if times[0] and times[1] else None
    return Span(at, name if isinstance(name, str) else "", attributes, events, latency, error)


def _time(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment is not None else None


def _error(code: object, message: object) -> str | None:
    if code not in (2, "2", "STATUS_CODE_ERROR", "ERROR"):
        return None
    return message if isinstance(message, str) and message else "error"


def _event(event: Row, at: At) -> SpanEvent:
    name = event.get("name")
    return SpanEvent(name if isinstance(name, str) else "", plain_attributes(event.get("attributes"), at["attributes"]))


def _record(record: Row, at: At) -> SpanEvent:
    """A log record; its name stands beside its body, or among its attributes."""
    attributes = plain_attributes(record.get("attributes"), at["attributes"])
    named = record.get("eventName") or attributes.get("event.name")
    body = plain(record.get("body"))
    within = body if isinstance(body, dict) else {"content": body}
    return SpanEvent(named if isinstance(named, str) else "", {**attributes, **within})


def plain_attributes(value: object, at: At) -> dict[str, object]:
    """Attributes as OTLP lists them, by name."""
    attributes: dict[str, object] = {}
    for each, place in items(value, at, "attributes"):
        pair = mapping(each, place, "an attribute")
        key = pair.get("key")
        if isinstance(key, str):
            attributes[key] = plain(pair.get("value"))
    return attributes


def plain(value: object) -> object:
    """A value of OTLP (``AnyValue``) as it is in JSON; nothing where it is none."""
    if not isinstance(value, dict):
        return None
    if "intValue" in value:
        whole = value["intValue"]
        is_text = isinstance(whole, str) and whole.removeprefix("-").isascii() and whole.removeprefix("-").isdigit()
        return int(whole) if is_text and len(whole) < 25 else whole
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if key in value:
            return value[key]
    inner = value.get("kvlistValue", value.get("arrayValue"))
    values = inner.get("values") if isinstance(inner, dict) else None
    attributes = values if isinstance(values, list) else []
    if "kvlistValue" in value:
        return {pair["key"]: plain(pair.get("value")) for pair in attributes
                if isinstance(pair, dict) and isinstance(pair.get("key"), str)}  # fmt: skip
    return [plain(each) for each in attributes] if "arrayValue" in value else None
