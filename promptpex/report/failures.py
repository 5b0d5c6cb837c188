"""The rules that fail most often, each with examples that are unlike each other."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from promptpex.report.run_tables import RunTables
from promptpex.tables import RunDatabase, Table
from promptpex.tables.database_sql import JOINED

MOST_EXAMPLES = 3
"""Examples of a rule: the reason that is most frequent, and two others."""

MOST_LOOKED_AT = 5_000
"""Failing outputs of a rule among which examples are chosen."""

MOST_SHAPE = 120
"""Characters of a reason by which it is like another."""

_PARTICULARS = re.compile(r"'[^']*'|\"[^\"]*\"|‘[^’]*’|“[^”]*”|`[^`]*`|\d+(?:\.\d+)?")
"""What differs between reasons that are alike: what they quote, and numbers."""


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

    key: int
    model: str
    case: str
    reason: str
    source: str


FAILING = f"""
    FROM verdict v JOIN ruled r ON r.key = v.key AND r.rule = v.rule {JOINED.format("v")}
    WHERE v.counts AND v.status = 'fail' AND r.cut IS NULL
"""
"""The verdicts that say that an output breaks a rule, and that the counts of rules have."""


def failure_examples(made: RunTables, by_rule: Table, most: int) -> Iterator[FailureExample]:
    """The ``most`` rules that fail most often, the worst first.

    Args:
        made: the run.
        by_rule: the table of rules.
    """
    broken_by, scored_by = Counter[str](), Counter[str]()
    for row in by_rule.records():
        broken_by[row["rule"]] += row["broken"]
        scored_by[row["rule"]] += row["usable"] if row["at_least"] else row["scored"]
    worst = [rule for rule, count in broken_by.most_common(most) if count]
    if not worst:
        return
    texts = {rule.id: rule.rule for rule in made.run.spec.rules} | made.run.manifest.mode_rules
    for rule, chosen in _chosen(made.database, worst):
        failures = tuple(_failed(made.database, one, alike) for one, alike in chosen)
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


def _chosen(run: RunDatabase, rules: Sequence[str]) -> Iterator[tuple[str, list[tuple[_Failing, int]]]]:
    """Of each rule the examples, one for each of the most frequent reasons, and how many have such a reason. An output
    that breaks this rule alone tells more of it than one that breaks all, and one is shown once if others can be."""
    run.need("ruled", "ruled_rules", "output_keys")
    by_rule = {rule: _looked_at(run, rule) for rule in rules}
    keys = {one.key for failing in by_rule.values() for one in failing}
    with run.chosen(rules) as of_rules, run.chosen(keys) as of_outputs:
        rules_broken = dict(
            run.query(
                f"SELECT v.key, count(DISTINCT v.rule) {FAILING} AND v.rule IN {of_rules} AND v.key IN {of_outputs} "
                "GROUP BY v.key"
            )
        )
    keys_shown: set[int] = set()
    for rule, failing in by_rule.items():
        groups: dict[str, list[_Failing]] = defaultdict(list)
        for one in failing:
            groups[_shape(one.reason)].append(one)
        examples: list[tuple[_Failing, int]] = []
        for group in sorted(groups.values(), key=len, reverse=True)[:MOST_EXAMPLES]:
            models = {one.model for one, _ in examples}
            best = min(group, key=lambda one: (one.key in keys_shown, rules_broken[one.key], one.model in models))
            keys_shown.add(best.key)
            examples.append((best, len(group)))
        yield rule, examples


def _looked_at(run: RunDatabase, rule: str) -> list[_Failing]:
    """The failures of a rule among which examples are chosen."""
    fields = "v.key, m.name, c.id, coalesce(v.reason, ''), coalesce(v.source, '')"
    sql = f"SELECT {fields} {FAILING} AND v.rule = CAST(? AS TEXT) ORDER BY v.place LIMIT {MOST_LOOKED_AT}"
    return [_Failing(*fields) for fields in run.query(sql, [rule])]


def _shape(reason: str) -> str:
    """A reason without its particulars."""
    return _PARTICULARS.sub("…", reason[: 4 * MOST_SHAPE])[:MOST_SHAPE]


def _failed(run: RunDatabase, one: _Failing, alike: int) -> FailedOutput:
    """A failing output; without texts where a cut file has lost it."""
    sql = "SELECT coalesce(c.inputs, ''), coalesce(o.text, '') FROM output o JOIN cases c ON c.number = o.key >> 38"
    inputs, output = run.query(f"{sql} WHERE o.key = ? ORDER BY o.place DESC", [one.key]).fetchone() or ("", "")
    return FailedOutput(one.model, one.case, inputs, output, one.reason, one.source, alike)
