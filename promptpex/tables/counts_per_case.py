"""Counts per model and case of what became of outputs: what every share and every test rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from promptpex.core.errors import InputError
from promptpex.stats import Grid
from promptpex.tables.database import RunDatabase
from promptpex.tables.database_sql import BROKEN, KEPT, LOST, OPEN, UNASKED
from promptpex.tables.run_rows import Rows, Source, rows_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

ANSWERED = 5
"""Counts, next to the kinds of outputs (``database_sql.KIND``), those that have no error."""
KINDS = 6

Weights = Mapping[str, int]
"""How many times a case counts: under ``rule`` and ``inverse`` for the cases that aim at a rule or at its inverse,
under a rule's id for those of that rule; the two are multiplied, and 1 where nothing is said. A case that aims at no
rule counts once."""

FETCHED = 20_000
"""Rows of a query that are taken at a time."""


@dataclass(frozen=True, slots=True)
class CaseFacts:
    """A case, the rule that it aims at and its side, as far as they are known."""

    id: str
    aim: str | None = None
    inverse: bool | None = None
    scenario: str | None = None


@dataclass(frozen=True, eq=False)
class Cells:
    """How many outputs of each model and case are of each kind.

    Attributes:
        models, cases: as they first appear.
        counts: models x cases x ``KINDS``.
    """

    models: tuple[str, ...]
    cases: tuple[CaseFacts, ...]
    counts: Ints

    @classmethod
    def of(cls, source: Source | Cells) -> Cells:
        """The counts of a table of outputs."""
        return source if isinstance(source, Cells) else _cells_of(rows_of(source))

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The numbers of the cases."""
        return {case.id: number for number, case in enumerate(self.cases)}

    def only(self, cases: Collection[str]) -> Cells:
        """Those of some cases."""
        return self.at([number for number, case in enumerate(self.cases) if case.id in cases])

    def at(self, numbers: Sequence[int]) -> Cells:
        """Those of the cases with these numbers."""
        return Cells(self.models, tuple(self.cases[number] for number in numbers), self.counts[:, numbers])

    def sizes(self) -> dict[str, int]:
        """By model its outputs, asked for or not."""
        return dict(zip(self.models, self.counts[:, :, : UNASKED + 1].sum(axis=(1, 2)).tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Counted:
    """The outputs of a table, counted.

    Attributes:
        asked: all that was asked for; open are the outputs without a usable answer and those that nothing could judge.
        usable: the usable answers, and those that the end of the run cut off, which come late because they are long or
            hard: a share without them would mislead. Open are they, and what nothing could judge.
        not_asked: per model, outputs that a budget, a deadline or a stop left unasked or unjudged.
        answered: per model, answers that could be judged, whether a judge was asked or not.
    """

    asked: Grid
    usable: Grid
    not_asked: Mapping[str, int]
    answered: Mapping[str, int]

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Models of which a usable answer has no verdict: of those only failures may be left, so that the share of
        failures among the scored would not be an estimate."""
        return tuple(name for row, name in enumerate(self.usable.models) if self.usable.missing(row))


def counted(source: Source | Cells, order: Sequence[str] = (), *, weights: Weights | None = None) -> Counted:
    """Counts outputs; cases without a weight are left out.

    Args:
        source: a run, a table of outputs, or what was counted of it.
        order: the models, those without outputs too; others come after them.
        weights: how many times each case counts.
    """
    import numpy as np

    cells = Cells.of(source)
    models = tuple(dict.fromkeys([*order, *cells.models]))
    counts = np.zeros((len(models), len(cells.cases), KINDS), dtype=np.int64)
    counts[[models.index(name) for name in cells.models]] = cells.counts
    weight = np.array(weights_of(cells.cases, weights), dtype=np.int64)
    broken, kept, left_open, lost = (np.ascontiguousarray(counts[:, :, kind]) for kind in (BROKEN, KEPT, OPEN, LOST))
    counting = np.flatnonzero(weight)
    totals = {kind: counts[:, :, kind].sum(axis=1).tolist() for kind in (UNASKED, ANSWERED)}
    return Counted(
        asked=Grid(models, broken, kept, left_open + lost, weight).only(counting),
        usable=Grid(models, broken, kept, left_open, weight).only(counting),
        not_asked=dict(zip(models, totals[UNASKED], strict=True)),
        answered=dict(zip(models, totals[ANSWERED], strict=True)),
    )


def _cells_of(rows: Rows) -> Cells:
    sums = ", ".join(f"total(t.kind = {kind})" for kind in range(ANSWERED))
    sql = f"SELECT t.key >> 24, {sums}, total(t.error IS NULL) FROM {rows.table} t GROUP BY t.key >> 24"
    return cells_of(rows.run, rows.run.query(sql), f"SELECT key, place FROM {rows.table}")


def cells_of(run: RunDatabase, counts: Iterable[Sequence[Any]], every: str) -> Cells:
    """The counts that a query gives: of each row a model and a case as one number, and a count for each of ``KINDS``.

    Args:
        run: the database.
        every: a query of the keys of all that was counted, and of its places.
    """
    import numpy as np

    facts = run.query(
        f"SELECT c.number, c.id, c.aim, c.inverse, c.scenario FROM ({every}) q JOIN cases c ON c.number = q.key >> 38 "
        "GROUP BY c.number ORDER BY min(q.place)"
    ).fetchall()
    models = run.query(
        f"SELECT m.number, m.name FROM ({every}) q JOIN models m ON m.number = (q.key >> 24) & 16383 "
        "GROUP BY m.number ORDER BY min(q.place)"
    ).fetchall()
    rows, columns = ({one[0]: at for at, one in enumerate(known)} for known in (models, facts))
    table = np.zeros((len(models), len(facts), KINDS), dtype=np.int64)
    for part in _parts(counts):
        places = part[:, 0].astype(np.int64)
        model = [rows[number] for number in (places & 16383).tolist()]
        table[model, [columns[number] for number in (places >> 14).tolist()]] = part[:, 1:]
    cases = (CaseFacts(name, aim, None if side is None else bool(side), about) for _, name, aim, side, about in facts)
    return Cells(tuple(name for _, name in models), tuple(cases), table)


def _parts(rows: Iterable[Sequence[Any]]) -> Iterator[npt.NDArray[np.float64]]:
    import numpy as np

    left = iter(rows)
    while part := list(islice(left, FETCHED)):
        yield np.array(part, dtype=np.float64)


def weights_of(cases: Iterable[CaseFacts], weights: Weights | None) -> list[int]:
    """How many times each case counts."""
    every = list(cases)
    return weighed([case.aim for case in every], [case.inverse for case in every], weights)


def weighed(rules: Sequence[str | None], inverse: Sequence[Any], weights: Weights | None) -> list[int]:
    """The weight of each case by the rule that it aims at and its side."""
    if not weights:
        return [1] * len(rules)
    return [_weight(rule, side is not None and bool(side), weights) for rule, side in zip(rules, inverse, strict=True)]


def _weight(rule: str | None, inverse: bool, weights: Weights) -> int:
    if rule is None:
        return 1
    kind = weights.get("inverse" if inverse else "rule", 1)
    return kind if rule in ("rule", "inverse") else kind * weights.get(rule, 1)


def check_weights(weights: Weights, rules: Sequence[str | None], inverse: Sequence[bool]) -> None:
    """Refuses weights that name no kind and no rule, or that leave no case.

    Args:
        weights: as the user gave them.
        rules, inverse: of each case, the rule that it aims at and whether at its inverse.

    Raises:
        InputError: with what can be named.
    """
    known_columns = dict.fromkeys(["rule", "inverse", *(rule for rule in rules if rule is not None)])
    strange = [name for name in weights if name not in known_columns]
    if strange:
        raise InputError(f"--weights names {strange[0]}, which no case aims at: name one of {', '.join(known_columns)}")
    if rules and not any(weighed(rules, inverse, weights)):
        raise InputError("--weights leaves no case: give at least one kind of case a weight above 0")
