"""``inspect-ai-log``: a log of ``inspect eval``, ``.eval`` or JSON, as a run whose outputs are judged again.

Of a log of a task that promptpex has made, prompt, rules and cases come back as they were; of any other, the prompt is
what all samples were told, and the rules are for the user to write. Scores of Inspect are not taken over:
``promptpex judge`` gives verdicts of its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.codecs.files.ordinary_files import MEGABYTE, decode, read_text
from promptpex.codecs.files.packed import ZipParts, opened_zip
from promptpex.codecs.json_text import is_too_deep, why_not_json
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.core.errors import InputError
from promptpex.core.records import Case, Message, Output, Rule, Spec, Suite
from promptpex.core.translation import stored
from promptpex.interchange.case_tables import is_plain
from promptpex.interchange.format import Format, Imported, ImportedPrompt
from promptpex.interchange.inspect_ai import right_of
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit, answer_of, messages_of
from promptpex.interchange.reading.exchanges import Exchange, Recorded, RecordedAnswer, amount, count
from promptpex.interchange.reading.foreign_files import At, begins, head, mapping
from promptpex.interchange.reading.inferred_project import assembled

Row = Mapping[str, Any]

_WHAT = "log"
_HEADERS = ("header.json", "_journal/start.json")
_SAMPLES = "samples/"
_LONGEST = 500 * MEGABYTE
_KEPT = ("id", "input", "messages", "target", "choices", "output", "error", "scores", "metadata")
"""What is read of a sample; its events and attachments are most of it."""
_REASONS = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter", "stop": "stop"}
OURS = "promptpex"
"""The key of metadata under which a task of ours keeps its data."""


def read(path: Path) -> Imported:
    """The outputs of a log, with the prompt, the cases and the rules that it tells of."""
    log = Log()
    if path.suffix.lower() == ".eval":
        with opened_zip(path, what=_WHAT) as parts:
            return _imported(_header(parts, path), _samples(parts, path), At(path), log)
    data = _json(read_text(path, error=InputError, what=_WHAT, limit=_LONGEST), path, path.name)
    samples = data.get("samples")
    placed_samples = [(f"samples[{at}]", one) for at, one in enumerate(samples if isinstance(samples, list) else ())]
    return _imported(data, iter(placed_samples), At(path), log)


def _header(parts: ZipParts, path: Path) -> Row:
    name = next((name for name in _HEADERS if name in parts.names), None)
    if name is None:
        raise InputError("this is not an Inspect log: it has no header.json", path=path)
    return _json(decode(parts.read(name), path=path, error=InputError, what=_WHAT), path, name)


def _samples(parts: ZipParts, path: Path) -> Iterator[tuple[str, object]]:
    for name in parts.names:
        if name.startswith(_SAMPLES) and name.endswith(".json"):
            sample = _json(decode(parts.read(name), path=path, error=InputError, what=_WHAT), path, name)
            yield name, {key: sample[key] for key in _KEPT if key in sample}


def _json(text: str, path: Path, name: str) -> Row:
    """An object of JSON; Inspect writes NaN where a score is none."""
    try:
        value = json.loads(text)
        if is_too_deep(value):
            raise RecursionError
    except (ValueError, RecursionError) as failure:
        raise InputError(f"{name} is not valid JSON: {why_not_json(failure)}", path=path) from None
    return mapping(value, At(path, (name,)), "a log")


def _imported(header: Row, samples: Iterator[tuple[str, object]], at: At, log: Log) -> Imported:
    about = mapping(header.get("eval"), at["eval"], "eval")
    model = " ".join(str(about.get("model") or "unknown").split())
    metadata = about.get("metadata")
    ours = metadata.get(OURS) if isinstance(metadata, dict) else None
    rows = [(mapping(value, at[name], "a sample"), at[name]) for name, value in samples]
    if not rows:
        raise InputError("the log holds no samples; run inspect eval without --no-log-samples", path=at.path)
    if isinstance(ours, dict):
        return _of_ours(ours, rows, model, at, log)
    exchanges = list(_exchanges(rows, model, log))
    _note_scores(rows, at, log, _scorers(about))
    _note_beside(about, rows, at, log)
    return assembled(exchanges, at.path, log, called=" ".join(str(about.get("task") or "").split())[:100])


def _note_scores(rows: Sequence[tuple[Row, At]], at: At, log: Log, scorers: Sequence[str] = ()) -> None:
    if any(row.get("scores") for row, _ in rows):
        name = f"scores ({', '.join(scorers)})" if scorers else "scores"
        log.left_out(name, stored("promptpex judge gives its own verdicts"), at.path, None)


def _scorers(about: Row) -> list[str]:
    scorers = about.get("scorers")
    names = [each.get("name") for each in scorers if isinstance(each, dict)] if isinstance(scorers, list) else []
    return [name[:60] for name in names if isinstance(name, str)]


def _note_beside(about: Row, rows: Sequence[tuple[Row, At]], at: At, log: Log) -> None:
    config, keys = about.get("model_generate_config"), dict[str, None]()
    for key in config if isinstance(config, dict) else ():
        log.left_out(f"model_generate_config.{key}", stored("a run keeps answers, not request details"), at.path, None)
    for row, _ in rows:
        metadata = row.get("metadata")
        keys |= dict.fromkeys(metadata if isinstance(metadata, dict) else ())
    for key in keys:
        log.left_out(f"metadata.{key}", stored("cases keep no data of other tools"), at.path, None)


def _exchanges(rows: Sequence[tuple[Row, At]], model: str, log: Log) -> Iterator[Exchange]:
    """The samples of a task of others: what was sent before the last answer, and that."""
    for row, at in rows:
        try:
            messages = messages_of(_sent(row))
            name = row.get("id")
            named_as = "" if name is None else value_text(name)
            yield Exchange(at, messages, answers=(_reply(row, model),), name=named_as, expected=right_of(row))
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)


def _sent(row: Row) -> object:
    """The messages before the model's last answer; of a sample that has none its input."""
    turns = row.get("messages")
    last = list(turns) if isinstance(turns, list) else []
    while last and isinstance(last[-1], dict) and last[-1].get("role") == "assistant":
        last.pop()
    return last or row.get("input")


def _reply(row: Row, model: str) -> RecordedAnswer:
    """What the model answered, or that it gave no answer.

    Raises:
        Unfit: it called tools, or said something that is not text.
    """
    output, failure = row.get("output"), row.get("error")
    about: Row = output if isinstance(output, dict) else {}
    choices = about.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    text = answer_of(choice["message"]) if isinstance(choice.get("message"), dict) else about.get("completion")
    words = failure.get("message") if isinstance(failure, dict) else failure
    usage, reason, seconds = about.get("usage"), choice.get("stop_reason"), amount(about.get("time"))
    tokens: Row = usage if isinstance(usage, dict) else {}
    has_text = isinstance(text, str) and (bool(text) or not words)
    return RecordedAnswer(
        text if has_text else None,
        model,
        message=None if has_text else str(words or "there is no output"),
        finish_reason=_REASONS.get(reason, reason) if isinstance(reason, str) else None,
        tokens_in=count(tokens.get("input_tokens")),
        tokens_out=count(tokens.get("output_tokens")),
        latency_ms=None if seconds is None else seconds * 1000,
    )


def _of_ours(ours: Row, rows: Sequence[tuple[Row, At]], model: str, at: At, log: Log) -> Imported:
    """The project that a task of ours has kept in its metadata, with the outputs of its samples."""
    cases: dict[str, Case] = {}
    repeats: dict[str, int] = {}
    outputs: list[Output] = []
    exchanges: list[Exchange] = []
    prompt, spec = _prompt(ours, at), _spec(ours, at)
    rules = {rule.id for rule in spec.rules} if spec is not None else set()
    for row, place in rows:
        try:
            case, reply = _case(row, rules, place), _reply(row, model)
            exchanges.append(Exchange(place, messages_of(_sent(row)), answers=(reply,), name=case.id))
        except Unfit as failure:
            log.left_out(place.name, failure.why, place.path, place.line)
            continue
        cases.setdefault(case.id, case)
        repeats[case.id] = repeats.get(case.id, -1) + 1
        outputs.append(reply.output(case.id, repeats[case.id]))
    _note_scores(rows, at, log)
    log.came("rules", len(rules))
    log.came("cases", len(cases))
    log.came("outputs", len(outputs))
    return Imported(
        prompt=prompt,
        spec=spec,
        suite=Suite(cases=tuple(cases.values())),
        outputs=tuple(outputs),
        over=dict(log.over),
        notes=log.notes,
        recorded=Recorded(tuple(exchanges), log.notes),
    )


def _case(row: Row, rules: Collection[str], at: At) -> Case:
    metadata = row.get("metadata")
    own_metadata = metadata.get(OURS) if isinstance(metadata, dict) else None
    if not isinstance(own_metadata, dict) or not is_plain(own_metadata.get("inputs")):
        raise Unfit(stored("its metadata does not contain the case"))
    names = ("id", "inputs", "rule", "inverse", "expected", "also_right", "match")
    fields = {name: own_metadata[name] for name in names if own_metadata.get(name) is not None}
    if fields.get("rule") not in rules:
        fields.pop("rule", None)
    try:
        return Case.model_validate({**fields, "origin": "added"})
    except ValidationError as failure:
        raise at.fail(f"the case in its metadata is invalid ({failure.error_count()} errors)") from None


def _prompt(ours: Row, at: At) -> ImportedPrompt:
    turns = ours.get("prompt")
    try:
        messages = tuple(Message.model_validate(turn) for turn in turns) if isinstance(turns, list) else ()
    except ValidationError:
        raise at.fail("the prompt in its metadata is invalid") from None
    if not messages:
        raise at.fail("its metadata contains no prompt")
    return ImportedPrompt(" ".join(str(ours.get("name") or "prompt").split())[:100], messages)


def _spec(ours: Row, at: At) -> Spec | None:
    rules, intent = ours.get("rules"), ours.get("intent")
    try:
        own_rules = (
            [Rule.model_validate({**rule, "origin": "added"}) for rule in rules] if isinstance(rules, list) else []
        )
    except (ValidationError, TypeError):
        raise at.fail("the rules in its metadata are invalid") from None
    return Spec(intent=intent if isinstance(intent, str) else "", rules=tuple(own_rules)) if own_rules else None


def recognise(path: Path) -> bool:
    """Whether it is called so and a ZIP file, or JSON that begins like a log."""
    ending = path.suffix.lower()
    if ending == ".eval":
        return begins(path, 4) == b"PK\x03\x04"
    beginning = head(path) if ending == ".json" else ""
    return all(f'"{key}"' in beginning for key in ("version", "eval", "task_id", "run_id"))


FORMAT = Format(
    name="inspect-ai-log",
    summary="a log of inspect eval, .eval or JSON, as a run to judge again",
    extensions=(".eval", ".json"),
    reads="run",
    read=read,
    recognise=recognise,
    lost="scores (judge again), tools and events, samples with tool calls or parts that are not text, "
    "parameters, cost",
)  # fmt: skip
