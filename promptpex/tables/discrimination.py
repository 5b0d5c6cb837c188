"""Discrimination: what a suite tells apart, once there are verdicts.

A case that all models pass says nothing of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from promptpex.core.records import NOT_CONCERNED
from promptpex.tables.run_rows import Source, database_of, rows_of


@dataclass(frozen=True, slots=True)
class Discrimination:
    """What the verdicts say about the cases and rules themselves.

    Attributes:
        models: how many models have scored outputs; with one, the next two lists say little.
        passed_by_all: cases whose every scored output complies, on every model.
        failed_by_all: cases whose every scored output breaks a rule, on every model.
        unscored: cases with no scored output at all.
        never_broken: rules that were scored and that no output has broken.
        never_scored: rules that have no pass and no fail, though they concern an output.
        never_concerned: rules whose condition no output meets.
        untriggered: cases for a rule with a condition that none of their outputs was found to meet.
    """

    models: int
    passed_by_all: tuple[str, ...]
    failed_by_all: tuple[str, ...]
    unscored: tuple[str, ...]
    never_broken: tuple[str, ...]
    never_scored: tuple[str, ...]
    never_concerned: tuple[str, ...]
    untriggered: tuple[str, ...] = ()


def discrimination(*made: Source, rules: Sequence[str]) -> Discrimination:
    """The cases and rules that do not discriminate, in the order in which they first occur.

    Args:
        made: a run, or the tables of its outputs and of its verdicts; verdicts that do not count are left out.
        rules: the ids of the spec's rules.
    """
    run, rows = database_of(*made), rows_of(database_of(*made))
    cases = [
        (case, passed, failed)
        for case, passed, failed in rows.query(
            "c.id, max(t.verdict = 'pass'), max(t.verdict = 'fail')", "GROUP BY c.number ORDER BY min(t.place)"
        )
    ]
    rules_with: dict[str, set[str]] = defaultdict(set)
    run.need("ruled")
    for rule, status in run.query("SELECT DISTINCT rule, status FROM ruled"):
        rules_with[status].add(rule)
    broken = rules_with["fail"]
    triggered = broken | rules_with["pass"]
    never = rules_with[NOT_CONCERNED] - triggered - rules_with["unscored"]
    return Discrimination(
        models=next(rows.query("count(DISTINCT m.number)", "WHERE t.verdict <> 'unscored'"))[0],
        passed_by_all=tuple(case for case, passed, failed in cases if passed and not failed),
        failed_by_all=tuple(case for case, passed, failed in cases if failed and not passed),
        unscored=tuple(case for case, passed, failed in cases if not passed and not failed),
        never_broken=tuple(rule for rule in rules if rule in triggered and rule not in broken),
        never_scored=tuple(rule for rule in rules if rule not in triggered | never),
        never_concerned=tuple(rule for rule in rules if rule in never),
        untriggered=untriggered(run),
    )


def untriggered(source: Source) -> tuple[str, ...]:
    """The cases whose outputs are all not concerned by the rule that the case is for, as far as that was told: they
    do not trigger its condition, and test something else.

    Args:
        source: a run, or a table of verdicts; those that do not count are left out.
    """
    run = database_of(source)
    run.need("ruled")
    return tuple(
        run.listed(
            "SELECT c.id FROM ruled r JOIN cases c ON c.number = r.key >> 38 "
            "WHERE r.rule = c.aim AND r.status <> 'unscored' GROUP BY c.number "
            f"HAVING max(r.status <> '{NOT_CONCERNED}') = 0 ORDER BY min(r.first)"
        )
    )
