"""A run as a small database: its outputs, verdicts and scores in SQLite, and what became of each output and rule.

It is in memory while it is small, and in a file without a name beyond that, which goes with the process. Every table of
a report is a query of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, islice
from operator import attrgetter
from typing import Any, Protocol

from promptpex.core.errors import RunError
from promptpex.core.records import Case, Output, Score, Suite, Verdict
from promptpex.tables.database_sql import COMPARED, GIVEN, JUDGED, RULED, SCHEMA

CACHE_KB = 64_000
"""Memory that a database takes at most, besides what a query sorts; the rest is in its file."""

CASE_BITS, MODEL_BITS, REPEAT_BITS = 25, 14, 24
MODEL_AT, CASE_AT = REPEAT_BITS, REPEAT_BITS + MODEL_BITS
"""A key is one number: that of the case, of the model and of the repeat, in the order in which they first appear."""

ROWS = 10_000
"""Rows that are added at a time."""

OUTPUT = (
    "text", "error", "message", "finish_reason", "tokens_in", "tokens_out", "cost_usd", "latency_ms", "model_reported",
    "request",
)  # fmt: skip
VERDICT = ("rule", "status", "reason", "unscored", "source", "counts", "turn", "confidence", "fingerprint")
SCORE = ("name", "value", "reason", "unscored", "source", "counts", "turn", "fingerprint")
OUTCOME = ("verdict", "unscored", "asked", "broken_rules", "contradicted", "reasons")
"""The fields of each kind of rows, next to place and key."""

Columns = Mapping[str, Sequence[Any]]
_Rows = Iterable[Sequence[Any]]


class Keyed(Protocol):
    """A record of an output, or of what is said of one."""

    @property
    def case(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def repeat(self) -> int: ...


class _Numbers(dict[Any, int]):
    """Numbers values as they first appear, from 0.

    Raises:
        RunError: there are more than so many bits can tell apart.
    """

    def __init__(self, bits: int, what: str) -> None:
        self._most, self._what = 1 << bits, what

    def __missing__(self, value: Any) -> int:
        if len(self) >= self._most:
            raise RunError(f"a run has at most {self._most:,} {self._what}")
        self[value] = number = len(self)
        return number


class RunDatabase:
    """The outputs, verdicts and scores of one run, or of a part of it. They are added first and asked for then."""

    def __init__(self) -> None:
        self._cases = _Numbers(CASE_BITS, "cases")
        self._models = _Numbers(MODEL_BITS, "models")
        self._repeats = _Numbers(REPEAT_BITS, "repeats")
        self._facts: dict[str, tuple[Any, ...]] = {}
        self._made: set[str] = set()
        self._numbers = count()
        self._connection = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA cache_size = -{CACHE_KB}; {SCHEMA}; BEGIN")

    @classmethod
    def of_records(
        cls,
        suite: Suite,
        outputs: Iterable[Output],
        verdicts: Iterable[Verdict],
        scores: Iterable[Score],
        *,
        strict: bool = False,
    ) -> RunDatabase:
        """A database of records.

        Args:
            strict: whether verdicts and scores on outputs that are not there are left out.
        """
        database = cls()
        database._facts = {case.id: _facts(case) for case in suite.cases}
        database._add("output", database._fields_of(outputs, OUTPUT))
        database._add("verdict", database._fields_of(verdicts, VERDICT))
        database._add("score", database._fields_of(scores, SCORE))
        database._end()
        for name in ("verdict", "score") if strict else ():
            database.query(f"DELETE FROM {name} WHERE key NOT IN (SELECT key FROM output)")
        return database

    @classmethod
    def of_columns(cls, *tables: Columns) -> RunDatabase:
        """A database of tables of outputs, verdicts or scores, as far as they have their columns. What a table of
        outputs says of them is taken as it is where there is no table of verdicts."""
        database = cls()
        for table in tables:
            name, fields = next((name, fields) for mark, name, fields in _KINDS if mark in table)
            database._add(name, database._rows_of(table, fields))
            if name == "output" and all("status" not in other for other in tables):
                database._take(table)
        database._end()
        return database

    def query(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """The rows of a query."""
        return self._connection.execute(sql, [_bindable(value) for value in values])

    def listed(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """The first column of a query."""
        return [row[0] for row in self.query(sql, values)]

    def has(self, sql: str, values: Sequence[Any] = ()) -> bool:
        """Whether a query has any row."""
        return bool(self.query(f"SELECT EXISTS ({sql})", values).fetchone()[0])

    def need(self, *names: str) -> None:
        """Makes what queries ask for besides outputs, verdicts and scores: ``judged``, ``ruled``, ``compared``, or an
        index of a table, as ``verdict_rules``."""
        for name in names:
            if name not in self._made:
                self._made.add(name)
                if name in ("judged", "ruled"):
                    self._made |= {"judged", "ruled"}
                    self._judge("judged", "ruled")
                elif name == "compared":
                    self.need("judged")
                    self.query(COMPARED)
                else:
                    self.query(_INDEXES[name])

    def judged_without(self, rules: Iterable[str]) -> str:
        """The name of a table as ``judged``, by the verdicts on other rules than these."""
        name = f"judged_{next(self._numbers)}"
        with self.chosen(rules) as chosen:
            self._judge(name, f"ruled_of_{name}", f"rule NOT IN {chosen}")
        self.query(f"DROP TABLE ruled_of_{name}")
        return name

    @contextmanager
    def chosen(self, values: Iterable[Any]) -> Iterator[str]:
        """The name of a table of some values, which is there as long as a ``with``."""
        name = f"chosen_{next(self._numbers)}"
        self.query(f"CREATE TABLE {name} (value PRIMARY KEY) WITHOUT ROWID")
        self._fill(name, ((value,) for value in values))
        yield name
        self.query(f"DROP TABLE {name}")

    def close(self) -> None:
        """Lets go of all of it. May be called twice."""
        self._connection.close()

    def _judge(self, name: str, ruled: str, where: str = "1") -> None:
        self.query(RULED.format(name=ruled, where=where))
        self.query(JUDGED.format(name=name, ruled=ruled, where=where))

    def _key(self, case: str, model: str, repeat: int) -> int:
        return self._cases[case] << CASE_AT | self._models[model] << MODEL_AT | self._repeats[repeat]

    def _fields_of(self, records: Iterable[Keyed], names: Sequence[str]) -> _Rows:
        fields, key = attrgetter(*names), self._key
        return ((key(one.case, one.model, one.repeat), *fields(one)) for one in records)

    def _rows_of(self, table: Columns, names: Sequence[str]) -> _Rows:
        """The fields of the rows of a table; what it says of their cases is kept."""
        nothing = [None] * len(table["case"])
        aims = table.get("aim", nothing if "aim" in names else table.get("rule", nothing))
        facts = zip(aims, *(table.get(name, nothing) for name in ("inverse", "scenario", "inputs")), strict=True)
        repeats = table.get("repeat", range(len(nothing)))
        fields = zip(*(table.get("output" if name == "text" else name, nothing) for name in names), strict=True)
        for case, model, repeat, of_case, row in zip(
            table["case"], table["model"], repeats, facts, fields, strict=True
        ):
            self._facts.setdefault(case, of_case)
            yield (self._key(case, model, repeat), *row)

    def _take(self, table: Columns) -> None:
        """Takes what a table says of outputs as what became of them."""
        nothing = [None] * len(table["case"])
        self._made |= {"judged", "ruled"}
        self.query(
            "CREATE TABLE given (place INTEGER PRIMARY KEY, verdict, unscored, asked, rules, contradicted, reasons)"
        )
        self._fill("given", zip(range(len(nothing)), *(table.get(name, nothing) for name in OUTCOME), strict=True))
        self.query(GIVEN)

    def _add(self, name: str, rows: _Rows) -> None:
        self._fill(name, ((place, *row) for place, row in enumerate(rows)))

    def _fill(self, name: str, rows: _Rows) -> None:
        """Adds rows to a table; texts that hold half of a character (a lone surrogate) as their bytes."""
        left = iter(rows)
        while part := list(islice(left, ROWS)):
            marks = [f"?{number}" for number in range(1, len(part[0]) + 1)]
            sql = f"INSERT OR REPLACE INTO {name} VALUES ({{}})"
            try:
                self._connection.executemany(sql.format(", ".join(marks)), part)
            except UnicodeEncodeError:
                self._connection.text_factory = lambda data: data.decode("utf-8", "surrogatepass")
                texts = (f"iif(typeof({mark}) = 'blob', CAST({mark} AS TEXT), {mark})" for mark in marks)
                self._connection.executemany(sql.format(", ".join(texts)), ([*map(_bindable, row)] for row in part))

    def _end(self) -> None:
        """Adds what is known of cases, models and repeats, all of which have their numbers now."""
        lost = (None, None, None, None)
        self._fill("cases", ((number, case, *self._facts.get(case, lost)) for case, number in self._cases.items()))
        self._fill("models", ((number, name) for name, number in self._models.items()))
        self._fill("repeats", ((number, repeat) for repeat, number in self._repeats.items()))


_KINDS = (("status", "verdict", VERDICT), ("value", "score", SCORE), ("verdict", "output", OUTPUT))
"""By what column a table is known, and the table and the fields that are made of it."""

_INDEXES = {
    "ruled_rules": "CREATE INDEX ruled_rules ON ruled (key, rule)",
    "verdict_rules": "CREATE INDEX verdict_rules ON verdict (key, rule)",
    "output_keys": "CREATE INDEX output_keys ON output (key)",
    "score_keys": "CREATE INDEX score_keys ON score (key)",
}


def _facts(case: Case) -> tuple[Any, ...]:
    return case.rule, case.inverse, case.scenario, json.dumps(case.inputs, ensure_ascii=False, default=str)


def _bindable(value: Any) -> Any:
    """A value as SQLite takes it: a text that holds half of a character as its bytes."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
    return value
