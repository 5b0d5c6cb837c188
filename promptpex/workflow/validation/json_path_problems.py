"""What is wrong between rules that look at values of a JSON output and those that say that the output is JSON.

A check with a ``path`` cannot look at an output that is not JSON: it leaves it unscored, never kept. Such an output is
broken only if another rule says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from promptpex.codecs.text.wording import named
from promptpex.core.records import Check, Problem, Rule, Severity, Spec
from promptpex.documents.editable_file import Reading
from promptpex.judging.rule_features import has_condition

_JSON_KINDS = frozenset(("is-json", "contains-json"))
_JSON = re.compile(r"\bJSON\b")


def paths_without_json(path: Path, reading: Reading[Spec]) -> list[Problem]:
    """The rules whose checks have a ``path``, where no rule demands JSON (a warning) or they do not come ``after`` the
    one that does (an info); each time one problem, at the first of them.

    Args:
        path: the spec's file.
        reading: the spec, with its lines.
    """
    rules = {rule.id: rule for rule in reading.record.rules if not rule.stale}
    demanding = {rule.id for rule in rules.values() if _demands_json(rule)}
    looking = [rule.id for rule in rules.values() if _has_path(rule.checks) and not _follows(rule, rules, demanding)]
    if not looking:
        return []
    which = f"the rule {looking[0]!r} looks" if len(looking) == 1 else f"the rules {named(looking)} look"
    severity: Severity = "info" if demanding else "warning"
    if demanding:
        first = next(rule for rule in rules if rule in demanding)
        message = f"{which} at values of a JSON output, also of one that breaks {first}, which demands JSON"
        suggestion = (
            f"add `after: {first}`: such an output then fails {first} alone, and no judge is asked about the rest"
        )
    else:
        message = (
            f"{which} at values of a JSON output, and no rule requires JSON: an output that is not JSON breaks nothing"
        )
        suggestion = "add a rule with the check {kind: is-json}, and name it in these under 'after'"
    line = reading.lines.get(looking[0])
    return [Problem(path=str(path), line=line, message=message, suggestion=suggestion, severity=severity)]


def _follows(rule: Rule, rules: Mapping[str, Rule], demanding: Collection[str]) -> bool:
    """Whether a rule demands JSON itself or comes after one that does, directly or not."""
    seen: set[str] = set()
    at: Rule | None = rule
    while at is not None and at.id not in seen:
        if at.id in demanding:
            return True
        seen.add(at.id)
        at = rules.get(at.after or "")
    return False


def _demands_json(rule: Rule) -> bool:
    """Whether every output that is not JSON breaks a rule: by its checks or, where a judge decides it, by its words."""
    if not rule.when and any(map(_is_whole_json, rule.checks)):
        return True
    return rule.needs_judge and not has_condition(rule) and _JSON.search(rule.rule) is not None


def _is_whole_json(check: Check) -> bool:
    whole = check.kind in _JSON_KINDS and check.path is None and check.transform is None and check.weight != 0
    return whole or (check.threshold is None and any(map(_is_whole_json, check.asserts or ())))


def _has_path(checks: Sequence[Check]) -> bool:
    return any(check.path is not None or _has_path(check.asserts or ()) for check in checks)
