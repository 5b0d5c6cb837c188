"""Compiling assertions: what can be worked out before there is an output, and what is refused as it is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from promptpex.assertions import parse, registry, time_limits
from promptpex.assertions.javascript import v8, value_templates
from promptpex.assertions.kinds import json_path
from promptpex.assertions.model import Assertion, Unscorable
from promptpex.codecs.text.inputs_as_text import has_template
from promptpex.core.errors import CheckError
from promptpex.core.time_allowance import Allowance

if TYPE_CHECKING:
    from promptpex.core.records import Check


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
    kind: registry.Kind[Any] | None = None
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
        json_path.steps_of(step.assertion.path)


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
        assertion = parse.assertion(check)
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
    kind = registry.kind(assertion.base)
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
        kind = registry.kind(check.kind.removeprefix("not-")) if check.asserts is None else None
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
