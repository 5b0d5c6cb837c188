"""What of two runs can be compared: outputs that are not the same to the letter, by rules that were decided alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.core.ids import digest, text_digest
from promptpex.core.records import Manifest
from promptpex.report.comparison.what_changed import changed_rules
from promptpex.report.run_tables import RunTables
from promptpex.tables import Cells, Rows

JUDGING = ("judge_mode", "judge_sees_input", "judge_sees_prompt", "judge_examples", "quorum", "min_agreement")
"""Settings that say how judges are asked, and which of their verdicts count."""
MARK = 12
"""Hex digits by which the answers to a case are known again."""


@dataclass(frozen=True, slots=True)
class Comparable:
    """What of two runs can be compared.

    Attributes:
        same_texts: for each model the cases whose answers are the same in both: there only verdicts can have changed.
        unlike: the rules that read otherwise in the two runs, or were judged otherwise.
        rows: of both, the outputs by the other rules; None where all rules are alike.
    """

    same_texts: tuple[frozenset[str], ...]
    unlike: tuple[str, ...] = ()
    rows: tuple[Cells, Cells] | None = None


def comparable(before: RunTables, after: RunTables, models: Sequence[tuple[str, str]]) -> Comparable:
    """What of two runs can be compared, for models by their names in both."""
    old, new = text_marks(before), text_marks(after)
    cases = dict.fromkeys(case for _, case in new)
    same = (
        frozenset(case for case in cases if old.get((was, case), "") == new.get((now, case))) for was, now in models
    )
    unlike = _unlike(before, after)
    rows = (_without(before, unlike), _without(after, unlike)) if unlike else None
    return Comparable(tuple(same), tuple(unlike), rows)


def text_marks(made: RunTables) -> Mapping[tuple[str, str], str]:
    """By model and case a hash of the answers in all repeats; none where one is missing."""
    texts: defaultdict[tuple[str, str], list[str | None]] = defaultdict(list)
    for model, case, text in made.rows.query("m.name, c.id, o.text"):
        texts[model, case].append(None if text is None else text_digest(text, MARK))
    return {key: digest(sorted(filter(None, own)), MARK) for key, own in texts.items() if None not in own}


def _unlike(before: RunTables, after: RunTables) -> list[str]:
    changed = {rule.id for rule in changed_rules(before.run, after.run)}
    if _judged_by(before.run.manifest) != _judged_by(after.run.manifest):
        changed |= _judged(before) | _judged(after)
    return [rule for rule in dict.fromkeys([*after.rules, *before.rules]) if rule in changed]


def _judged_by(manifest: Manifest) -> list[Any]:
    """The judges, by what their names stand for, and how they were asked."""
    judges = [manifest.named.get(judge, judge) for judge in manifest.judges]
    return [judges, manifest.mode_rules, *(manifest.settings.get(name) for name in JUDGING)]


def _judged(made: RunTables) -> set[str]:
    """The rules on which a judge's verdict counts."""
    return set(made.database.listed("SELECT DISTINCT rule FROM verdict WHERE source GLOB 'judge*' AND counts"))


def _without(made: RunTables, rules: Collection[str]) -> Cells:
    """The outputs of a run, counted by the verdicts on other rules than these."""
    return Cells.of(Rows(made.database, made.database.judged_without(rules)))
