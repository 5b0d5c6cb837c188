"""Which outputs of a run do not measure its checks, since their grades had a part in choosing these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from promptpex.alignment.card_data import ALL_VERDICTS
from promptpex.core.records import Run, Verdict
from promptpex.synthesis.choice.saved_choice import SavedChoice


def outputs_in_choice(read_runs: Iterable[Run], saved: SavedChoice | None) -> Mapping[str, frozenset[str]]:
    """By assertion, the ids of the outputs whose grades chose the check that gave its verdict there.

    Judges have no part in a choice, nor has a check that a run was made without: what counts is the spec of each run.
    Under ``ALL_VERDICTS`` are those of the runs in which a chosen check gave a verdict that counts; all of them, also
    where the check passes, since what it fails is not like the rest. As for opinions, the first of several runs with
    the same output counts.
    """
    if saved is None:
        return {}
    in_choice: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for run in read_runs:
        _note(run, saved.chosen, in_choice)
    labelled = saved.labelled
    return {
        name: frozenset(one for one, is_chosen in outputs.items() if is_chosen and one in labelled)
        for name, outputs in in_choice.items()
    }


def _note(run: Run, chosen: Collection[str], in_choice: Mapping[str, dict[str, bool]]) -> None:
    """Notes, of each verdict of a run, whether it is of a chosen check."""
    ids = run.item_ids
    rules = {rule.id for rule in run.spec.rules if any(check.metric in chosen for check in rule.checks)}

    def of_choice(verdict: Verdict) -> bool:
        return verdict.rule in rules and verdict.source.startswith("check:")

    verdicts = [one for one in run.verdicts if one.turn == 0 and one.key in ids]
    decides = any(one.counts and of_choice(one) for one in verdicts)
    for one in verdicts:
        in_choice[f"{one.rule} {one.source}"].setdefault(ids[one.key], of_choice(one))
        if one.counts:
            in_choice[ALL_VERDICTS].setdefault(ids[one.key], decides)
