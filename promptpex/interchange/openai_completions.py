"""``openai-completions``: requests to OpenAI with their answers, as JSON lines: outputs that are judged again.

Read are stored completions with their messages, the results of the Batch API with their requests, responses of the
Responses API, and chats that end with what the model said, as fine-tuning takes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl
from promptpex.core.records import Message, Output
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Format, Imported, Option, Source
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Row, Unfit, Where, exchange_of, is_chat, messages_of, value_at
from promptpex.interchange.reading.exchanges import Exchange, RecordedAnswer
from promptpex.interchange.reading.foreign_files import JSON_ENDINGS, At, first_row, json_rows, mapping
from promptpex.interchange.reading.inferred_project import assembled

WHERE = Where(
    messages=("messages", "input"),
    output=("choices", "output"),
    system=("instructions",),
    tokens_in=("usage.prompt_tokens", "usage.input_tokens"),
    tokens_out=("usage.completion_tokens", "usage.output_tokens"),
    packed=False,
)
_OBJECTS = ("chat.completion", "response")
_OTHERS = ("ideal", "resourceSpans", "resourceLogs")
_ERROR = "unknown"


def recognise(path: Path) -> bool:
    """Whether it begins with a request and its reply, or with one of the two as the Batch API has them."""
    row = first_row(path)
    if path.suffix.lower() == ".csv" or any(key in row for key in _OTHERS):
        return False
    is_known = row.get("object") in _OBJECTS or ("custom_id" in row and ("response" in row or "body" in row))
    is_pair = isinstance(row.get("request"), dict) and isinstance(row.get("response"), dict)
    return is_known or is_pair or (is_chat(row.get("messages")) and "inputs" not in row)


def read(path: Path, *, requests: str | None) -> Imported:
    """What models were asked and answered, as the outputs of a run.

    Args:
        requests: the file of a batch's requests, where its results are read.
    """
    log = Log()
    requests_by_id = _requests(json_rows(Path(requests), "file of requests")) if requests else {}
    rows = [(mapping(row, at, "a row"), at) for row, at in json_rows(path, "file of completions")]
    requests_by_id |= {name: body for name, body in _requests(rows).items() if name not in requests_by_id}
    return assembled(list(_exchanges(rows, requests_by_id, log)), path, log)


def _requests(rows: Iterable[tuple[object, At]]) -> dict[str, Row]:
    return {
        row["custom_id"]: row["body"]
        for row, _ in rows
        if isinstance(row, dict) and isinstance(row.get("custom_id"), str) and isinstance(row.get("body"), dict)
    }


def _exchanges(rows: Iterable[tuple[Row, At]], asked: Mapping[str, Row], log: Log) -> Iterator[Exchange]:
    used: set[str] = set()
    for row, at in rows:
        if "body" in row and "response" not in row:
            continue
        row_id = row.get("custom_id", row.get("id"))
        name = row_id if isinstance(row_id, str) else ""
        used.add(name)
        try:
            yield _exchange(row, asked.get(name, row) if "custom_id" in row else row, name, at)
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)
    for row, at in rows:
        if "body" in row and "response" not in row and str(row.get("custom_id")) not in used:
            log.left_out(at.name, stored("there is no reply to this request"), at.path, at.line)


def _exchange(row: Row, request: Row, name: str, at: At) -> Exchange:
    """The exchange of a row, its request and its reply found where the kinds of files have them."""
    for key in ("request", "body"):
        inner = request.get(key)
        request = inner if isinstance(inner, dict) else request
    response = row.get("response")
    reply = row if response is None else response
    reply = reply.get("body", reply) if isinstance(reply, dict) else {}
    has_reply = any(isinstance(reply.get(key), list) and reply[key] for key in ("choices", "output"))
    asked = {key: request.get(key) for key in ("messages", "input", "instructions")}
    if value_at(asked, WHERE.messages, packed=False) is None:
        raise Unfit(
            stored("it does not contain the messages of its request; name the requests of a batch with --requests FILE")
        )
    if not has_reply and row.get("error") is None and reply.get("error") is None:
        return replace(_ended(value_at(asked, WHERE.messages, packed=False), at), name=name)
    errors = {"error": row["error"]} if row.get("error") is not None else {}
    return replace(exchange_of({**reply, **errors, **asked}, at, WHERE), name=name)


def _ended(chat: object, at: At) -> Exchange:
    messages = messages_of(chat)
    if messages[-1].role != "assistant" or len(messages) < 2:
        raise Unfit(stored("there is no reply to this request"))
    return Exchange(at, messages[:-1], answers=(RecordedAnswer(messages[-1].content),))


def write(source: Source) -> Exported:
    """The outputs of a run as completions with their messages."""
    run, rendered = source.run(), source.project().rendered
    chats = {case.id: rendered(case.inputs) for case in run.suite.cases}
    left_out: list[str] = []
    rows = [row for output in run.outputs if (row := _row(output, chats, left_out)) is not None]
    if run.verdicts:
        left_out.append(stored("verdicts that are left out: {count}", count=len(run.verdicts)))
    return Exported("".join(f"{jsonl.dumps(row)}\n" for row in rows), tuple(left_out))


def _row(output: Output, chats: Mapping[str, tuple[Message, ...]], left_out: list[str]) -> dict[str, Any] | None:
    messages = chats.get(output.case, ())
    if not messages:
        left_out.append(stored("case {case} is left out: the prompt cannot be rendered with it", case=output.case))
        return None
    row: dict[str, Any] = {
        "id": output.case,
        "object": "chat.completion",
        "model": output.model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "choices": [],
    }
    if output.text is not None:
        turn = {"role": "assistant", "content": output.text}
        row["choices"] = [{"index": 0, "message": turn, "finish_reason": output.finish_reason}]
    else:
        row["error"] = {"message": output.message or output.error or _ERROR}
    usage = {"prompt_tokens": output.tokens_in, "completion_tokens": output.tokens_out}
    known_usage = {key: value for key, value in usage.items() if value is not None}
    return row | ({"usage": known_usage} if known_usage else {})


FORMAT = Format(
    name="openai-completions",
    summary="requests to OpenAI with their answers as JSON lines (stored completions, batches, responses, chats)",
    import_note="as a run to judge again",
    extensions=JSON_ENDINGS,
    reads="run",
    writes="run",
    read=read,
    write=write,
    read_options=(Option("requests", "the requests of a batch whose results are read.", metavar="FILE"),),
    recognise=recognise,
    lost="images, tools, reasoning, parameters; out: verdicts and rules",
)  # fmt: skip
