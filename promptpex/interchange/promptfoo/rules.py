"""Rules and cases from promptfoo's tests: what all of them demand holds always, the rest under a condition on inputs.

A test of promptfoo brings its own assertions; a rule of ours says by ``when`` which inputs it concerns. Tests with the
same inputs are one case.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from promptpex.codecs.text.inputs_as_text import has_template
from promptpex.codecs.text.wording import cut
from promptpex.core.records import Case, Check, InputCheck, Rule
from promptpex.interchange.promptfoo.assertions import Promise
from promptpex.interchange.promptfoo.tests import TheirTest
from promptpex.interchange.reading.exchanges import Ids
from promptpex.interchange.reading.foreign_files import At

_LONGEST_VALUE = 160
"""Characters of a value that a sentence shows."""
_VERBS = {
    "contains": ("holds", "hold", "{value}"),
    "icontains": ("holds", "hold", "{value}, in any case"),
    "contains-all": ("holds", "hold", "all of {value}"),
    "contains-any": ("holds", "hold", "one of {value}"),
    "icontains-all": ("holds", "hold", "all of {value}, in any case"),
    "icontains-any": ("holds", "hold", "one of {value}, in any case"),
    "equals": ("is", "be", "{value}"),
    "starts-with": ("starts with", "start with", "{value}"),
    "regex": ("matches", "match", "the pattern {value}"),
    "is-json": ("is", "be", "JSON{schema}"),
    "contains-json": ("holds", "hold", "JSON{schema}"),
    "is-refusal": ("declines", "decline", "to answer"),
    "cost": ("costs", "cost", "at most {threshold} US dollars"),
    "latency": ("takes", "take", "at most {threshold} milliseconds"),
    "perplexity": ("has", "have", "a perplexity of at most {threshold}"),
    "levenshtein": ("is", "be", "at most {threshold} edits away from {value}"),
    "llm-rubric": ("meets", "meet", "this: {plain}"),
    "python": ("passes", "pass", "this Python: {plain}"),
    "javascript": ("passes", "pass", "this JavaScript: {plain}"),
}
"""By kind, what an output does, the bare verb for the kind turned round, and what follows."""


def sentence_of(checks: Sequence[Mapping[str, object]]) -> str:
    """What an output has to do to pass these checks; for several of them, one after the other."""
    return " ".join(dict.fromkeys(_one(check) for check in checks))


def _one(check: Mapping[str, object]) -> str:
    kind = str(check["kind"])
    base, turned = kind.removeprefix("not-"), kind.startswith("not-")
    parts = check.get("assert")
    if isinstance(parts, list):
        inside = " ".join(_one(part) for part in parts if isinstance(part, dict))
        score = f" to a score of {check['threshold']}" if "threshold" in check else ""
        return cut(f"The output passes these{score}: {inside}", 4 * _LONGEST_VALUE)
    verbs = _VERBS.get(base)
    if verbs is None:
        value = f" {_shown(check['value'])}" if "value" in check else ""
        return f"The output passes {kind}{value}."
    does, verb, rest = verbs
    words = rest.format(
        value=_shown(check.get("value")),
        plain=_plain(check.get("value")),
        threshold=check.get("threshold", 5 if base == "levenshtein" else "any number of"),
        schema=" of the given schema" if check.get("value") else "",
    )
    return f"The output {f'must not {verb}' if turned else does} {words.rstrip('.')}."


def _shown(value: object) -> str:
    return cut(" ".join(json.dumps(value, ensure_ascii=False, default=str).split()), _LONGEST_VALUE)


def _plain(value: object) -> str:
    return cut(" ".join(value.split()), _LONGEST_VALUE) if isinstance(value, str) else _shown(value)


_LONG = 80
"""Characters of a value beyond which a condition names its beginning."""
_PATTERN = 400
"""Characters of a pattern that names several values."""
_EXPECTED = "expected"

Inputs = Mapping[str, object]


@dataclass(slots=True)
class _OneCase:
    """A case with all that its tests demand."""

    case: Case
    promises: list[Promise] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Made:
    """Cases and rules.

    Attributes:
        case_of: by the number of a test the id of its case.
        places: by the id of a rule where its first assertion stands.
    """

    cases: tuple[Case, ...]
    rules: tuple[Rule, ...]
    case_of: Mapping[int, str]
    places: Mapping[str, At]


def make(
    tests: Sequence[TheirTest],
    promises_of: Callable[[TheirTest], list[Promise]],
    *,
    texts: Mapping[str, str],
    expected_is_input: bool,
    on_same: Callable[[TheirTest], None],
) -> Made:
    """The cases and rules that these tests come to.

    Args:
        texts: by the name of a metric the sentence of its rule, where the configuration knows one.
        expected_is_input: whether the prompt names ``expected``; else it is the expected output.
        on_same: is called for a test with the inputs of an earlier one.
    """
    names = list(dict.fromkeys(name for test in tests for name in test.variables))
    expected_is_input = expected_is_input or _names_expected(tests)
    by_inputs: dict[str, _OneCase] = {}
    case_of: dict[int, str] = {}
    ids = Ids()
    for test in tests:
        inputs, expected = _inputs(test, names, expected_is_input)
        key = json.dumps({name: _text(value) for name, value in inputs.items()}, sort_keys=True)
        one = by_inputs.get(key)
        if one is None:
            one = by_inputs[key] = _OneCase(_case(test, inputs, expected, ids))
        else:
            on_same(test)
        one.promises += promises_of(test)
        case_of[test.number] = one.case.id
    cases = list(by_inputs.values())
    rules, places = _rules(cases, texts)
    return Made(tuple(one.case for one in cases), tuple(rules), case_of, places)


def _inputs(test: TheirTest, names: Iterable[str], expected_is_input: bool) -> tuple[dict[str, object], str | None]:
    """A value for each variable of any test, and the expected output, which is a variable there."""
    inputs = {name: test.variables.get(name, "") for name in names}
    if expected_is_input:
        return inputs, None
    expected = test.metadata.get(_EXPECTED, inputs.pop(_EXPECTED, None))
    return inputs, expected if isinstance(expected, str) and expected else None


def _names_expected(tests: Sequence[TheirTest]) -> bool:
    """Whether ``expected`` cannot be the expected output: it is not text, or the same inputs have several."""
    expected: dict[str, object] = {}
    for test in tests:
        expected_text = test.variables.get(_EXPECTED, "")
        rest = {name: value for name, value in test.variables.items() if name != _EXPECTED}
        first = expected.setdefault(json.dumps(rest, sort_keys=True, default=str), expected_text)
        if not isinstance(expected_text, str) or expected_text != first:
            return True
    return False


def _case(test: TheirTest, inputs: dict[str, object], expected: str | None, ids: Ids) -> Case:
    named = test.metadata.get("case")
    case_id = named if isinstance(named, str) else f"t{test.number + 1}"
    rule, scenario = test.metadata.get("rule"), test.metadata.get("scenario", test.scenario)
    fields = {
        "rule": rule if isinstance(rule, str) else None,
        "reasoning": "" if isinstance(named, str) else test.description,
        "expected": expected,
        "scenario": scenario if isinstance(scenario, str) else None,
    }
    known_fields = {name: value for name, value in fields.items() if value}
    return Case.model_validate({"id": ids.free(case_id, "x"), "inputs": inputs, "origin": "added", **known_fields})


def _rules(cases: Sequence[_OneCase], texts: Mapping[str, str]) -> tuple[list[Rule], dict[str, At]]:
    """A rule for all promises of one metric of the same cases, and for each that has no metric."""
    concerned: dict[tuple[str, str], dict[str, tuple[Promise, list[int]]]] = {}
    keys: dict[int, str] = {}
    for number, one in enumerate(cases):
        for promise in one.promises:
            key = keys.setdefault(id(promise), "") or promise.key
            keys[id(promise)] = key
            group = concerned.setdefault((promise.name, "" if promise.is_metric else key), {})
            _, numbers = group.setdefault(key, (promise, []))
            if not numbers or numbers[-1] != number:
                numbers.append(number)
    ids = Ids()
    rules: list[Rule] = []
    places: dict[str, At] = {}
    conditions = Conditions([one.case.inputs for one in cases])
    for group in concerned.values():
        for cases_of, promises in _by_cases(group.values()).items():
            for condition in conditions.of(cases_of):
                for rule in _written(promises, condition, texts, ids):
                    rules.append(rule)
                    places[rule.id] = promises[0].at
    return rules, places


def _by_cases(group: Iterable[tuple[Promise, list[int]]]) -> dict[tuple[int, ...], list[Promise]]:
    """Promises of one metric by the cases that they concern: those of the same cases are one rule."""
    by_cases: dict[tuple[int, ...], list[Promise]] = {}
    for promise, numbers in group:
        by_cases.setdefault(tuple(numbers), []).append(promise)
    return by_cases


def _written(
    promises: Sequence[Promise], when: tuple[InputCheck, ...], texts: Mapping[str, str], ids: Ids
) -> Iterator[Rule]:
    """The rule of these promises; several statements for the judge are a rule each."""
    checks = [promise.check for promise in promises if promise.check is not None]
    rubrics = [promise for promise in promises if promise.rubric is not None]
    name = promises[0].name
    if checks and len(rubrics) != 1:
        text = texts.get(name) or sentence_of(checks)
        yield Rule(id=ids.free(name, "x"), rule=text, checks=_records(checks, name), when=when, origin="added")
    for promise in rubrics:
        checks_together = checks if len(rubrics) == 1 else []
        yield Rule(
            id=ids.free(name, "x"),
            rule=" ".join((promise.rubric or "").split()) or sentence_of(checks),
            needs="input" if promise.needs_input else "output",
            checks=_records(checks_together, name),
            decides="partly" if checks_together else "wholly",
            when=when,
            origin="added",
        )


def _records(checks: Iterable[Mapping[str, object]], name: str) -> tuple[Check, ...]:
    """The checks as records; the metric that is the rule's name goes without saying."""
    return tuple(
        Check.model_validate({key: value for key, value in check.items() if (key, value) != ("metric", name)})
        for check in checks
    )


class Conditions:
    """Finds checks on the inputs that hold for some cases and for no others.

    Args:
        inputs: of each case, with the same names in all of them; no two are the same.
    """

    def __init__(self, inputs: Sequence[Inputs]) -> None:
        self._inputs = inputs
        self._names = list(inputs[0]) if inputs else []
        self._texts = {name: [_text(each[name]) for each in inputs] for name in self._names}
        self._counts: dict[tuple[str, int | None], Counter[str]] = {}
        self._needed: list[int] = []

    def of(self, numbers: Sequence[int]) -> Iterator[tuple[InputCheck, ...]]:
        """Conditions that hold together for the cases of these numbers alone: none for all cases, one where the values
        of one variable tell them, else one for each case."""
        if len(numbers) == len(self._inputs):
            yield ()
            return
        by_one = next((check for name in self._names if (check := self._by(name, numbers)) is not None), None)
        if by_one is not None:
            yield (by_one,)
            return
        for number in numbers:
            yield tuple(self._of_one(number))

    def _by(self, name: str, numbers: Sequence[int]) -> InputCheck | None:
        """A check on one variable that holds for these cases alone, if there is one."""
        texts, everywhere = self._texts[name], self._counted(name, None)
        text_counts = Counter(texts[number] for number in numbers)
        if any(everywhere[text] != times for text, times in text_counts.items()):
            return None
        if len(text_counts) == 1:
            return self._equal(name, numbers[0])
        if len(everywhere) - len(text_counts) == 1:
            concerned = set(numbers)
            other = next(number for number in range(len(texts)) if number not in concerned)
            equal = self._equal(name, other)
            return InputCheck(variable=name, kind=f"not-{equal.kind}", value=equal.value)
        pattern = f"^(?:{'|'.join(map(_escaped, text_counts))})$"
        if len(pattern) > _PATTERN or has_template(pattern):
            return None
        return InputCheck(variable=name, kind="regex", value=pattern)

    def _equal(self, name: str, number: int) -> InputCheck:
        """That a variable has the value of a case: the value, or of a long one the beginning that no other has."""
        text, value = self._texts[name][number], self._inputs[number][name]
        if len(text) > _LONG and isinstance(value, str):
            times = self._counted(name, None)[text]
            for length in (_LONG, 2 * _LONG, 4 * _LONG):
                if self._counted(name, length)[text[:length]] == times:
                    return InputCheck(variable=name, kind="starts-with", value=literal(text[:length]))
        return InputCheck(variable=name, kind="equals", value=_literal_inside(value))

    def _of_one(self, number: int) -> Iterator[InputCheck]:
        """Checks that together hold for one case alone: its first variables, as many as tell it from all others."""
        self._needed = self._needed or self._first_alone()
        names = self._names[: self._needed[number]]
        return (self._equal(name, number) for name in names if len(self._counted(name, None)) > 1)

    def _first_alone(self) -> list[int]:
        """Of each case how many of its first variables tell it from all others."""
        needed = [len(self._names)] * len(self._inputs)
        alike = [0] * len(self._inputs)
        for count, name in enumerate(self._names, 1):
            groups: dict[tuple[int, str], int] = {}
            alike = [
                groups.setdefault((group, text), len(groups))
                for group, text in zip(alike, self._texts[name], strict=True)
            ]
            sizes = Counter(alike)
            needed = [min(least, count) if sizes[group] == 1 else least
                      for least, group in zip(needed, alike, strict=True)]  # fmt: skip
        return needed

    def _counted(self, name: str, length: int | None) -> Counter[str]:
        if (name, length) not in self._counts:
            self._counts[name, length] = Counter(text[:length] for text in self._texts[name])
        return self._counts[name, length]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _escaped(text: str) -> str:
    signs = re.sub(r"[\\^$.*+?()[\]{}|/]", r"\\\g<0>", text)
    return signs.replace("\n", "\\n").replace("\r", "\\r").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _literal_inside(value: object) -> object:
    """The value, its texts kept from being taken for templates."""
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, list):
        return [literal(item) if isinstance(item, str) else item for item in value]
    if isinstance(value, dict):
        return {key: _literal_inside(item) for key, item in value.items()}
    return value


def literal(text: str, *, always: bool = False) -> str:
    """The text as a template that writes it; as it is where it holds none, unless ``always``."""
    if not always and not has_template(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\n", "\\n")
    return f'{{{{ "{escaped}" }}}}'
