"""Recording at the client seam, and answering from a recording.

A recording is JSONL, a line per request in the order in which they were asked: its id, its stage, the request as
people read it (keys taken out), and what came: a completion, or an error's reason and message. Errors are recorded
too, since a replay that answers where the recorded run had no answer would be another run.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from promptpex.codecs import jsonl
from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.files.ordinary_files import created
from promptpex.codecs.text.wording import cut, named
from promptpex.core import errors
from promptpex.core.errors import ConfigError, ModelError, NotRecorded, StoreError
from promptpex.core.ids import canonical, digest
from promptpex.core.records import Completion, Request
from promptpex.core.translation import stored
from promptpex.llm.client import Client
from promptpex.llm.redaction import HIDDEN, names_key, scrub, scrubbed_request, without_own_keys
from promptpex.llm.resolve_model import as_in_name

SETTINGS = ("params", "reply_schema", "template", "repeat")
"""The parts of a request, next to its messages, by which a replay tells requests apart."""
LONGEST = 40
"""Characters of a setting's name, and of its value, that are shown."""


def differences(asked: Mapping[str, Any], recorded: Iterable[Mapping[str, Any]]) -> list[str]:
    """What differs from the recorded request with the same messages that differs least.

    Args:
        asked: the request, as a recording holds it.
        recorded: requests of the recording, in their order; of equally near ones the first counts. What has not the
            shape of a request is passed over.

    Returns:
        A phrase for each setting (``temperature is 0.7, recorded without it``); where no request has the same
        messages, one phrase for those that differ from the nearest of the same stage; nothing where none is near.
        No phrase holds a key.
    """
    requests = list(filter(_is_request, recorded))
    same = [request for request in requests if request["messages"] == asked["messages"]]
    if same:
        return min((_settings(asked, request) for request in same), key=len)
    near = [words for request in requests if (words := _messages(asked["messages"], request["messages"]))]
    return near[:1]


def _is_request(recorded: Mapping[str, Any]) -> bool:
    messages, params = recorded.get("messages"), recorded.get("params", {})
    has_messages = isinstance(messages, list) and all(isinstance(one, Mapping) for one in messages)
    has_params = isinstance(params, Mapping) and isinstance(params.get("extra", {}), Mapping)
    return has_messages and has_params and isinstance(recorded.get("repeat", 0), int)


def _settings(asked: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
    asked_settings, recorded_settings = _flat(asked), _flat(recorded)
    names = sorted(asked_settings.keys() | recorded_settings.keys())
    return [
        _difference(name, asked_settings, recorded_settings)
        for name in names
        if asked_settings.get(name) != recorded_settings.get(name)
    ]


def _flat(request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by the names that users know; a reply schema and a template are told apart, not shown."""
    params = dict(request.get("params", {}))
    settings = {**params, **params.pop("extra", {})} | {name: request[name] for name in SETTINGS[1:] if name in request}
    settings.pop("extra", None)
    return {name: value for name, value in settings.items() if value is not None} | {
        "repeat": settings.get("repeat", 0)
    }


def _difference(name: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    match name:
        case "template":
            return stored("the stage's template is another")
        case "reply_schema":
            return stored("the form of the reply that is asked for is another")
        case "repeat":
            return stored(
                "it is repeat {count}, recorded is repeat {number}", count=here[name] + 1, number=there[name] + 1
            )
    shown_name = cut(scrub(name), LONGEST)
    if name not in there:
        return stored("{name} is {setting}, recorded without it", name=shown_name, setting=_shown(name, here))
    if name not in here:
        return stored("{name} is not set, recorded with {setting}", name=shown_name, setting=_shown(name, there))
    return stored(
        "{name} is {setting}, recorded with {other}",
        name=shown_name,
        setting=_shown(name, here),
        other=_shown(name, there),
    )


def _shown(name: str, settings: Mapping[str, Any]) -> str:
    return HIDDEN if names_key(name) else cut(scrub(json.dumps(settings[name], ensure_ascii=False)), LONGEST)


def _messages(asked: Sequence[Mapping[str, Any]], recorded: Sequence[Mapping[str, Any]]) -> str | None:
    """Which messages differ where another one is the same, as when a prompt was edited and its cases were not."""
    if len(asked) != len(recorded):
        return None
    other = [
        message["role"]
        for message, recorded_message in zip(asked, recorded, strict=True)
        if message != recorded_message
    ]
    return stored("the {roles} message differs", roles=" and ".join(other)) if len(other) < len(asked) else None


LONGEST_DIFFERENCES = 600
"""Characters of what was asked otherwise: a recording may come from a stranger."""
UNRECORDED = frozenset({"interrupted", "deadline", "cut-by-stop", "cut-by-deadline", "not-recorded"})
"""Reasons that say something about the moment, not about the request."""


class RecordingClient:
    """Writes every request to ``inner`` and what came of it into a file.

    Each line is in the file as soon as its answer is here; ``close`` puts the lines into the order of asking, so that
    two recordings of the same run can be compared. Requests that the file answers already are not written again; a
    file that ends in half a line, after a crash, is repaired.


    Raises:
        ConfigError: the file cannot be written, is a link, or is not a recording.
        StoreError: from ``complete``: the disk takes no more; the answer is in the store all the same.
    """

    def __init__(self, inner: Client, path: Path | str) -> None:
        self._inner = inner
        self._path = Path(path)
        self._asked = 0
        self._written: dict[str, tuple[int, bool]] = {}
        try:
            self._take_over()
            self._file = jsonl.Appender(self._path, append=True)
        except OSError as error:
            raise ConfigError(f"The recording cannot be written: {error.strerror}.", path=path) from error

    async def complete(self, request: Request) -> Completion:
        """The answer of ``inner``."""
        number = self._asked
        self._asked += 1
        try:
            completion = await self._inner.complete(request)
        except ModelError as error:
            if error.reason not in UNRECORDED:
                self._write(number, request, {"error": {"reason": error.reason, "message": scrub(error.message)}})
            raise
        answer = without_own_keys(completion)  # an older store may hold one
        self._write(number, request, {"completion": answer.model_dump(mode="json", exclude_defaults=True)})
        return completion

    async def close(self) -> None:
        if not self._file.is_closed:
            with contextlib.suppress(OSError, ConfigError):  # a full disk: the file keeps the order of the answers
                self._file.close()
                self._put_in_order()
        await self._inner.close()

    def _write(self, number: int, request: Request, outcome: dict[str, Any]) -> None:
        request_id = request.id
        answered = "completion" in outcome
        written = self._written.get(request_id)
        if written is not None and written[1] >= answered and not (request.fresh and answered):
            return
        self._written[request_id] = (number if written is None else written[0], answered)
        if self._file.is_closed:
            return
        scrubbed, _ = scrubbed_request(request)
        line = {"id": request_id, "stage": scrubbed.pop("stage", request.stage), "request": scrubbed, **outcome}
        try:
            self._file.add(f"{jsonl.dumps(line, allow_nan=True)}\n")
        except OSError as error:
            raise StoreError(
                f"{self._path}: the recording cannot be written ({error.strerror}); fix that and run the same command "
                "again: what was answered is kept in the store"
            ) from error

    def _take_over(self) -> None:
        """Continues what the file holds; its lines come first in the order."""
        if not self._path.exists():
            os.close(created(self._path, append=True, mode=0o600))
            return
        kept_bytes = 0
        if self._path.is_symlink():
            raise ConfigError("The recording is a link, which is not followed; name the file itself.", path=self._path)
        for number, line, end in _lines(self._path):
            self._written[line["id"]] = (number, "completion" in line)
            self._asked, kept_bytes = number + 1, end
        if kept_bytes == 0 and self._path.stat().st_size:
            raise ConfigError("The first line is cut, so the file is not a recording; name another.", path=self._path)
        os.truncate(self._path, kept_bytes)

    def _put_in_order(self) -> None:
        """Rewrites the file, an answered line over an earlier error of the same request, in one step."""
        recorded = jsonl.read(self._path, what="recording", error=ConfigError, cut_tail=True, lenient=True)
        lines = {line.value["id"]: line.text for line in recorded}
        order = sorted(lines, key=lambda request_id: self._written[request_id][0])
        write_text(self._path, "".join(f"{lines[request_id]}\n" for request_id in order), links=False)


class ReplayClient:
    """Answers from a recording, and asks no model.

    A request is found by its id. A request to the model ``replay/FILE`` is found by all but its model and its server:
    messages, parameters, reply schema, template and repeat; where the file holds the answers of several models to
    it, ``replay/FILE#MODEL`` says whose. A request that held a key is found by its text without the key. Recorded
    errors are raised again.

    Raises:
        ConfigError: the file is missing or no recording.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._by_id: dict[str, dict[str, Any]] = {}
        self._by_question: dict[str, dict[str, dict[str, Any]]] = {}
        try:
            for _, line, _ in _lines(self._path):
                self._by_id[line["id"]] = line
        except OSError as error:
            raise ConfigError(f"The recording cannot be read: {error.strerror}.", path=path) from error
        for line in self._by_id.values():
            answers = self._by_question.setdefault(_question(line["request"]), {})
            answers[line["request"]["model"]] = line

    async def complete(self, request: Request) -> Completion:
        """The recorded answer.

        Raises:
            NotRecorded: there is none.
            ModelError: the recorded one.
        """
        line = self._by_id.get(request.id) or self._same_question(request)
        if "error" in line:
            raise _recorded_error(line["error"], request.model)
        return Completion.model_validate(line["completion"])

    async def close(self) -> None:
        """Nothing to close."""

    def _same_question(self, request: Request) -> dict[str, Any]:
        scrubbed, _ = scrubbed_request(request)
        answers = self._by_question.get(_question(scrubbed), {})
        recorded_model = _recorded_model(request.model)
        if recorded_model is not None:
            answers = {model: line for model, line in answers.items() if model == recorded_model}
        if len(answers) == 1:
            return next(iter(answers.values()))
        raise NotRecorded(self._why_not(request, scrubbed, recorded_model, answers), model=request.model)

    def _why_not(self, request: Request, asked: dict[str, Any], wanted: str | None, answers: dict[str, Any]) -> str:
        if answers:
            names = ", ".join(sorted(answers))
            return stored(
                "{file}: it holds answers of several models ({names}); name one: {option}.",
                file=self._path,
                names=names,
                option=f"replay/{as_in_name(self._path.name)}#MODEL",
            )
        recorded = [line for line in self._by_id.values() if line.get("stage") == request.stage]
        models = sorted({line["request"]["model"] for line in recorded})
        if wanted is not None and models and wanted not in models:
            return stored(
                "{file}: it holds no answer of {model} (stage {stage}), but of {names}.",
                file=self._path,
                model=wanted,
                stage=request.stage,
                names=named(models),
            )
        others = [line["request"] for line in recorded if wanted in (None, line["request"]["model"])]
        differing = cut("; ".join(differences(asked, others)), LONGEST_DIFFERENCES)
        if differing:
            return stored(
                "{file}: what it holds was asked otherwise: {part} (stage {stage}); record the run again with "
                "--record.",
                file=self._path,
                part=differing,
                stage=request.stage,
            )
        return stored(
            "{file}: it holds no answer to this request (stage {stage}); record the run again with --record.",
            file=self._path,
            stage=request.stage,
        )


def _recorded_model(name: str) -> str | None:
    """The model whose recorded answers count; None = any."""
    return (name.partition("#")[2] or None) if name.startswith("replay/") else name


def _question(request: dict[str, Any]) -> str:
    who = ("model", "api_base", "backend", "stage")
    return digest({key: value for key, value in request.items() if key not in who})


def _recorded_error(error: dict[str, Any], model: str) -> ModelError:
    """The error that was recorded, not to be tried again: the recorded run has done that."""
    final = _kinds().get(error["reason"], ModelError)(error["message"], model=model)
    final.retryable = False
    return final


@cache
def _kinds() -> dict[str, type[ModelError]]:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ModelError)]
    return {kind.reason: kind for kind in kinds}


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any], int]]:
    """Each whole line's number from 0, its data, and the byte where it ends; half a line at the end is left out."""
    for line in jsonl.raw_lines(path, error=ConfigError, what="recording"):
        if not line.is_whole:
            return
        yield line.number - 1, _line(line.data, path, line.number), line.end


def _line(raw: bytes, path: Path, number: int) -> dict[str, Any]:
    wrong = ConfigError("This line does not record a request; the file is not a recording.", path=path, line=number)
    try:
        line = jsonl.own_value(raw)
        if "completion" in line:
            Completion.model_validate(line["completion"])
        elif not {"reason", "message"} <= line["error"].keys():
            raise wrong
        if not isinstance(line["id"], str) or not isinstance(line["request"]["model"], str):
            raise wrong
        canonical(line["request"])
    except (ValueError, ValidationError, KeyError, TypeError, AttributeError, RecursionError):
        raise wrong from None
    return dict(line)
