"""``openai-completions``: requests to OpenAI with their answers, as JSON lines: outputs that are judged again.

Read are stored completions with their messages, the results of the Batch API with their requests, the output items of
a hosted eval's run, responses of the Responses API, and chats that end with what the model said, as fine-tuning takes
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl
from promptpex.core.records import Message, Output
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Option, Source
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit, answer_of, is_chat, messages_of, text_of
from promptpex.interchange.reading.exchanges import Exchange, RecordedAnswer, amount, count
from promptpex.interchange.reading.foreign_rows import JSON_ENDINGS, first_row, json_rows
from promptpex.interchange.reading.foreign_values import At, mapping
from promptpex.interchange.reading.inferred_project import assembled

Row = Mapping[str, object]
_OBJECTS = ("chat.completion", "eval.run.output_item", "response")
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

    Raises:
        InputError: a file cannot be read, or nothing in it can come over; with the line.
    """
    log = Log()
    requests_by_id = _requests(json_rows(Path(requests), "file of requests")) if requests else {}
    rows = [(mapping(row, at, "a row"), at) for row, at in json_rows(path, "file of completions")]
    requests_by_id |= {name: body for name, body in _requests(rows).items() if name not in requests_by_id}
    return assembled(list(_exchanges(rows, requests_by_id, log)), path, log)


def _requests(rows: Iterable[tuple[object, At]]) -> dict[str, Row]:
    """The bodies of a batch's requests by their ids."""
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
    sample = row.get("sample")
    if isinstance(sample, dict):
        return replace(_pair(sample.get("input"), None, sample, at), name=name)
    for key in ("request", "body"):
        inner = request.get(key)
        request = inner if isinstance(inner, dict) else request
    response = row.get("response")
    reply: object = row if response is None else response
    if isinstance(reply, dict) and isinstance(reply.get("body"), dict):
        reply = reply["body"]
    chat = next((request[key] for key in ("messages", "input") if request.get(key) is not None), None)
    if response is None and "choices" not in row and "output" not in row and row.get("error") is None:
        return replace(_ended(chat, at), name=name)
    error = row.get("error")
    body = {**reply, **({"error": error} if error is not None else {})} if isinstance(reply, dict) else {"error": error}
    return replace(_pair(chat, request.get("instructions"), body, at), name=name)


def _ended(chat: object, at: At) -> Exchange:
    """A chat whose last turn is what the model said."""
    messages = messages_of(chat)
    if messages[-1].role != "assistant" or len(messages) < 2:
        raise Unfit(stored("there is no reply to this request"))
    return Exchange(at, messages[:-1], answers=(RecordedAnswer(messages[-1].content),))


def _pair(chat: object, instructions: object, body: Row, at: At) -> Exchange:
    if chat is None:
        raise Unfit(
            stored("it does not contain the messages of its request; name the requests of a batch with --requests FILE")
        )
    before = (Message(role="system", content=instructions),) if isinstance(instructions, str) and instructions else ()
    return Exchange(at, (*before, *messages_of(chat)), answers=tuple(_replies(body)))


def _replies(body: Row) -> Iterator[RecordedAnswer]:
    """What a reply says, choice by choice, or its error."""
    model, usage = body.get("model"), body.get("usage")
    tokens: Row = usage if isinstance(usage, dict) else {}
    reason = body.get("finish_reason")
    about = RecordedAnswer(
        None,
        model if isinstance(model, str) else "",
        finish_reason=reason if isinstance(reason, str) else None,
        tokens_in=count(tokens.get("prompt_tokens", tokens.get("input_tokens"))),
        tokens_out=count(tokens.get("completion_tokens", tokens.get("output_tokens"))),
        latency_ms=amount(body.get("latency_ms")),
    )
    error, choices, output = body.get("error"), body.get("choices"), body.get("output")
    if isinstance(choices, list) and choices:
        for choice in choices:
            yield _choice(choice, about)
    elif output is not None and output != []:
        yield replace(about, text=_messages_text(output))
    elif error is not None:
        words = error.get("message") if isinstance(error, dict) else error
        yield replace(about, message=words if isinstance(words, str) else _ERROR)
    else:
        raise Unfit(stored("there is no reply to this request"))


def _choice(choice: object, about: RecordedAnswer) -> RecordedAnswer:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Unfit(stored("a choice has no message"))
    if message.get("content") is None and isinstance(message.get("refusal"), str):
        message = {**message, "content": message["refusal"]}
    reason = choice.get("finish_reason")
    return replace(
        about, text=answer_of({"role": "assistant", "content": None, **message}),
        finish_reason=reason if isinstance(reason, str) else about.finish_reason,
    )  # fmt: skip


def _messages_text(output: object) -> str:
    """The text of the messages in an output of the Responses API, or of a run's item."""
    if isinstance(output, list) and any(isinstance(item, dict) and "content" in item for item in output):
        kinds = [item.get("type", "message") for item in output if isinstance(item, dict)]
        if any(kind not in ("message", "reasoning") for kind in kinds):
            raise Unfit(stored("the model calls tools, which promptpex does not support"))
        texts = [text_of(item.get("content")) for item in output
                 if isinstance(item, dict) and item.get("type", "message") == "message"]  # fmt: skip
        return "\n".join(texts)
    return answer_of(output)


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
    summary="requests to OpenAI with their answers as JSON lines (stored completions, batches, runs of evals, chats)",
    import_note="as a run to judge again",
    extensions=JSON_ENDINGS,
    reads="run",
    writes="run",
    read=read,
    write=write,
    read_options=(Option("requests", "the requests of a batch whose results are read.", metavar="FILE"),),
    recognise=recognise,
    maps=(
        Mapped("`messages`, `request`, `input`", "the prompt, where all requests say the same; else inputs, the last "
               "turn of the user always", "both", "images, tools; parameters"),
        Mapped("`choices`, `response`, `output`", "outputs; several of one case and model are repeats", "both",
               "tool calls, reasoning"),
        Mapped("`messages` that end with the model's turn", "an output", "in"),
        Mapped("`sample` of a run's output item", "request and output", "in", "the results of its graders"),
        Mapped("`custom_id`, `id`", "the case's id"),
        Mapped("`error`", "an output that is an error"),
        Mapped("`model`, `usage`, `finish_reason`", "the model's name, tokens, why it stopped", "both",
               "cost, latency"),
        Mapped("verdicts, rules", "nothing", "out", "they are counted"),
    ),
)  # fmt: skip
