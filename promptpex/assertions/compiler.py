"""Assertions as written, read and compiled: what is known before there is an output, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.assertions import model, time_limits
from promptpex.assertions.javascript import js_values, v8, value_templates
from promptpex.assertions.kinds.json import steps_of
from promptpex.assertions.model import Assertion, Unscorable
from promptpex.codecs.text.inputs_as_text import has_template
from promptpex.codecs.text.wording import cut
from promptpex.core.errors import CheckError
from promptpex.core.judge_questions import question_of_rubric
from promptpex.core.time_allowance import Allowance

if TYPE_CHECKING:
    from promptpex.core.records import Check


KEYS = frozenset(
    ("kind", "type", "value", "threshold", "weight", "metric", "transform", "unit", "dialect", "n", "config")
) | {"ignore_case", "exact", "path", "assert", "asserts", "provider", "variable"}
UNITS = ("words", "spoken-words", "sentences", "lines", "characters")
DIALECTS = ("ecmascript", "unicode", "python")
SET = "assert-set"
RUBRIC = "llm-rubric"
"""promptfoo's name for what a judge decides; read as a question."""


def assertion_of(data: object) -> Assertion:
    """The assertion that a mapping or a ``records.Check`` says.

    Raises:
        Unscorable: code ``bad-check``, with what is wrong in one sentence.
    """
    if isinstance(data, Assertion):
        return data
    if isinstance(data, Mapping):
        return _from_mapping(data)
    from promptpex.core.records import Check

    if isinstance(data, Check):
        return from_check(data)
    raise _bad(f"an assertion must be a mapping with a kind, not {_named(data)}")


def from_check(check: Check) -> Assertion:
    """A record as an assertion; keys that were not set stay absent."""
    names = check.model_fields_set & KEYS - {"asserts"}
    fields: dict[object, object] = {name: getattr(check, name) for name in names}
    if "threshold" in fields and fields["threshold"] is None:
        del fields["threshold"]
    for name in ("metric", "path"):
        if name in fields and fields[name] is None:
            del fields[name]
    if "value" not in fields and check.value is not None:
        fields["value"] = check.value
    if check.asserts is not None:
        fields["assert"] = [from_check(part) for part in check.asserts]
    return _from_mapping(fields | {"kind": check.kind})


def _from_mapping(data: Mapping[object, object], inside: bool = False) -> Assertion:
    kind = _kind(data)
    if kind.removeprefix("not-") == RUBRIC and isinstance(data.get("value"), str):
        kind, question = question_of_rubric(kind, str(data["value"]))
        data = {**data, "value": question}
    base = kind.removeprefix("not-")
    if base == SET and inside:
        raise _bad("an assert-set cannot stand inside an assert-set; write its assertions in the outer one")
    return Assertion(
        kind=kind,
        value=data.get("value", js_values.MISSING),
        threshold=_number(data, "threshold", None),
        weight=_number(data, "weight", 1.0) or 0.0,
        metric=_text(data, "metric"),
        transform=_text(data, "transform"),
        unit=_choice(data, "unit", UNITS),
        dialect=_choice(data, "dialect", DIALECTS),
        ignore_case=_yes_or_no(data, "ignore_case"),
        exact=_yes_or_no(data, "exact"),
        path=_path(data, base),
        n=_order(data),
        config=data.get("config"),
        asserts=_parts(data, base),
        unknown=tuple(str(key) for key in data if key not in KEYS),
    )


def _kind(data: Mapping[object, object]) -> str:
    kind = data.get("kind", data.get("type"))
    if not isinstance(kind, str):
        raise _bad("an assertion has no kind; write kind: contains, or another kind")
    return kind


def _number(data: Mapping[object, object], key: str, default: float | None) -> float | None:
    if key not in data:
        return default
    value = data[key]
    if not js_values.is_number(value) or not math.isfinite(js_values.as_double(value)):
        raise _bad(f"the {key} must be a number, not {_named(value)}")
    return float(value)


def _text(data: Mapping[object, object], key: str) -> str | None:
    if key not in data:
        return None
    value = data[key]
    if isinstance(value, str):
        return value
    raise _bad(f"the {key} must be a text, not {_named(value)}")


def _choice(data: Mapping[object, object], key: str, choices: tuple[str, ...]) -> str:
    value = data.get(key, choices[0])
    if value not in choices:
        raise _bad(f"the {key} must be one of {', '.join(choices)}, not {_named(value)}")
    return str(value)


def _path(data: Mapping[object, object], base: str) -> str | None:
    path = _text(data, "path")
    if path is not None and base == SET:
        raise _bad("an assert-set has no path; give one to its assertions")
    return path


def _yes_or_no(data: Mapping[object, object], key: str) -> bool:
    value = data.get(key, False)
    if isinstance(value, bool):
        return value
    raise _bad(f"{key} must be true or false, not {_named(value)}")


def _order(data: Mapping[object, object]) -> int:
    value = data.get("n", 1)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 20:
        raise _bad(f"n must be a whole number from 1 to 20, not {_named(value)}")
    return value


def _parts(data: Mapping[object, object], base: str) -> tuple[Assertion, ...] | None:
    if base != SET:
        return None
    parts = data.get("assert", data.get("asserts"))
    if not isinstance(parts, list | tuple):
        raise _bad("an assert-set needs a list under assert")
    return tuple(part if isinstance(part, Assertion) else _inner(part) for part in parts)


def _inner(part: object) -> Assertion:
    if not isinstance(part, Mapping):
        raise _bad(f"an assertion must be a mapping with a kind, not {_named(part)}")
    return _from_mapping(part, inside=True)


def _named(value: object) -> str:
    try:
        value_text = "null" if value is None else repr(value)
    except ValueError:
        return "a number of so many digits"
    return cut(value_text, 40)


def _bad(message: str) -> Unscorable:
    return Unscorable("bad-check", message)


MAX_CHECKS = 20_000
"""In one file, those inside of sets included: about 1.5 s of compiling."""


def count_checks(checks: Iterable[object]) -> int:
    parts = (check.get("assert", check.get("asserts")) if isinstance(check, Mapping) else None for check in checks)
    return sum(1 + (len(inside) if isinstance(inside, list) else 0) for inside in parts)


def _time_of_one() -> Allowance:
    return Allowance(time_limits.CHECKS_SECONDS)


@dataclass(frozen=True, slots=True)
class Step:
    """An assertion made ready: its kind, and its plan where the value needs no variables.

    ``problem`` is set where it cannot be used as written; ``time`` is what it may take on all outputs.
    """

    assertion: Assertion
    kind: model.Kind[Any] | None = None
    plan: Any = None
    planned: bool = False
    steps: tuple[Step, ...] = ()
    problem: Unscorable | None = None
    time: Allowance = field(default_factory=_time_of_one, compare=False)


@dataclass(frozen=True, slots=True)
class Compiled:
    """Assertions made ready for outputs.

    Attributes:
        steps: one per assertion, in order.
        warnings: sentences about what will be ignored, such as misspelt keys.
    """

    steps: tuple[Step, ...]
    warnings: tuple[str, ...] = field(default=(), compare=False)


def compile_checks(checks: Sequence[Check | Mapping[str, object]], *, where: str = "") -> Compiled:
    """Make checks ready, refusing what cannot be used as written.


    Raises:
        CheckError: an unknown kind (with a suggestion), a value of the wrong type, a pattern, schema or template that
            does not compile, a missing threshold. One sentence; the caller adds file and line.
    """
    with time_limits.check_time():
        prepared = prepare(checks)
        compile_patterns([prepared])
        return require_usable(prepared, where)


def require_usable(made: Compiled, where: str = "") -> Compiled:
    """What ``compile_checks`` gives, of checks that are ``prepare``d; whoever has many announces them first.

    Raises:
        CheckError: see ``compile_checks``.
    """
    with time_limits.check_time():
        for step in made.steps:
            _strict(step, where)
    return Compiled(made.steps, tuple(_warnings(made.steps, where)))


def _strict(step: Step, where: str) -> None:
    try:
        with time_limits.TimedCheck(step.time, each=time_limits.READING_SECONDS):
            _refuse(step)
    except Unscorable as error:
        raise CheckError(f"{where}: {error.message}" if where else error.message) from error


def _refuse(step: Step) -> None:
    if step.problem is not None:
        raise step.problem
    for part in step.steps:
        _refuse(part)
    if step.kind is not None and step.kind.verify is not None and step.planned:
        step.kind.verify(step.assertion, step.plan)
    if step.kind is not None and step.kind.refuse is not None:
        step.kind.refuse(step.assertion)
    if step.assertion.path is not None:
        steps_of(step.assertion.path)


def _warnings(steps: Iterable[Step], where: str) -> Iterable[str]:
    for step in steps:
        for key in step.assertion.unknown:
            yield f"{where + ': ' if where else ''}{step.assertion.kind} has no key {key!r}; it is ignored"
        yield from _warnings(step.steps, where)


def prepare(checks: Iterable[object]) -> Compiled:
    """Make checks ready; one that cannot be used gives unscored results with its reason, its neighbours stay."""
    with time_limits.check_time():
        return Compiled(tuple(_step(check) for check in checks))


def _step(check: object) -> Step:
    assertion = None
    try:
        assertion = assertion_of(check)
        with time_limits.TimedCheck(each=time_limits.READING_SECONDS):
            return _planned(assertion)
    except Unscorable as error:
        problem = error
    except RecursionError:
        problem = Unscorable("bad-value", "its value nests too deep")
    except Exception as error:  # numbers of any length, objects of any kind: what a check holds is hostile
        problem = Unscorable("bad-value", f"it cannot be used: {detail_of(error)}")
    return Step(assertion or _nameless(check), problem=problem)


def _nameless(check: object) -> Assertion:
    """A stand-in for what could not be read, so that results have a kind to name."""
    kind = check.get("kind", check.get("type")) if isinstance(check, Mapping) else None
    return Assertion(kind=kind if isinstance(kind, str) and kind else "unreadable")


def _planned(assertion: Assertion) -> Step:
    if assertion.asserts is not None:
        return Step(assertion, steps=tuple(_step(part) for part in assertion.asserts))
    kind = model.kind_named(assertion.base)
    if kind.takes_template(assertion.value) and _holds_template(assertion.value, kind.renders_inside):
        _check_templates(assertion.value)
        return Step(assertion, kind)
    return Step(assertion, kind, kind.plan(assertion, assertion.value), planned=True)


def named_variables(checks: Iterable[Check]) -> frozenset[str]:
    return frozenset(name for check in checks for name in _named_in(check))


def _named_in(check: Check) -> Iterable[str]:
    for part in check.asserts or ():
        yield from _named_in(part)
    try:
        kind = model.kind_named(check.kind.removeprefix("not-")) if check.asserts is None else None
        rendered = kind is not None and kind.takes_template(check.value)
        if kind is not None and rendered and _holds_template(check.value, kind.renders_inside):
            for text in _texts(check.value):
                yield from value_templates.names_in(text) if has_template(text) else ()
    except Unscorable:
        return


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | Mapping):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _holds_template(value: object, inside: bool = True) -> bool:
    if isinstance(value, str):
        return has_template(value)
    if isinstance(value, list | tuple):
        return any(isinstance(item, str) and has_template(item) for item in value)
    return inside and isinstance(value, Mapping) and any(_holds_template(item) for item in value.values())


def _check_templates(value: object) -> None:
    for text in _texts(value):
        value_templates.check_syntax(text)


def compile_patterns(made: Iterable[Compiled]) -> None:
    """Compile the patterns of these checks now, in few calls: ``require_usable`` asks for one after the other."""
    with time_limits.check_time() as allowance, allowance.piece():
        patterns = [pattern for compiled in made for step in compiled.steps for pattern in _patterns(step)]
        if len(patterns) > 1:
            v8.REGEXES.prefetch(patterns)


def _patterns(step: Step) -> Iterable[v8.Match]:
    for part in step.steps:
        yield from _patterns(part)
    if step.planned and step.assertion.base == "regex" and step.assertion.dialect != "python":
        yield step.plan, step.assertion.flags, ""


def start_v8(compiled: Compiled) -> None:
    """Start V8 now where these assertions will need it; it comes up while the caller reads on."""
    if any(_needs_v8(step) for step in compiled.steps):
        v8.PROCESS.start()


def _needs_v8(step: Step) -> bool:
    assertion = step.assertion
    scripted = assertion.base == "javascript" or assertion.transform is not None
    return scripted or assertion.base == "regex" or any(_needs_v8(part) for part in step.steps)


def detail_of(error: Exception) -> str:
    """The kind of an unforeseen error and the first words of what it says, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
