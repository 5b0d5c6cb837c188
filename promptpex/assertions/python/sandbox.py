"""Running Python checks: the process that holds Monty, limits, and rows that are run together.

No check can hang or end a run. Whoever has many outputs hands them in together.

Checks come in promptfoo's forms: an expression over ``output`` and ``context``, a body that returns, ``def
get_assert(output, context)``; or in SPADE's (arXiv 2401.03038, section 3.2): ``def name(example, prompt, response) ->
bool``.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

from promptpex.assertions.model import Unscorable
from promptpex.assertions.worker_process import (
    StrikeCounter,
    WorkerAnswer,
    WorkerDied,
    WorkerProcess,
    WorkerRequest,
    home_of,
)
from promptpex.codecs.text.python_scan import (
    Definition,
    Given,
    definitions,
    given_to,
    literals,
    parameters_of,
    without_literals,
)
from promptpex.codecs.text.wording import did_you_mean, plural
from promptpex.core.judge_questions import MAX_QUESTIONS
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored

MAX_CODE = 100_000
"""Characters of code."""

_OURS = "_check"
"""The function that is made of an expression or a body."""


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """A check's code, ready to run.

    Attributes:
        code: defines the function.
        name: the function's name.
        parameters: what it is given, in order.
        awaited: whether it is ``async``.
        asks: whether it calls ``ask`` or ``ask_llm``, as far as the text shows.
        by_truth: whether any value is a verdict, by its truth, as for SPADE's functions; else promptfoo's rules hold.
    """

    code: str
    name: str
    parameters: tuple[Given, ...]
    awaited: bool
    asks: bool
    by_truth: bool


def program_of(text: str, function: object = None) -> CheckProgram:
    """The program of a check's value.

    Args:
        text: the code in one of its forms.
        function: the name of the function that counts, where there are several; None: ``get_assert`` if there is one,
            else the last.

    Raises:
        Unscorable: ``bad-value``: it is too long, or there is no such function.
    """
    if len(text) > MAX_CODE:
        raise Unscorable("bad-value", f"the code has {len(text):,} characters; at most {MAX_CODE:,} are run")
    code = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()
    bare = without_literals(code)
    asks = _ASKS.search(bare) is not None
    defined = () if _RETURNS.search(bare) else tuple(definitions(code))
    if not defined:
        if function is not None:
            raise Unscorable("bad-value", f"there is no function {str(function)[:40]!r} in the code")
        awaited = _AWAITS.search(bare) is not None
        return CheckProgram(
            _as_function(code, bare, awaited), _OURS, ("output", "context"), awaited, asks, by_truth=False
        )
    chosen = _chosen(defined, function)
    parameters = _parameters(code, chosen)
    return CheckProgram(code, chosen.name, parameters, chosen.awaited, asks, by_truth="response" in parameters)


def is_function(text: str) -> bool:
    """Whether the text defines a function, so that braces in it are Python's and not a template's."""
    return next(definitions(text), None) is not None and not _RETURNS.search(without_literals(text))


def _chosen(defined: tuple[Definition, ...], function: object) -> Definition:
    by_name = {each.name: each for each in defined}
    if function is None:
        return by_name.get("get_assert", defined[-1])
    if not isinstance(function, str) or function not in by_name:
        hint = did_you_mean(str(function)[:100], tuple(by_name)) or f"it defines {', '.join(list(by_name)[:10])}"
        raise Unscorable("bad-value", f"there is no function {str(function)[:40]!r} in the code; {hint}")
    return by_name[function]


def _parameters(code: str, chosen: Definition) -> tuple[Given, ...]:
    names = parameters_of(code, chosen)
    parameters = given_to(names)
    if parameters is None:
        message = "write (output, context) or (example, prompt, response)"
        raise Unscorable("bad-value", f"the function {chosen.name} has {plural(len(names), 'parameter')}; {message}")
    return parameters


_ASKS = re.compile(r"\bask(?:_llm)?\b")
_RETURNS = re.compile(r"^return\b", re.MULTILINE)
"""At the top: what else is defined there helps a body that returns."""
_AWAITS = re.compile(r"\bawait\b")
_BODY = re.compile(r"(?:return|import|from|if|for|while|try|with|assert|raise|global|match|pass)\b")


def _as_function(code: str, bare: str, awaited: bool) -> str:
    head = f"import json\n{'async ' if awaited else ''}def {_OURS}(output, context):\n"
    if "\n" not in code and not _BODY.match(code):
        return f"{head}    return (\n{code}\n)\n"
    return head + _indented(code)


def _indented(code: str) -> str:
    """The lines a level further in, but for those that begin inside of a literal."""
    within: set[int] = set()
    number = end = 0
    for literal in literals(code):
        number += code.count("\n", end, literal.start())
        inside = literal[0].count("\n")
        within.update(range(number + 1, number + 1 + inside))
        number, end = number + inside, literal.end()
    lines = code.split("\n")
    return "\n".join(line if number in within else f"    {line}" for number, line in enumerate(lines)) + "\n"


RUN_SECONDS = 2.0
"""One function on one output, or on as many as are run together."""
RUN_BYTES = 128_000_000
"""Monty's heap for one function."""
MAX_SET = 4_000_000
"""Characters of rows that are kept together."""
_MAX_TOGETHER = 512
_TOGETHER_SECONDS = 0.4
"""How long rows that are run together should take, going by those before them."""
_PAYS = 4_000
"""Results from which on a second process pays for its start."""

Row = Sequence[object]
"""What a function is given on one output, by position; JSON data."""
Result = Sequence[object]
"""What it came to: a kind, and what belongs to it (``driver.txt``)."""

INSTALL = "`pip install pydantic-monty` has it for Linux, macOS and Windows"


def command(distribution: str = "pydantic-monty-runtime") -> list[str]:
    """The worker, where ``pydantic_monty`` is installed, and its program, which comes with a distribution of its own.

    Raises:
        Unscorable: ``no-sandbox``: one of them is missing; there are systems for which there is no program.
    """
    try:
        files = importlib.metadata.distribution(distribution).files or ()
        folder = home_of("pydantic_monty")
    except (importlib.metadata.PackageNotFoundError, Unscorable) as missing:
        raise Unscorable(
            "no-sandbox", stored("there is nothing to run Python in; {remedy}", remedy=INSTALL)
        ) from missing
    for file in files:
        if file.name in ("monty", "monty.exe") and (path := Path(str(file.locate()))).is_file():
            return [str(Path(__file__).with_name("monty_worker.py")), folder, str(path)]
    raise Unscorable(
        "no-sandbox", stored("the program that runs Python is not there for this system; {remedy}", remedy=INSTALL)
    )


PROCESSES = tuple(WorkerProcess(command, own_group=True) for _ in range(min(2, os.cpu_count() or 1)))
"""The process's own; Monty starts with the first check, the second one where there is much to do."""
_STRIKES = StrikeCounter()


class RowSet:
    """Rows that are given to many functions, and sent to each process once."""

    _numbers = itertools.count()

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.number = next(self._numbers)

    def __len__(self) -> int:
        return len(self.rows)


def parse(code: str) -> WorkerAnswer:
    """Whether Monty can read the code: ``parsed``, or ``failed`` with ``error`` and ``message``; nothing of it runs."""
    return _asked({"op": "parse", "code": code})


def run_many(
    jobs: Sequence[tuple[CheckProgram, RowSet, Allowance]], used_up: Callable[[], bool]
) -> Iterator[list[Result | None]]:
    """For each function and rows, a result per row, in order.

    A row at which the function has to be stopped is tried again alone. None stands for rows that time did not suffice
    for.
    """
    processes = PROCESSES if sum(len(rows) for _, rows, _ in jobs) >= _PAYS else PROCESSES[:1]
    free: SimpleQueue[WorkerProcess] = SimpleQueue()
    for process in processes:
        free.put(process)

    def one(job: tuple[CheckProgram, RowSet, Allowance]) -> list[Result | None]:
        process = free.get()
        try:
            return _run_set(process, *job, used_up)
        finally:
            free.put(process)

    if len(processes) == 1:
        yield from map(one, jobs)
        return
    with ThreadPoolExecutor(len(processes), thread_name_prefix="promptpex-python") as threads:
        yield from threads.map(one, jobs)


def _run_set(
    process: WorkerProcess, program: CheckProgram, rows: RowSet, allowance: Allowance, used_up: Callable[[], bool]
) -> list[Result | None]:
    results: list[Result | None] = []
    size, alone_until = 1, 0
    with _timed(allowance):
        while len(results) < len(rows) and not (used_up() or allowance.used_up or _STRIKES.struck_out(program)):
            first = len(results)
            end = min(len(rows), first + (1 if first < alone_until else size))
            begun = time.monotonic()
            answer = _of_set(process, program, rows, first, end)
            if answer["kind"] == "unknown":
                break
            if answer["kind"] != "ran" and end - first > 1:
                alone_until = end
                continue
            _STRIKES.record(program, overran=_overran(answer))
            results += answer["results"] if answer["kind"] == "ran" else [_result(answer)]
            each = max((time.monotonic() - begun) / (end - first), 1e-6)
            size = max(1, min(_MAX_TOGETHER, int(_TOGETHER_SECONDS / each)))
    return results + [None] * (len(rows) - len(results))


@contextmanager
def _timed(allowance: Allowance) -> Iterator[None]:
    """A piece of work; two sets of rows of one function may be under way at a time."""
    with _LOCK:
        allowance.begin()
    try:
        yield
    finally:
        with _LOCK:
            allowance.end()


_LOCK = threading.Lock()


def _of_set(process: WorkerProcess, program: CheckProgram, rows: RowSet, first: int, end: int) -> WorkerAnswer:
    request = _request("run", program) | {"rows": rows.number, "first": first, "end": end}
    answer = _asked(request, process)
    if answer["kind"] == "unknown":
        stored_rows = _asked({"op": "keep", "number": rows.number, "rows": [list(row) for row in rows.rows]}, process)
        answer = _asked(request, process) if stored_rows["kind"] == "kept" else answer
    return answer


def run(program: CheckProgram, row: Row) -> Result:
    """The result on one row.

    Raises:
        Unscorable: ``timeout``: it went over its limits too often before; ``no-sandbox``.
    """
    return _result(_alone(program, _on_one("ask", program, row) | {"answers": {}, "futures": False, "most": 0}))


def run_asking(program: CheckProgram, row: Row, answers: Mapping[str, bool]) -> tuple[Result | None, tuple[str, ...]]:
    """The result on one row; or None, and the questions whose answers are not known.


    Raises:
        Unscorable: as ``run``.
    """
    request = _on_one("ask", program, row) | {"answers": dict(answers), "futures": False, "most": MAX_QUESTIONS}
    answer = _alone(program, request)
    if _wants_futures(answer):
        answer = _alone(program, request | {"futures": True})
    if answer["kind"] == "asks":
        return None, tuple(answer["questions"])
    return _result(answer), ()


def _wants_futures(answer: WorkerAnswer) -> bool:
    if answer["kind"] != "ran" or answer["results"][0][:2] != ["raised", "TypeError"]:
        return False
    return "await" in str(answer["results"][0][2])


def _request(op: str, program: CheckProgram) -> WorkerRequest:
    keep = "truth" if program.by_truth else "verdict"
    return {"op": op, "code": program.code, "name": program.name, "awaited": program.awaited, "keep": keep}


def _on_one(op: str, program: CheckProgram, row: Row) -> WorkerRequest:
    return _request(op, program) | {"rows": [list(row)]}


def _alone(program: CheckProgram, request: WorkerRequest) -> WorkerAnswer:
    if _STRIKES.struck_out(program):
        raise Unscorable("timeout", stored("the code was not tried; it went over its limits too often before"))
    answer = _asked(request)
    _STRIKES.record(program, overran=_overran(answer))
    return answer


def _overran(answer: WorkerAnswer) -> bool:
    return answer.get("error") in ("late", "crashed", "TimeoutError", "MemoryError")


def _result(answer: WorkerAnswer) -> Result:
    """The only result of an answer; of a failure what would be one of code that raised."""
    return answer["results"][0] if answer["kind"] == "ran" else ["raised", answer["error"], answer["message"]]


def _asked(request: WorkerRequest, process: WorkerProcess = PROCESSES[0], again: bool = True) -> WorkerAnswer:
    """The answer; where the process did not live to give one, a failure by its second try."""
    request = request | {"seconds": RUN_SECONDS, "memory": RUN_BYTES, "now": _hour()}
    try:
        return process.ask(request, RUN_SECONDS)
    except WorkerDied as death:
        if death.late or not again:
            return {"kind": "failed", "error": "late" if death.late else "crashed", "message": ""}
    return _asked(request, process, again=False)


def _hour() -> str:
    """The clock that code sees. It shows full hours, so that code which is run again puts the same questions."""
    return datetime.now(UTC).replace(minute=0, second=0, microsecond=0).isoformat()
