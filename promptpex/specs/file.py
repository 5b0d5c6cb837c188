"""The spec file: read with every mistake named by its line, written so that people's hands are respected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, Problem, Rule, Spec
from promptpex.documents.editable_file import SPEC, Reading, read, update
from promptpex.documents.record_problems import Findings
from promptpex.documents.yaml_reader import Keys
from promptpex.judging.modes import own_rules
from promptpex.promptfile.find_prompts import of_prompt_beside


def read_spec(path: Path | str) -> Spec:
    """The spec in this file, each rule with the origin it has in truth.

    A rule that says no origin counts as ``added``; an extracted one whose words no longer fit its ``content`` hash
    counts as ``edited``.
    """
    return examine(path).require()


def rules_in(path: Path) -> tuple[Rule, ...]:
    """The rules of the spec in this file; none where there is no such file."""
    return read_spec(path).rules if path.exists() else ()


def examine(path: Path | str) -> Reading[Spec]:
    """What the file says, and all its problems, not just the first."""
    from promptpex.assertions import check_time

    with check_time():
        reading = read(SPEC, path, checker=_SpecChecker())
    reading = replace(reading, record=of_prompt_beside(reading.record, path))
    if reading.doc is None or reading.record.rules or reading.problems:
        return reading
    problem = Problem(
        path=str(path),
        line=reading.line("rules"),
        message="the spec has no rules",
        suggestion="add some, or extract them from the prompt",
    )
    return replace(reading, problems=(problem,))


def write_spec(path: Path | str, spec: Spec, *, by_hand: bool = False, schema: str | None = None) -> Spec:
    """Writes the spec, or brings the file up to it with the least edits, as ``documents.document.update`` does.

    Raises:
        OSError: it cannot be written.
    """
    from promptpex.assertions import check_time

    with check_time():
        return of_prompt_beside(update(SPEC, path, spec, by_hand=by_hand, schema=schema, checker=_SpecChecker()), path)


class _SpecChecker:
    """What has to hold of rules and checks beyond their shape."""

    def admits(self, data: Mapping[str, Any], findings: Findings) -> bool:
        """Whether the checks are few enough to be compiled; their patterns are by then, in few calls."""
        from promptpex.assertions import MAX_CHECKS, compile_patterns, count_checks, prepare

        rules, checks = (data[key] if isinstance(data.get(key), list) else [] for key in ("rules", "input_checks"))
        check_lists = [rule.get(key) for rule in rules if isinstance(rule, dict) for key in ("checks", "when")]
        checks = [check for part in (*check_lists, checks) if isinstance(part, list) for check in part]
        if count_checks(checks) > MAX_CHECKS:
            message = f"the spec has more than {MAX_CHECKS:,} checks"
            findings.add(message, "rules", suggestion="divide its rules among several specs")
            return False
        compile_patterns([prepare(checks)])
        return True

    def check(self, values: Mapping[str, Any], findings: Findings) -> None:
        _check_ids(values["rules"], findings)
        _check_order(values["rules"], findings)
        for rule in values["rules"]:
            place = findings.places["rules", rule.id]
            for position, check in enumerate(rule.checks):
                _compile(check, f"rule {rule.id}", (*place, "checks", position), findings)
            for position, check in enumerate(rule.when):
                _compile(check, f"the condition of rule {rule.id}", (*place, "when", position), findings)
        for position, check in enumerate(values["input_checks"]):
            _compile(check, f"the input check of {check.variable}", findings.places["input_checks", position], findings)


def _check_ids(rules: tuple[Rule, ...], findings: Findings) -> None:
    reserved, ids = own_rules(), {rule.id for rule in rules}
    for rule in rules:
        place = findings.places["rules", rule.id]
        if rule.id in reserved:
            message = f"the rule id {rule.id!r} is that of a rule of a judge mode"
            findings.add(message, *place, "id", suggestion="give it another")
        if not rule.rule.strip():
            findings.add(f"the rule {rule.id!r} is empty", *place, "rule")
        if rule.inverse_id in ids:
            findings.add(f"{rule.inverse_id!r} is the inverse of {rule.id!r}; no rule can have that id", *place, "id")


def _check_order(rules: tuple[Rule, ...], findings: Findings) -> None:
    after = {rule.id: rule.after for rule in rules}
    circular, hints = in_circles(after), 0
    for rule in rules:
        place = (*findings.places["rules", rule.id], "after")
        if rule.after is not None and rule.after not in after:
            near = did_you_mean(rule.after, after) if hints < _MOST_HINTS else ""
            message = f"the rule {rule.id!r} comes after {rule.after!r}, which is not a rule"
            findings.add(message, *place, suggestion=near or "name a rule of this spec")
            hints += 1
        elif rule.id in circular:
            direct = rule.after == rule.id
            message = f"the rule {rule.id!r} comes after itself{'' if direct else f', by way of {rule.after!r}'}"
            findings.add(message, *place, suggestion=f"leave 'after' out{'' if direct else ' of one of them'}")


_MOST_HINTS = 20
"""Unknown rules for which a like name is looked for among all rules, which takes long where there are thousands."""


def in_circles(after: Mapping[str, str | None]) -> set[str]:
    """The rules that come after themselves, in time linear in their number."""
    seen: set[str] = set()
    circular: set[str] = set()
    for start in after:
        place: dict[str, int] = {}
        rule: str | None = start
        while rule is not None and rule not in seen and rule not in place:
            place[rule] = len(place)
            rule = after.get(rule)
        if rule in place:
            circular.update(list(place)[place[rule] :])
        seen.update(place)
    return circular


def _compile(check: Check, where: str, place: Keys, findings: Findings) -> None:
    from promptpex.assertions import compile_checks

    try:
        compiled = compile_checks([check], where=where)
    except CheckError as failure:
        findings.add(failure.message, *place)
        return
    for warning in compiled.warnings:
        findings.add(warning, *place, severity="warning")
