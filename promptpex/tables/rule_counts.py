"""What became of each rule, counted per model and case: what the table of rules rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from promptpex.core.records import NOT_CONCERNED
from promptpex.tables.counts_per_case import ANSWERED, Cells, cells_of, counted
from promptpex.tables.database import RunDatabase
from promptpex.tables.database_sql import ASKED_NOT, BROKEN, CUT_OFF, KEPT, LOST, OPEN, UNASKED
from promptpex.tables.proportions import proportion_cells

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_KIND = f"""CASE
    WHEN r.cut IS NOT NULL OR coalesce(v.unscored, '') IN {ASKED_NOT} THEN {UNASKED}
    WHEN r.status = 'fail' THEN {BROKEN}
    WHEN r.status = 'pass' THEN {KEPT}
    WHEN v.source <> 'none' OR v.unscored IS NULL OR v.unscored IN {CUT_OFF} THEN {OPEN}
    ELSE {LOST}
END"""

_MADE = (
    "CREATE TABLE rules AS SELECT rule AS name, min(first) AS first FROM ruled GROUP BY rule ORDER BY min(first)",
    f"""
    CREATE TABLE rule_cells AS
    SELECT n.rowid AS rule, k.key >> 24 AS cell, min(k.first) AS first, total(k.kind IS NULL) AS left_out,
        min(CASE WHEN k.kind IS NOT NULL THEN k.first END) AS place,
        {", ".join(f"total(k.kind = {kind}) AS kind_{kind}" for kind in range(ANSWERED))}
    FROM (
        SELECT r.rule, r.key, r.first, CASE WHEN r.status <> '{NOT_CONCERNED}' THEN {_KIND} END AS kind
        FROM ruled r JOIN verdict v ON v.place = r.place
    ) k JOIN rules n ON n.name = k.rule GROUP BY 1, 2
    """,
    "CREATE INDEX rule_cells_rule ON rule_cells (rule)",
)


class RuleCounts:
    """What became of each rule on the outputs of a run.

    Args:
        run: its database.
    """

    def __init__(self, run: RunDatabase) -> None:
        self._run = run
        run.need("ruled")
        if not run.has("SELECT 1 FROM sqlite_master WHERE name = 'rule_cells'"):
            for sql in _MADE:
                run.query(sql)
        self._cells: dict[str, Cells] = {}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return dict(self._run.query("SELECT name, rowid FROM rules ORDER BY rowid").fetchall())

    @cached_property
    def concerning(self) -> tuple[str, ...]:
        """The rules that concern an output, as they first appear."""
        return tuple(
            self._run.listed(
                "SELECT r.name FROM rule_cells c JOIN rules r ON r.rowid = c.rule WHERE c.place IS NOT NULL "
                "GROUP BY c.rule ORDER BY min(c.place)"
            )
        )

    def cells(self, rule: str) -> Cells:
        """How many outputs of each model and case broke a rule, kept it, are open, or lost."""
        if rule not in self._cells:
            own = f"FROM rule_cells WHERE rule = {self._numbers.get(rule, -1)} AND place IS NOT NULL"
            kinds = ", ".join(f"kind_{kind}" for kind in range(ANSWERED))
            counts = self._run.query(f"SELECT cell, {kinds}, 0 {own}")
            self._cells[rule] = cells_of(self._run, counts, f"SELECT cell << 24 AS key, place {own}")
        return self._cells[rule]

    def of_cases(self, rule: str, model: str, cases: Sequence[str]) -> Ints:
        """Of each of these cases how many outputs of a model broke a rule, kept it, are usable and open, and are not
        usable, in columns; 0 where there is none."""
        import numpy as np

        counts = np.zeros((len(cases), UNASKED), dtype=np.int64)
        own = self.cells(rule)
        if model in own.models:
            places = own.places
            known = [at for at, case in enumerate(cases) if case in places]
            row = own.models.index(model)
            counts[known] = own.counts[row, [places[cases[at]] for at in known], :UNASKED]
        return counts

    def aims(self, cases: Sequence[str]) -> Mapping[str, tuple[str | None, bool]]:
        """By those of these cases that are known the rule that each aims at, and whether at its inverse."""
        facts = {name: (aim, bool(side)) for name, aim, side in self._run.query("SELECT id, aim, inverse FROM cases")}
        return {case: facts[case] for case in cases if case in facts}

    def rows(self, order: Sequence[str], confidence: float) -> list[dict[str, Any]]:
        """A row per rule and model, with the columns of ``tables.rules``.

        Args:
            order: the rules; others come after them.
            confidence: of the intervals.
        """
        left_out = self._run.query(
            "SELECT r.name, m.name, total(left_out) FROM rule_cells JOIN rules r ON r.rowid = rule "
            "JOIN models m ON m.number = cell & 16383 GROUP BY rule, m.number ORDER BY min(rule_cells.first)"
        ).fetchall()
        figures = {pair: row for name in self.concerning for pair, row in self._of_rule(name, confidence)}
        ranks = list(dict.fromkeys([*order, *(rule for rule, _, _ in left_out)]))
        models = [model for _, model, _ in left_out]
        return [
            {**_NOTHING, "rule": rule, "model": model, **figures.get((rule, model), {}), "not_concerned": count}
            for rule, model, count in sorted(left_out, key=lambda row: (ranks.index(row[0]), models.index(row[1])))
        ]

    def _of_rule(self, name: str, confidence: float) -> list[tuple[tuple[str, str], dict[str, Any]]]:
        cells = self.cells(name)
        grid, sizes = counted(cells).usable, cells.sizes()
        rows = []
        for row, model in enumerate(cells.models):
            figures = proportion_cells(grid, row, confidence)
            rows.append(((name, model), {**figures, "unscored": sizes[model] - figures["scored"]}))
        return rows


_NOTHING = {"scored": 0, "broken": 0, "unscored": 0, "usable": 0}
"""The counts of a rule that concerns no output of a model."""
