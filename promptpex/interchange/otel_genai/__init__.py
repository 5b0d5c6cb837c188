"""``otel-genai``: what OpenTelemetry recorded of requests to models, as a run to judge.

After the semantic conventions for generative AI and the JSON encoding of OTLP: spans with ``gen_ai.input.messages`` and
``gen_ai.output.messages``, the older ``gen_ai.prompt.0.content``, events of spans, and log records; what an exporter
wrote to a file or to the console.
"""

from __future__ import annotations

from pathlib import Path

from promptpex.interchange.format import Format, Imported, Mapped, Option
from promptpex.interchange.notes import Log
from promptpex.interchange.otel_genai.requests import requests_of
from promptpex.interchange.otel_genai.telemetry import is_console_record, telemetry_of
from promptpex.interchange.reading.foreign_rows import JSON_ENDINGS, first_row, json_rows
from promptpex.interchange.reading.inferred_project import assembled

_TOPS = ("resourceSpans", "resourceLogs", "batches", "resource_spans", "resource_logs")


def recognise(path: Path) -> bool:
    """Whether it begins with spans or log records as OTLP has them, or with a span of the console."""
    if path.suffix.lower() not in JSON_ENDINGS:
        return False
    row = first_row(path)
    is_console = "context" in row and "attributes" in row and "start_time" in row
    return is_console or is_console_record(row) or any(key in row for key in _TOPS)


def read(path: Path, *, events: str | None) -> Imported:
    """The requests of a file of spans or of log records.

    Args:
        events: the file with the log records that belong to the spans.

    Raises:
        InputError: a file cannot be read, or nothing in it can come over; with the line.
    """
    log = Log()
    rows = list(json_rows(path, "file of spans"))
    rows += list(json_rows(Path(events), "file of log records")) if events else []
    return assembled(list(requests_of(telemetry_of(rows), log)), path, log)


FORMAT = Format(
    name="otel-genai",
    summary="spans and log records of OpenTelemetry about requests to models (gen_ai.*), as a run to judge",
    extensions=JSON_ENDINGS,
    reads="run",
    read=read,
    read_options=(Option("events", "the log records of the spans that are read.", metavar="FILE"),),
    recognise=recognise,
    maps=(
        Mapped("a span, or the log records of one", "a request: the prompt is what all have in common", "in"),
        Mapped("`gen_ai.input.messages`, `gen_ai.system_instructions`", "what was sent", "in",
               "images, files, tool calls; parameters"),
        Mapped("`gen_ai.output.messages`", "outputs", "in", "reasoning, tool calls"),
        Mapped("`gen_ai.prompt.0.content`, `gen_ai.completion.0.content`, also with `llm.prompts`, `llm.completions`",
               "the same in older forms", "in"),
        Mapped("`gen_ai.user.message`, `gen_ai.choice` and other events", "the same as events of a span, as log "
               "records, or as the attribute `events`", "in"),
        Mapped("`langfuse.observation.input`, `langfuse.observation.output`", "the same as Langfuse sends it", "in"),
        Mapped("`gen_ai.response.model`, `gen_ai.usage.*`, times, `finish_reason`", "the model's name, tokens, "
               "latency, why it stopped", "in", "cost"),
        Mapped("a status that is an error, `error.type`", "an output that is an error", "in"),
        Mapped("other spans: tools, agents, embeddings, HTTP", "nothing", "in", "they are named"),
    ),
)  # fmt: skip
