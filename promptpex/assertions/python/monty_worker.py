"""The process that holds Monty, a Python interpreter written in Rust, which runs in a further process of its own.

It runs alone, with nothing of promptpex imported and an empty environment; see ``worker_loop``. What is asked and
answered is JSON. A row of a request gets a namespace of its own, so that no output leaves anything behind for the next.

Started with the folder where ``pydantic_monty`` is installed, and the path of its program ``monty``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_monty import FunctionSnapshot, MontySession, SyncSnapshot

WorkerRequest = dict[str, Any]
WorkerAnswer = dict[str, Any]
"""JSON; which keys it has depends on the operation."""

RECURSION = 400
"""Calls inside of each other."""
_SUSPENSIONS = 2_000
"""Calls out of the sandbox in one request: names looked up, imports, questions."""
_REQUEST_GRACE = 0.4
"""Seconds after which Monty's process is ended when it does not keep the limit by itself."""
MAX_KEPT = 4
"""Sets of rows that are kept at a time."""
_ASKING = ("ask", "ask_llm")

PARSED_FIRST = "0/0\n"
"""Before a text that is only to be parsed: it raises before anything else could run."""


class NoResult(Exception):
    """Evaluation ended without a result; ``answer`` says why."""

    def __init__(self, answer: WorkerAnswer) -> None:
        self.answer = answer
        super().__init__()


class MontyWorker:
    """The requests: ``parse`` a text; ``keep`` rows under a number, for many functions; ``run`` a function on some of
    them; ``ask``: on one row, with answers to its questions.

    Answers have a ``kind``: ``parsed``; ``kept``; ``ran`` with ``results``, one per row (see ``driver.txt``);
    ``asks`` with the ``questions`` that have no answer; ``unknown`` where the rows are not kept; or ``failed`` with the
    ``error``'s name and a ``message``. ``late`` is a limit on time, ``crashed`` a Monty that ended.
    """

    def __init__(self, folder: str, program: str) -> None:
        sys.path.append(folder)
        from pydantic_monty import Monty

        self._pools: dict[float, Monty] = {}
        self._rows: dict[int, list[Any]] = {}
        self._program = program
        self._driver = Path(__file__).with_name("driver.txt").read_text(encoding="utf-8")

    def answer(self, request: WorkerRequest) -> WorkerAnswer:
        """The reply to a request."""
        from pydantic_monty import MontyCrashedError, MontyRuntimeError, MontySyntaxError

        if request["op"] == "wake":
            return {}
        if request["op"] == "keep":
            return self._kept(request)
        if request["op"] == "run" and request["rows"] not in self._rows:
            return {"kind": "unknown"}
        try:
            return self._answered(request)
        except NoResult as ended:
            return ended.answer
        except MontySyntaxError as error:
            return {"kind": "failed", "error": "SyntaxError", "message": str(error)[:1000]}
        except MontyCrashedError as error:
            return {"kind": "failed", "error": "late" if error.timed_out else "crashed", "message": ""}
        except MontyRuntimeError as error:
            name, _, message = str(error).partition(": ")
            return {"kind": "failed", "error": name[:100], "message": message[:1000]}

    def _answered(self, request: WorkerRequest) -> WorkerAnswer:
        with self._pool(request["seconds"]).checkout(
            limits={
                "max_feed_duration_secs": request["seconds"],
                "max_memory": request["memory"],
                "max_recursion_depth": RECURSION,
                "max_suspensions": _SUSPENSIONS,
                "max_total_sleep_secs": 0,
            },
            os_policy={"datetime": datetime.fromisoformat(request["now"]), "random_start": {"seed": 0}},
            assert_message_annotations=False,
        ) as session:
            if request["op"] == "parse":
                return _parsed(session, request["code"])
            session.feed_run(self._driver, print_callback=_ignored)
            inputs = {"code": _text(request["code"]), **{name: request[name] for name in ("name", "awaited", "keep")}}
            if request["op"] == "run":
                inputs["rows"] = self._rows[request["rows"]][request["first"] : request["end"]]
                results = session.feed_run(_CALL, inputs=inputs, print_callback=_ignored)
            else:
                inputs["rows"] = _clean(request["rows"])
                results = _asking(session, inputs, request)
        return {"kind": "ran", "results": json.loads(results)}

    def _kept(self, request: WorkerRequest) -> WorkerAnswer:
        while len(self._rows) >= MAX_KEPT:
            del self._rows[next(iter(self._rows))]
        self._rows[request["number"]] = _clean(request["rows"])
        return {"kind": "kept"}

    def _pool(self, seconds: float) -> Any:
        """The pool of one process whose requests take at most so long."""
        from pydantic_monty import Monty

        if seconds not in self._pools:
            pool = Monty(
                binary_path=self._program,
                max_processes=1,
                request_timeout=seconds + _REQUEST_GRACE,
                feed_duration_limit_grace=_REQUEST_GRACE,
            )
            self._pools[seconds] = pool.__enter__()
        return self._pools[seconds]


_CALL = "f'{(await verdicts(code, name, awaited, rows, keep))!s:.20000000}'"
"""Gives a text of bounded length, by its syntax: whatever the code does, no object of its own making leaves Monty."""
_CALL_ASKING = _CALL.replace("keep)", "keep, {'ask': ask, 'ask_llm': ask_llm})")


def _ignored(stream: str, text: str) -> None:
    """What the code prints does not count."""


def _parsed(session: MontySession, code: str) -> WorkerAnswer:
    from pydantic_monty import MontyRuntimeError

    try:
        session.feed_run(PARSED_FIRST + _text(code))
    except MontyRuntimeError as error:
        if not str(error).startswith("ZeroDivisionError"):
            raise
    return {"kind": "parsed"}


def _asking(session: MontySession, inputs: Mapping[str, Any], request: WorkerRequest) -> Any:
    """The results, with calls of ``ask`` and ``ask_llm`` answered.

    A question is answered at once where its call is awaited at once or not at all; with ``futures`` every call gives
    something to be awaited later, as ``asyncio.gather`` wants it.
    """
    from pydantic_monty import FutureSnapshot, MontyComplete, NameLookupSnapshot

    answers: Mapping[str, bool] = request["answers"]
    questions: set[str] = set()
    pending: dict[int, bool] = {}
    unanswered: list[str] = []
    step: SyncSnapshot = session.feed_start(_CALL_ASKING, inputs=dict(inputs), print_callback=_ignored)
    while not isinstance(step, MontyComplete):
        if isinstance(step, NameLookupSnapshot):
            asks = step.object_id is None and step.variable_name in _ASKING
            step = step.resume(value=_named(step.variable_name)) if asks else step.resume()
        elif isinstance(step, FutureSnapshot):
            if unanswered:
                raise NoResult({"kind": "asks", "questions": unanswered})
            step = step.resume({call: {"return_value": pending.pop(call)} for call in step.pending_call_ids})
        elif step.is_os_function or step.function_name not in _ASKING:
            step = step.resume_auto()
        else:
            question = _question(step)
            later = request["futures"] or step.allow_eager_await
            questions.add(question)
            if len(questions) > request["most"]:
                raise NoResult({"kind": "failed", "error": "TooManyQuestions", "message": ""})
            if question not in answers and later:
                unanswered.append(question)
            elif question not in answers:
                raise NoResult({"kind": "asks", "questions": [*unanswered, question]})
            if later:
                pending[step.call_id] = answers.get(question, False)
                step = step.resume({"future": ...})
            else:
                step = step.resume({"return_value": answers[question]})
    if pending:
        raise NoResult({"kind": "failed", "error": "RuntimeError", "message": "a call of ask was never awaited"})
    return step.output


def _named(name: str) -> Any:
    """A stand-in by which the code can pass the function on; Monty calls it by its name."""

    def stand_in() -> None:
        raise RuntimeError("Monty calls the function by its name, never this")

    stand_in.__name__ = name
    return stand_in


def _question(call: FunctionSnapshot) -> str:
    place = 0 if call.function_name == "ask" else 2
    question = call.kwargs.get("question", call.args[place] if len(call.args) > place else None)
    if not isinstance(question, str) or not question.strip():
        message = f"{call.function_name} needs a question, a text that is not empty"
        raise NoResult({"kind": "failed", "error": "TypeError", "message": message})
    return question.strip()


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_text(key): _clean(item) for key, item in value.items()}
    return value


def _text(value: str) -> str:
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


@cache
def _worker() -> MontyWorker:
    return MontyWorker(*sys.argv[1:])


def answer(request: WorkerRequest) -> WorkerAnswer:
    return _worker().answer(request)


if __name__ == "__main__":
    answer({"op": "wake"})
