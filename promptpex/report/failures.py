"""The rules that fail most often, each with examples that are unlike each other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from promptpex.core.records import AnyRun
from promptpex.tables import PartTables, plain_values, records
from promptpex.tables.frames import is_failing, marked

if TYPE_CHECKING:
    import pandas as pd

MOST_EXAMPLES = 3
"""Examples of a rule: the reason that is most frequent, and two others."""

MOST_LOOKED_AT = 5_000
"""Failing outputs of a rule among which examples are chosen."""

MOST_SHAPE = 120
"""Characters of a reason by which it is like another."""

_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|‘[^’]*’|“[^”]*”|`[^`]*`|\d+(?:\.\d+)?")
"""What differs between reasons that are alike: what they quote, and numbers."""

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class FailedOutput:
    """An output that breaks a rule, and how many break it for such a reason.

    Attributes:
        source: who gives the reason, as in ``Verdict.source``.
    """

    model: str
    case: str
    inputs: str
    output: str
    reason: str
    source: str
    alike: int


@dataclass(frozen=True, slots=True)
class FailureExample:
    """A rule that fails: how often, one output that breaks it for the most frequent reason, and others that break it
    for other reasons, if any do."""

    rule: str
    text: str
    broken: int
    scored: int
    model: str
    case: str
    inputs: str
    output: str
    reason: str
    source: str
    failures: tuple[FailedOutput, ...]


class _Failing(NamedTuple):
    """A failing verdict that counts."""

    rule: str
    case: str
    model: str
    repeat: int
    reason: str
    source: str

    @property
    def key(self) -> Key:
        return (self.case, self.model, self.repeat)


def failure_examples(
    run: AnyRun, parts: Iterable[PartTables], by_rule: pd.DataFrame, most: int
) -> Iterator[FailureExample]:
    """The ``most`` rules that fail most often, the worst first.

    Args:
        parts: of the run, one after the other.
        by_rule: the table of rules.
    """
    broken_by, scored_by = Counter[str](), Counter[str]()
    for row in records(by_rule[["rule", "broken", "scored", "usable", "at_least"]]):
        broken_by[row["rule"]] += row["broken"]
        scored_by[row["rule"]] += row["usable"] if row["at_least"] else row["scored"]
    worst = [rule for rule, count in broken_by.most_common(most) if count]
    if not worst:
        return
    texts = {rule.id: rule.rule for rule in run.spec.rules} | run.manifest.mode_rules
    looked_at = _LookedAt(worst)
    for part in parts:
        looked_at.add(part.outputs, part.verdicts)
    for rule, chosen in looked_at.chosen():
        failures = tuple(_failed(one, alike, looked_at.texts.get(one.key, {})) for one, alike in chosen)
        first = failures[0]
        yield FailureExample(
            rule=rule,
            text=texts.get(rule, ""),
            broken=broken_by[rule],
            scored=scored_by[rule],
            model=first.model,
            case=first.case,
            inputs=first.inputs,
            output=first.output,
            reason=first.reason,
            source=first.source,
            failures=failures,
        )


class _LookedAt:
    """The failing outputs among which examples are chosen, from tables that come part by part.

    Attributes:
        texts: inputs and output of each that may be chosen.
    """

    def __init__(self, rules: Sequence[str]) -> None:
        self.texts: dict[Key, Mapping[str, Any]] = {}
        self._by_rule: dict[str, list[_Failing]] = {rule: [] for rule in rules}
        self._rules_broken: Counter[Key] = Counter()

    def add(self, rows: pd.DataFrame, cube: pd.DataFrame) -> None:
        """Adds some outputs and the verdicts on them, in the order of the run."""
        broken = cube.loc[is_failing(cube) & marked(cube["rule"], self._by_rule.__contains__), list(_Failing._fields)]
        columns = [plain_values(broken[name], missing="") for name in _Failing._fields]
        every = [_Failing(*fields) for fields in zip(*columns, strict=True)]
        keys_kept: dict[Key, None] = {}
        for one in every:
            if len(of_rule := self._by_rule[one.rule]) < MOST_LOOKED_AT:
                of_rule.append(one)
                keys_kept[one.key] = None
        if keys_kept:
            pairs = {(one.rule, one.key) for one in every if one.key in keys_kept}
            self._rules_broken.update(key for _, key in pairs)
            self.texts |= _texts(rows, list(keys_kept))

    def chosen(self) -> Iterator[tuple[str, list[tuple[_Failing, int]]]]:
        """Of each rule the examples, one for each of the most frequent reasons, and how many have such a reason. An
        output that breaks this rule alone tells more of it than one that breaks all, and one is shown once if others
        can be."""
        keys_shown: set[Key] = set()
        for rule, many in self._by_rule.items():
            groups: dict[str, list[_Failing]] = defaultdict(list)
            for one in many:
                groups[_shape(one.reason)].append(one)
            largest = sorted(groups.values(), key=len, reverse=True)[:MOST_EXAMPLES]
            examples: list[tuple[_Failing, int]] = []
            for group in largest:
                models = {one.model for one, _ in examples}
                best = min(
                    group, key=lambda one: (one.key in keys_shown, self._rules_broken[one.key], one.model in models)
                )
                keys_shown.add(best.key)
                examples.append((best, len(group)))
            yield rule, examples


def _shape(reason: str) -> str:
    """A reason without its particulars."""
    return _PARTICULARS.sub("…", reason[: 4 * MOST_SHAPE])[:MOST_SHAPE]


def _texts(rows: pd.DataFrame, keys: Sequence[Key]) -> Mapping[Key, Mapping[str, Any]]:
    """The texts of these outputs; those that a cut file has lost are left out."""
    # Comparing with one text would lose a NUL at its end (numpy); looking it up does not.
    cases, models = {case for case, _, _ in keys}, {model for _, model, _ in keys}
    near = marked(rows["case"], cases.__contains__) & marked(rows["model"], models.__contains__)
    names = ["case", "model", "repeat", "inputs", "output"]
    columns = [plain_values(column, missing="") for _, column in rows.loc[near, names].items()]
    wanted_keys = set(keys)
    return {
        (case, model, repeat): {"inputs": inputs, "output": output}
        for case, model, repeat, inputs, output in zip(*columns, strict=True)
        if (case, model, repeat) in wanted_keys
    }


def _failed(one: _Failing, alike: int, texts: Mapping[str, Any]) -> FailedOutput:
    inputs, output = texts.get("inputs", ""), texts.get("output", "")
    return FailedOutput(one.model, one.case, inputs, output, one.reason, one.source, alike)
