"""The kind ``python``: promptfoo's forms and SPADE's functions, run in Monty, never in a process of ours."""

from __future__ import annotations

import builtins
import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module

from promptpex.assertions.kinds import javascript
from promptpex.assertions.kinds.question import NOT_ASKED, answered, short_question
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.assertions.python import sandbox
from promptpex.assertions.python.sandbox import CheckProgram
from promptpex.codecs.text.wording import cut
from promptpex.core.judge_questions import MAX_QUESTION, MAX_QUESTIONS
from promptpex.core.time_allowance import Allowance
from promptpex.core.translation import stored

SCORE_WORDS = stored("the code's score")
"""What the reason begins with where the code gave a number."""


def _program(assertion: Assertion, value: object) -> CheckProgram:
    if not isinstance(value, str) or not value.strip():
        raise Unscorable("bad-value", f"{assertion.kind} needs code as its value")
    config = assertion.config
    return sandbox.program_of(value, config.get("function") if isinstance(config, Mapping) else None)


def _verify(assertion: Assertion, program: CheckProgram) -> None:
    """Refuses what is not Python; the check is right where Monty cannot run it, or is not there to run it."""
    try:
        answer = sandbox.parse(program.code)
    except Unscorable as missing:
        if missing.code == "no-sandbox":
            return
        raise
    if answer["kind"] == "failed" and answer["error"] == "SyntaxError" and _TOO_DEEP not in answer["message"]:
        raise Unscorable("bad-value", f"the code is not Python: {javascript.reason_given(answer['message'])}")


def _evaluate(assertion: Assertion, program: CheckProgram, checked: CheckedOutput) -> KindResult:
    if program.asks:
        return _verdict(assertion, program, _asking(assertion, program, checked))
    result = checked.prepared.get(program)
    if result is None:
        result = sandbox.run(program, _row(assertion, program, checked))
    return _verdict(assertion, program, result)


Task = tuple[Assertion, CheckProgram, Sequence[CheckedOutput], Allowance]
"""A check and its code, the outputs that it is to be run on, and the time that it may take on all of them."""


def prepare(tasks: Sequence[Task], used_up: Callable[[], bool]) -> None:
    """Run code on many outputs now, in few calls; each output remembers the results.


    Raises:
        Unscorable: ``no-sandbox``.
    """
    row_sets: dict[object, Sequence[tuple[sandbox.RowSet, Sequence[CheckedOutput]]]] = {}
    jobs: list[tuple[CheckProgram, sandbox.RowSet, Allowance]] = []
    outputs_of: list[Sequence[CheckedOutput]] = []
    for assertion, program, outputs, allowance in tasks:
        if program.asks:
            continue
        own = assertion.config if "context" in program.parameters else None
        key = (program.parameters, repr(own), tuple(map(id, outputs)))
        if key not in row_sets:
            row_sets[key] = list(_row_sets(assertion, program, outputs))
        for rows, row_set in row_sets[key]:
            jobs.append((program, rows, allowance))
            outputs_of.append(row_set)
    for (program, _, _), outputs, results in zip(jobs, outputs_of, sandbox.run_many(jobs, used_up), strict=True):
        for checked, result in zip(outputs, results, strict=True):
            if result is not None:
                checked.prepared[program] = result


def _row_sets(
    assertion: Assertion, program: CheckProgram, outputs: Sequence[CheckedOutput]
) -> Iterator[tuple[sandbox.RowSet, Sequence[CheckedOutput]]]:
    """The rows of the outputs, in sets that are not too large, with the outputs of each set."""
    rows: list[sandbox.Row] = []
    row_set: list[CheckedOutput] = []
    size = 0
    for checked in outputs:
        with contextlib.suppress(Exception):  # the output is hostile: ``evaluate`` meets that again, and says so
            rows.append(_row(assertion, program, checked))
            row_set.append(checked)
            size += len(checked.text) + len(_prompt(checked))
        if size > sandbox.MAX_SET:
            yield sandbox.RowSet(rows), row_set
            rows, row_set, size = [], [], 0
    if rows:
        yield sandbox.RowSet(rows), row_set


def _row(assertion: Assertion, program: CheckProgram, checked: CheckedOutput) -> sandbox.Row:
    """What the function is given on an output."""
    arguments: list[object] = []
    for name in program.parameters:
        if name == "context":
            arguments.append(javascript.context_of(assertion, checked))
        elif name in ("example", "vars"):
            arguments.append(javascript.json_ready(dict(checked.vars)))
        elif name == "prompt":
            arguments.append(_prompt(checked))
        else:
            arguments.append(checked.text if name == "response" else javascript.json_ready(checked.output))
    return arguments


def _prompt(checked: CheckedOutput) -> str:
    """The prompt; empty where it is not known, or a row gives something else under this name."""
    return checked.prompt if isinstance(checked.prompt, str) else ""


def _asking(assertion: Assertion, program: CheckProgram, checked: CheckedOutput) -> sandbox.Result:
    """The result, with the answers that are known; a question without one stops it."""
    answers = {question: answer.value for question, answer in checked.answers.items() if answer.value is not None}
    result, questions = sandbox.run_asking(program, _row(assertion, program, checked), answers)
    if result is not None:
        return result
    long = next((question for question in questions if len(question) > MAX_QUESTION), None)
    if long is not None:
        too_long = stored(
            "the code puts a question of {count} characters; at most {most} are asked",
            count=f"{len(long):,}",
            most=f"{MAX_QUESTION:,}",
        )
        raise Unscorable("script-error", too_long)
    for question in questions:
        if question in checked.answers:
            answered(question, checked)
    raise Unscorable("needs-judge", NOT_ASKED.format(excerpt=short_question(questions[0])), questions=questions)


def _verdict(assertion: Assertion, program: CheckProgram, result: Sequence[object]) -> KindResult:
    kind, *about = result
    if kind == "raised":
        raise failure(str(about[0]), str(about[1]))
    who = stored("the code") if program.name.startswith("_") else program.name
    if kind == "boolean":
        return _of_word(who, str(about[0]))
    if kind == "number":
        return javascript.by_number(assertion, float(str(about[0])), SCORE_WORDS)
    if kind == "text":
        return _of_text(assertion, who, str(about[0]))
    if kind == "object" and isinstance(about[0], Mapping):
        return _of_object(assertion, who, about[0])
    return _no_verdict(who, str(about[0]))


def _of_word(who: str, word: str) -> KindResult:
    return KindResult(word.lower() == "true", stored("{function} gave {boolean}", function=who, boolean=word))


def _no_verdict(who: str, what: str) -> KindResult:
    reason = stored("{function} gave {part}, which is not a verdict", function=who, part=cut(what, 60))
    return KindResult(False, reason, flips=False)


def _of_text(assertion: Assertion, who: str, text: str) -> KindResult:
    """As promptfoo reads what a script prints: ``true``, ``false``, a number, or JSON of an object."""
    word = text.strip()
    if word.lower() in ("true", "false"):
        return _of_word(who, word)
    if word.startswith("{"):
        try:
            data = json.loads(word)
        except (ValueError, RecursionError):
            return _no_verdict(who, stored("a text"))
        return _of_object(assertion, who, {str(key): _field(value) for key, value in data.items()})
    try:
        return javascript.by_number(assertion, float(word), SCORE_WORDS)
    except ValueError:
        return _no_verdict(who, stored("a text"))


def _field(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"number": repr(value) if isinstance(value, float) else str(float(min(value, 10**300)))}
    return value if value is None or isinstance(value, str | bool) else {}


def _of_object(assertion: Assertion, who: str, fields: Mapping[str, object]) -> KindResult:
    passed = fields.get("pass", fields.get("pass_"))
    score = _number(fields.get("score"))
    if not isinstance(passed, bool):
        if score is None:
            return _no_verdict(who, stored("an object without pass and score"))
        passed = score >= assertion.threshold if assertion.threshold is not None else score > 0
    named = fields.get("named_scores", fields.get("namedScores"))
    scores = named.get("named") if isinstance(named, Mapping) else None
    return KindResult(
        passed,
        javascript.reason_given(str(fields.get("reason") or stored("{function} gave no reason", function=who))),
        float(passed) if score is None else score,
        inverts=False,
        named={str(name): float(str(value)) for name, value in scores.items()} if isinstance(scores, Mapping) else None,
    )


def _number(value: object) -> float | None:
    if isinstance(value, Mapping) and "number" in value:
        number = float(str(value["number"]))
        return None if math.isnan(number) else number
    return float(value) if isinstance(value, bool) else None


_TOO_DEEP = "too deeply nested"
_MODULE_MEMBER = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_MEMBER = re.compile(r"'([\w.]+)'(?: object)? has no attribute '(\w+)'")
_NOT_YET = re.compile(r"not yet support|not supported in this environment|Internal error in monty")
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")


def failure(error: str, message: str) -> Unscorable:
    """What an exception means: ``unsupported-python`` where Python would have gone on and Monty cannot; ``memory``,
    ``timeout`` or ``script-error`` else."""
    message_text = javascript.reason_given(f"{error}: {message}" if message else error)
    if _is_unsupported(error, message):
        return Unscorable("unsupported-python", stored("the sandbox cannot run this: {error}", error=message_text))
    if error == "TooManyQuestions":
        too_many = stored("the code puts more than {count} questions about one output", count=MAX_QUESTIONS)
        return Unscorable("too-many-questions", too_many)
    if error in ("MemoryError", "crashed"):
        return Unscorable("memory", stored("the code needed too much memory"))
    if error in ("TimeoutError", "late"):
        took_long = stored("the code took longer than {seconds} s", seconds=f"{sandbox.RUN_SECONDS:g}")
        sleeps = stored("the code sleeps, which a check may not")
        return Unscorable("timeout", sleeps if "sleep limit" in message else took_long)
    if error == "PatternError" and "backtracking" in message:
        return Unscorable("timeout", stored("a pattern of the code backtracks without end"))
    if error == "RuntimeError" and "suspension limit" in message:
        return Unscorable("script-error", stored("the code calls out of the sandbox without end"))
    return Unscorable("script-error", stored("the code raised {error}", error=message_text))


def _is_unsupported(error: str, message: str) -> bool:
    if _NOT_YET.search(message) or _TOO_DEEP in message:
        return True
    if error in ("ModuleNotFoundError", "ImportError", "PermissionError"):
        return True
    if error == "NameError":
        name = _UNDEFINED.search(message)
        return name is not None and hasattr(builtins, name[1])
    return error == "AttributeError" and _is_member(message)


def _is_member(message: str) -> bool:
    """Whether Python has the attribute that was not there: of a module, a type or a value."""
    if module := _MODULE_MEMBER.search(message):
        return module[1] in _MODULES and hasattr(import_module(module[1]), module[2])
    member = _MEMBER.search(message)
    if member is None:
        return False
    home, _, name = member[1].rpartition(".")
    owner = getattr(import_module(home) if home in _MODULES else builtins, name, None)
    return isinstance(owner, type) and hasattr(owner, member[2])


_MODULES = frozenset((
    "asyncio", "base64", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools", "hashlib",
    "itertools", "json", "math", "os", "pathlib", "random", "re", "sys", "time", "typing", "unicodedata",
))  # fmt: skip
"""Modules that Monty has, some of them in part."""


def _is_function(value: object) -> bool:
    return isinstance(value, str) and sandbox.is_function(value)


KINDS = (Kind("python", _program, _evaluate, renders_inside=False, literal=_is_function, verify=_verify),)
