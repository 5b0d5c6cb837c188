"""Weighing the verdicts of a run again: which judges count, by another least agreement with people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from promptpex.core.errors import ConfigError
from promptpex.core.records import UNTRUSTED, Run, Spec, Verdict
from promptpex.judging.verdict_precedence import Quorum, after_broken, closed_by_code, weigh


def reweighed(run: Run, min_agreement: float) -> Run:
    """The run as if it had been judged with this least agreement; nobody is asked, and its folder stays as it is.

    Raises:
        ConfigError: its judges decided on rules of their judge mode, such as the prompt as a whole.
    """
    if run.manifest.mode_rules:
        rules = ", ".join(run.manifest.mode_rules)
        raise ConfigError(f"--min-agreement is about rules of the spec, and a judge mode added its own here: {rules}")
    quorum: Quorum = "unanimous" if run.manifest.settings.get("quorum") == "unanimous" else "majority"
    settings = {**run.manifest.settings, "min_agreement": min_agreement}
    return run.replace(
        manifest=run.manifest.replace(settings=settings),
        verdicts=tuple(_weighed(run.spec, run.verdicts, quorum, min_agreement)),
    )


def _weighed(spec: Spec, verdicts: Sequence[Verdict], quorum: Quorum, min_agreement: float) -> list[Verdict]:
    judged: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.source.startswith("judge:"):
            judged[verdict.source].append(verdict)
    by_judges = {(verdict.key, verdict.rule) for group in judged.values() for verdict in group}
    checked = [verdict for verdict in verdicts if not _follows(verdict, by_judges)]
    rules = [rule for rule in spec.rules if not rule.stale]
    checked_keys = {(verdict.key, verdict.rule) for verdict in checked}
    judged_rules = {rule for _, rule in by_judges}
    closed = [
        one
        for one in closed_by_code(rules, checked)
        if one.rule in judged_rules and (one.key, one.rule) not in checked_keys
    ]
    again = weigh(spec, [*checked, *closed], list(judged.values()), quorum=quorum, min_agreement=min_agreement)
    place = {key: number for number, key in enumerate(dict.fromkeys(verdict.key for verdict in verdicts))}
    rank = {rule: number for number, rule in enumerate(dict.fromkeys(verdict.rule for verdict in verdicts))}
    return sorted(after_broken(rules, again), key=lambda one: (place[one.key], rank.get(one.rule, -1)))


def _follows(verdict: Verdict, by_judges: set[tuple[tuple[str, str, int], str]]) -> bool:
    """Whether a verdict is a judge's, or what judges' verdicts came to."""
    if verdict.source.startswith(("judge:", "judges:")):
        return True
    of_judges = verdict.source == "none" and verdict.unscored in (UNTRUSTED, "after")
    return of_judges and (verdict.key, verdict.rule) in by_judges
