"""``deepeval``: goldens and test cases of deepeval, as JSON, JSON lines or CSV, in; goldens out.

After ``EvaluationDataset.save_as`` and ``add_goldens_from_json_file``: a list of texts stands as one text with ``|`` in
JSON lines and CSV. A golden without an answer is a case; those with ``actual_output`` are outputs to judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from promptpex.core.records import INPUT_VARIABLE, Case
from promptpex.core.translation import stored
from promptpex.interchange.format import Exported, Format, Imported, Mapped, Project, Source
from promptpex.interchange.notes import Log
from promptpex.interchange.reading.chats import Unfit, messages_of
from promptpex.interchange.reading.exchanges import Exchange, RecordedAnswer, amount, count
from promptpex.interchange.reading.foreign_rows import JSON_ENDINGS, first_row, json_of_cell, rows_of
from promptpex.interchange.reading.foreign_values import At, mapping, named
from promptpex.interchange.reading.inferred_project import assembled

_INPUT, _ANSWER, _EXPECTED = "input", "actual_output", "expected_output"
_LISTS = ("context", "retrieval_context")
_METADATA = "additional_metadata"
_OTHER_NAMES = {
    "actualOutput": _ANSWER, "expectedOutput": _EXPECTED, "retrievalContext": "retrieval_context",
    "additionalMetadata": _METADATA, "tokenCost": "token_cost", "inputTokenCount": "input_token_count",
    "outputTokenCount": "output_token_count", "expectedOutcome": "expected_outcome",
    "userDescription": "user_description",
}  # fmt: skip
"""Names that deepeval's service has for the same."""
_READ = frozenset((_INPUT, _ANSWER, _EXPECTED, *_LISTS, _METADATA, "name", "token_cost", "input_token_count",
                   "output_token_count"))  # fmt: skip
_OF_CONVERSATION = ("expected_outcome", "context", _METADATA)
"""What a conversational golden has that checks may look at."""
_OF_CHATS = frozenset(("scenario", "turns", "name", *_OF_CONVERSATION))
_CELLS = (_METADATA, "turns", "tools_called", "expected_tools", "custom_column_key_values", "persona")
"""Columns that hold JSON."""
_IMAGE = "[DEEPEVAL:IMAGE:"


def recognise(path: Path) -> bool:
    """Whether its first row is a golden, of one turn or of a conversation."""
    row = first_row(path)
    keys = {_OTHER_NAMES.get(key, key) for key in row}
    is_single = _INPUT in keys and bool(keys & {_ANSWER, _EXPECTED, "retrieval_context"})
    is_chat = "scenario" in keys and bool(keys & {"expected_outcome", "turns", "user_description"})
    of_langfuse = {"datasetId", "datasetName", "dataset_id", "traceId", "trace_id", "projectId", "project_id"}
    return (is_single or is_chat) and not keys & of_langfuse


def read(path: Path) -> Imported:
    """The goldens of a file as cases; those with answers as outputs, of a prompt that is the input as it stands.

    Raises:
        InputError: it is not such a file, or nothing in it can come over; with the line.
    """
    log = Log()
    exchanges = []
    for row, at in rows_of(path, "file of goldens"):
        raw = mapping(row, at, "a golden")
        is_table = path.suffix.lower() == ".csv"
        golden = {_OTHER_NAMES.get(key, key): value for key, value in raw.items()}
        if is_table:
            golden |= {key: json_of_cell(value) for key in _CELLS if isinstance(value := golden.get(key), str)}
        try:
            exchanges.append(_conversation(golden, at) if golden.get("scenario") else _golden(golden, at))
        except Unfit as failure:
            log.left_out(at.name, failure.why, at.path, at.line)
            continue
        for key in golden:
            if key not in (_OF_CHATS if golden.get("scenario") else _READ) and golden[key] not in (None, "", [], {}):
                log.left_out(at[key].name, stored("promptpex has no equivalent"), at.path, at.line)
    if any(each.answers for each in exchanges):
        return assembled(exchanges, path, log)
    return assembled([_alone(each) for each in exchanges], path, log)


def _golden(golden: Mapping[str, object], at: At) -> Exchange:
    text, answer, expected = (_text(golden, key) for key in (_INPUT, _ANSWER, _EXPECTED))
    if text is None:
        raise Unfit(stored("a golden needs an input"))
    if _IMAGE in text:
        raise Unfit(stored("it has parts that are not text: {kind}", kind="an image"))
    inputs: dict[str, object] = {key: _list(golden[key]) for key in _LISTS if golden.get(key) not in (None, "")}
    metadata = golden.get(_METADATA)
    if isinstance(metadata, dict) and metadata:
        inputs[_METADATA] = metadata
    recorded = RecordedAnswer(
        answer,
        tokens_in=count(golden.get("input_token_count")),
        tokens_out=count(golden.get("output_token_count")),
        cost_usd=amount(golden.get("token_cost")),
    )
    return Exchange(
        at,
        messages_of(text),
        inputs,
        answers=(recorded,) if answer is not None else (),
        name=_text(golden, "name") or "",
        expected=(expected,) if expected is not None else (),
    )


def _conversation(golden: Mapping[str, object], at: At) -> Exchange:
    """The turns of a conversation that has some: what its last turn answers, or what is to be answered."""
    if not golden.get("turns"):
        raise Unfit(stored("its conversation has no turns, and promptpex does not play the user"))
    messages = messages_of(golden["turns"])
    is_answered = messages[-1].role == "assistant" and len(messages) > 1
    answers = (RecordedAnswer(messages[-1].content),) if is_answered else ()
    conversation_fields = {key: golden[key] for key in _OF_CONVERSATION if golden.get(key) not in (None, "", [], {})}
    inputs = {key: _list(value) if key in _LISTS else value for key, value in conversation_fields.items()}
    return Exchange(at, messages[:-1] if is_answered else messages, inputs, answers=answers,
                    name=_text(golden, "name") or "", scenario=_text(golden, "scenario"))  # fmt: skip


def _alone(exchange: Exchange) -> Exchange:
    """A golden of one turn as an input; its prompt is the user's own."""
    if exchange.roles != ("user",):
        return exchange
    inputs = {INPUT_VARIABLE: exchange.messages[0].content, **exchange.inputs}
    return Exchange(exchange.at, (), inputs, (), exchange.name, exchange.expected, exchange.scenario)


def _text(golden: Mapping[str, object], key: str) -> str | None:
    value = golden.get(key)
    if value is not None and not isinstance(value, str):
        raise Unfit(stored("its {key} is not text", key=key))
    return value


def _list(value: object) -> list[object]:
    """The texts of a list; ``|`` parts them where they stand as one text."""
    if isinstance(value, str):
        return list(value.split("|"))
    if not isinstance(value, list):
        raise Unfit(stored("a context must be a list of strings, not {kind}", kind=named(value)))
    return value


def write(source: Source) -> Exported:
    """The usable cases as goldens in JSON."""
    project = source.project()
    left_out: list[str] = []
    usable = project.suite.usable()
    if len(project.suite.cases) > len(usable):
        unused = len(project.suite.cases) - len(usable)
        left_out.append(stored("cases that are not run, and are left out: {count}", count=unused))
    if project.spec.rules:
        left_out.append(
            stored("rules that are left out, since goldens have none: {count}", count=len(project.spec.rules))
        )
    goldens = [golden for case in usable if (golden := _written(project, case, left_out)) is not None]
    return Exported(json.dumps(goldens, ensure_ascii=False, indent=2) + "\n", tuple(left_out))


def _written(project: Project, case: Case, left_out: list[str]) -> dict[str, Any] | None:
    variables = project.prompt.variables
    value = case.inputs.get(variables[0]) if len(variables) == 1 else None
    if not isinstance(value, str):
        messages = project.rendered(case.inputs)
        if not messages:
            left_out.append(stored("case {case} is left out: the prompt cannot be rendered with it", case=case.id))
            return None
        value = messages[-1].content
        if (why := stored("deepeval has one input per golden: the prompt's last turn")) not in left_out:
            left_out.append(why)
    if case.also_right:
        left_out.append(stored("case {case}: its further right outputs", case=case.id))
    golden: dict[str, Any] = {_INPUT: value, "name": case.id}
    if case.expected is not None:
        golden[_EXPECTED] = case.expected
    for name, input_value in case.inputs.items():
        is_list = (
            name in _LISTS and isinstance(input_value, list) and all(isinstance(each, str) for each in input_value)
        )
        if name not in variables and (is_list or (name == _METADATA and isinstance(input_value, dict))):
            golden[name] = input_value
        elif name not in variables:
            left_out.append(stored("case {case}: its input {name}", case=case.id, name=name))
    return golden


FORMAT = Format(
    name="deepeval",
    summary="goldens of deepeval",
    import_note="JSON, JSON lines or CSV; those with answers become a run to judge",
    export_note="as JSON",
    extensions=(*JSON_ENDINGS, ".csv"),
    reads="project",
    writes="project",
    read=read,
    write=write,
    recognise=recognise,
    maps=(
        Mapped("`input`", "the input of a prompt with one variable", "both",
               "images; several inputs are one text there"),
        Mapped("`expected_output`", "the expected output", "both", "further right outputs"),
        Mapped("`actual_output`, `token_cost`, token counts", "an output of a run, whose prompt is the input as it "
                                                              "is, or your prompt with `--prompt`", "in"),
        Mapped("`context`, `retrieval_context`, `additional_metadata`", "inputs that the prompt does not name, for "
               "checks"),
        Mapped("`name`", "the case's id"),
        Mapped("`turns` of a conversational golden", "a chat; its last turn is an output where the model has it", "in",
               "personas, what turns hold besides text"),
        Mapped("`expected_outcome`, `context` of one", "inputs that the prompt does not name, for checks", "in"),
        Mapped("a conversational golden without turns", "nothing", "in", "it is named"),
        Mapped("`comments`, `source_file`, tools, custom columns and others", "nothing", "in", "they are named"),
        Mapped("rules", "nothing", "out", "they are counted"),
    ),
)  # fmt: skip
