"""Measures of outputs, for histograms: their length, the scores of checks that have a threshold, and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promptpex.assertions import check, check_time
from promptpex.assertions.kinds.count import counted
from promptpex.core.records import Check, Example, Run, Spec

UNITS = ("words", "characters")
_SCRIPTS = ("python", "javascript", "question", "llm-rubric", "assert-set")
"""Kinds whose score is a script's or a judge's, and not a measure of the text."""
MOST_SCORED = 20_000
"""Outputs times checks up to which checks are evaluated for their scores: some seconds."""


def measures_of(items: Sequence[Example], spec: Spec, runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    """The value of each measure for each output that has one, by the output's id."""
    measures = {unit: {item.id: float(counted(item.output, unit)) for item in items} for unit in UNITS}
    return measures | _scores_of_checks(items, spec) | _metrics(runs)


def _scores_of_checks(items: Sequence[Example], spec: Spec) -> dict[str, dict[str, float]]:
    measuring = [(rule.id, one) for rule in spec.rules for one in rule.checks if _measures(one)]
    if len(measuring) * len(items) > MOST_SCORED:
        return {}
    scores: dict[str, dict[str, float]] = {}
    with check_time():
        for rule, one in measuring:
            values = scores.setdefault(f"{rule} {one.kind}", {})
            for item in items:
                score = check(item.output, [one], vars=item.inputs, prompt=item.prompt).results[0].score
                if score is not None:
                    values[item.id] = score
    return scores


def _measures(one: Check) -> bool:
    return one.threshold is not None and one.kind.removeprefix("not-") not in _SCRIPTS


def _metrics(runs: Iterable[Run]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for run in runs:
        ids = run.item_ids
        for score in run.scores:
            item = ids.get(score.key)
            if item is not None and score.counts and score.turn == 0 and score.value is not None:
                scores.setdefault(score.name, {}).setdefault(item, score.value)
    return scores
