"""The run-to-run noise of models as a table, from several runs of the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.stats.run_noise import run_noise
from promptpex.tables.counts_per_case import KINDS, CaseFacts, Cells, Weights, counted
from promptpex.tables.run_rows import Rows, Source, rows_of
from promptpex.tables.table import Table

NOISE_COLUMNS: Mapping[str, str] = {
    "model": "string",
    "runs": "Int64",
    "cases": "Int64",
    "differing": "Float64",
    "differing_low": "Float64",
    "differing_high": "Float64",
    "points": "Float64",
    "points_at_most": "Float64",
}
"""Columns of ``noise``. ``runs``: in how many runs the model was asked. ``differing``: the mean over the ``cases`` with
two scored answers or more of the chance that two answers differ in whether they break a rule, with its interval.
``points``: by how much, as a share, the model's non-compliance in two runs differs by that alone at most, as often as
the confidence says; ``points_at_most``: the same at the upper end of the interval."""


@dataclass(frozen=True)
class OwnedRows:
    """The outputs of a run, and which of the answers are known to be its own, none that it may have read from the
    response store.

    Attributes:
        rows: a run, or a table of outputs.
        is_own: whether they are.
        never: models whose answers are never a run's own, as those from a recording.
    """

    rows: Source
    is_own: bool = False
    never: Sequence[str] = ()


def noise(
    groups: Sequence[Sequence[OwnedRows]],
    *,
    repeats: int = 1,
    confidence: float = 0.95,
    weights: Weights | None = None,
) -> Table:
    """A row per model that has answered a case twice; columns ``NOISE_COLUMNS``.

    Args:
        groups: those of one group are from different runs that were made from the same; answers that two of them read
            from the store count once. An answer that is not known to be a run's own is told from others by its latency;
            without one it counts where no other run has an answer. Cases of different groups are different cases.
        repeats: how often a run asks each case.
        confidence: of the intervals.
        weights: how many times each case counts.
    """
    counted_answers = _Answers()
    for number, runs in enumerate(groups):
        counted_answers.add_group(number, runs)
    counts = counted(counted_answers.cells(), weights=weights).asked
    rows: list[dict[str, Any]] = []
    for number, model in enumerate(counts.models):
        measured = run_noise(counts, number, repeats=repeats, groups=len(groups), confidence=confidence)
        if measured is not None:
            interval = measured.differing
            rows.append(
                {
                    "model": model,
                    "runs": len(counted_answers.runs[model]),
                    "cases": interval.n,
                    "differing": interval.estimate,
                    "differing_low": interval.low,
                    "differing_high": interval.high,
                    "points": measured.points,
                    "points_at_most": measured.points_at_most,
                }
            )
    return Table.of(rows, NOISE_COLUMNS)


OWN, TIMED, UNTIMED = range(3)
"""How well an answer is known to be of one run alone."""

_ANSWER = "m.name, c.id, n.repeat, o.request, o.text, o.latency_ms, o.tokens_out, t.kind"


class _Answers:
    """Answers counted without those that are another run's, or may be: equal ones that took no time could be either,
    and where only those were left out that are equal, all that is left would differ.

    Attributes:
        runs: by model the runs that have an answer of its own there.
    """

    def __init__(self) -> None:
        self.runs: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        self._cases: dict[tuple[int, str], CaseFacts] = {}
        self._counts: defaultdict[tuple[str, tuple[int, str]], Counter[int]] = defaultdict(Counter)

    def add_group(self, number: int, runs: Sequence[OwnedRows]) -> None:
        """Adds the runs that were made from the same, the surest answers first."""
        sides = [(one, rows_of(one.rows)) for one in runs]
        for _, rows in sides:
            self.runs.update({model: self.runs[model] for model in rows.models})
            for facts in Cells.of(rows).cases:
                self._cases.setdefault((number, facts.id), facts)
        seen: set[int] = set()
        for rank in (OWN, TIMED, UNTIMED):
            for place, (one, rows) in enumerate(sides):
                self._add(number, place, one, rank, rows, seen)

    def _add(self, number: int, place: int, one: OwnedRows, rank: int, rows: Rows, seen: set[int]) -> None:
        for model, case, repeat, request, text, latency, tokens, kind in rows.query(_ANSWER):
            is_own = one.is_own and model not in one.never
            if rank != (OWN if is_own else TIMED if latency else UNTIMED):
                continue
            at, answer = hash((case, model, repeat)), hash((case, model, repeat, request, text, latency, tokens))
            is_again = answer in seen or (rank == UNTIMED and at in seen)
            seen.update((at, answer))
            if rank == OWN or not is_again:
                self.runs[model].add((number, place))
                self._counts[model, (number, case)][kind] += 1

    def cells(self) -> Cells:
        """The counts, in which cases of different groups are different ones."""
        import numpy as np

        counts = np.zeros((len(self.runs), len(self._cases), KINDS), dtype=np.int64)
        models, cases = ({one: at for at, one in enumerate(known)} for known in (self.runs, self._cases))
        for (model, case), kinds in self._counts.items():
            counts[models[model], cases[case], list(kinds)] = list(kinds.values())
        return Cells(tuple(self.runs), tuple(self._cases.values()), counts)
