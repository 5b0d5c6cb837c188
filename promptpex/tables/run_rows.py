"""The outputs, verdicts and scores of a run as tables: one row each, with columns and kinds that never change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from promptpex.core.records import Manifest, Metric, Prompt, Run, Spec, Suite
from promptpex.tables.database import RunDatabase
from promptpex.tables.database_sql import JOINED
from promptpex.tables.table import Table, columns_of

if TYPE_CHECKING:
    from sqlite3 import Cursor

    import pandas as pd

OUTPUT_COLUMNS: Mapping[str, str] = {
    "case": "string",
    "rule": "string",
    "inverse": "boolean",
    "scenario": "string",
    "model": "string",
    "repeat": "Int64",
    "inputs": "string",
    "output": "string",
    "verdict": "string",
    "unscored": "string",
    "asked": "boolean",
    "broken_rules": "string",
    "contradicted": "boolean",
    "reasons": "string",
    "error": "string",
    "message": "string",
    "finish_reason": "string",
    "tokens_in": "Int64",
    "tokens_out": "Int64",
    "cost_usd": "Float64",
    "latency_ms": "Float64",
    "model_reported": "string",
    "request": "string",
}
"""Columns of ``outputs``: what was asked (``rule`` is the rule the case aims at), the answer, and how it was judged.

``verdict`` is ``pass``, ``fail`` or ``unscored``; ``asked`` is false where a budget, a deadline or a stop kept the
model or a judge from being asked; ``broken_rules`` are ids joined by blanks; ``contradicted`` is true
where it fails only by checks that a judge contradicts; ``reasons`` has a line
``id: reason`` for each; ``inputs`` is JSON.
"""

VERDICT_COLUMNS: Mapping[str, str] = {
    "case": "string",
    "aim": "string",
    "inverse": "boolean",
    "scenario": "string",
    "model": "string",
    "repeat": "Int64",
    "rule": "string",
    "status": "string",
    "reason": "string",
    "unscored": "string",
    "source": "string",
    "counts": "boolean",
    "turn": "Int64",
    "confidence": "Float64",
    "fingerprint": "string",
}
"""Columns of ``verdicts``, the cube: ``rule`` is the rule judged, ``aim`` the rule its case aims at."""


SCORE_COLUMNS: Mapping[str, str] = {
    "case": "string",
    "aim": "string",
    "inverse": "boolean",
    "scenario": "string",
    "model": "string",
    "repeat": "Int64",
    "name": "string",
    "value": "Float64",
    "reason": "string",
    "unscored": "string",
    "source": "string",
    "counts": "boolean",
    "turn": "Int64",
    "fingerprint": "string",
}
"""Columns of ``scores``: ``value`` is from 0 to 1, and missing where ``unscored`` says why there is none; ``aim`` is
the rule that the case aims at."""


@dataclass(frozen=True)
class Rows:
    """What became of the outputs of a run, as a table of its database has it.

    Attributes:
        run: the database.
        table: ``judged``: whether each keeps the rules; ``compared``: whether it is the expected one; or one that
            ``RunDatabase.judged_without`` has made.
    """

    run: RunDatabase
    table: str = "judged"

    def __post_init__(self) -> None:
        if self.table in ("judged", "compared"):
            self.run.need(self.table)

    def query(self, columns: str, rest: str = "ORDER BY t.place", values: Sequence[Any] = ()) -> Cursor:
        """Rows of a query of them: ``t`` is the table, ``o`` the output, ``c`` its case, ``m`` its model and ``n`` its
        repeat."""
        joined = JOINED.format("t")
        return self.run.query(
            f"SELECT {columns} FROM {self.table} t JOIN output o USING (place) {joined} {rest}", values
        )

    def __len__(self) -> int:
        return int(self.run.query(f"SELECT count(*) FROM {self.table}").fetchone()[0])

    @property
    def models(self) -> list[str]:
        """The models, as they first appear."""
        return self.run.listed(
            f"SELECT m.name FROM {self.table} t {JOINED.format('t')} GROUP BY m.number ORDER BY min(t.place)"
        )

    def outputs(self, rest: str = "ORDER BY t.place", values: Sequence[Any] = ()) -> Table:
        """The outputs, or some of them; columns ``OUTPUT_COLUMNS``."""
        return Table.of_tuples(self.query(OUTPUT_QUERY, rest, values), OUTPUT_COLUMNS)


OUTPUT_QUERY = (
    "c.id, c.aim, c.inverse, c.scenario, m.name, n.repeat, c.inputs, o.text, t.verdict, t.unscored, t.asked, "
    "t.broken_rules, t.contradicted, t.reasons, o.error, o.message, o.finish_reason, o.tokens_in, o.tokens_out, "
    "o.cost_usd, o.latency_ms, o.model_reported, o.request"
)
VERDICT_QUERY = (
    "c.id, c.aim, c.inverse, c.scenario, m.name, n.repeat, v.rule, v.status, v.reason, v.unscored, v.source, v.counts, "
    "v.turn, v.confidence, v.fingerprint"
)
SCORE_QUERY = (
    "c.id, c.aim, c.inverse, c.scenario, m.name, n.repeat, v.name, v.value, v.reason, v.unscored, v.source, v.counts, "
    "v.turn, v.fingerprint"
)
"""What a row of ``outputs``, ``verdicts`` and ``scores`` is made of."""


@dataclass(frozen=True)
class StoredRun:
    """A run that is kept in a folder: its outputs, verdicts and scores are in a database.

    Attributes:
        database: holds them.
    """

    manifest: Manifest
    prompt: Prompt
    spec: Spec
    suite: Suite
    metrics: tuple[Metric, ...]
    database: RunDatabase = field(repr=False, compare=False)


AnyRun = Run | StoredRun
Source = Union[AnyRun, RunDatabase, Rows, Table, "pd.DataFrame"]
"""What tables are made of: a run, or DataFrames of its outputs, verdicts or scores."""


def database_of(*sources: Source) -> RunDatabase:
    """The database of a run, or one of some of its tables."""
    first = sources[0]
    if isinstance(first, RunDatabase):
        return first
    if isinstance(first, Rows):
        return first.run
    if isinstance(first, StoredRun):
        return first.database
    if isinstance(first, Run):
        return RunDatabase.of_records(first.suite, first.outputs, first.verdicts, first.scores)
    return RunDatabase.of_columns(*(columns_of(table) for table in sources if not isinstance(table, _DATABASES)))


_DATABASES = (RunDatabase, Rows, StoredRun, Run)


def rows_of(source: Source) -> Rows:
    """What became of the outputs of a run, or of a table of outputs."""
    return source if isinstance(source, Rows) else Rows(database_of(source))


def outputs(run: Source) -> pd.DataFrame:
    """A row per output of the run, in the run's order; columns ``OUTPUT_COLUMNS``."""
    return rows_of(run).outputs().frame()


Kinded = tuple[Mapping[str, str], Iterator[Sequence[Any]]]
"""The kinds of columns, and rows that have a value for each."""


def verdict_rows(run: RunDatabase, rest: str = "ORDER BY v.place", values: Sequence[Any] = ()) -> Kinded:
    """The verdicts of a run one by one, or some of them (``v``); columns ``VERDICT_COLUMNS``."""
    return VERDICT_COLUMNS, run.query(f"SELECT {VERDICT_QUERY} FROM verdict v {JOINED.format('v')} {rest}", values)


def score_rows(run: RunDatabase, rest: str = "ORDER BY v.place", values: Sequence[Any] = ()) -> Kinded:
    """The scores of a run one by one, or some of them (``v``); columns ``SCORE_COLUMNS``."""
    return SCORE_COLUMNS, run.query(f"SELECT {SCORE_QUERY} FROM score v {JOINED.format('v')} {rest}", values)


def table_of(kinds: Mapping[str, str], rows: Iterator[Sequence[Any]]) -> Table:
    """Rows as a table."""
    return Table.of_tuples(rows, kinds)


def verdicts(run: Source) -> pd.DataFrame:
    """A row per verdict of the run, in the run's order; columns ``VERDICT_COLUMNS``."""
    return table_of(*verdict_rows(database_of(run))).frame()


def scores(run: Source) -> pd.DataFrame:
    """A row per score of the run, in the run's order; columns ``SCORE_COLUMNS``."""
    return table_of(*score_rows(database_of(run))).frame()
