"""The kinds ``is-sql`` and ``contains-sql``, by the parser sqlglot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptpex.assertions import jsvalues
from promptpex.assertions.model import Assertion, Facts, Judged, Unscorable
from promptpex.assertions.registry import Kind

_FENCE = re.compile(r"```(?:sql)?+[^\S\n]*+\n?+(.*?)```", re.S | re.I)
_DIALECTS = {
    "mysql": "mysql",
    "mariadb": "mysql",
    "postgresql": "postgres",
    "postgres": "postgres",
    "sqlite": "sqlite",
    "bigquery": "bigquery",
    "snowflake": "snowflake",
    "redshift": "redshift",
    "transactsql": "tsql",
    "tsql": "tsql",
    "oracle": "oracle",
    "hive": "hive",
    "trino": "trino",
    "athena": "athena",
    "duckdb": "duckdb",
    "db2": "",
    "flinksql": "",
    "noql": "postgres",
}
_LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the SQL has to be: its dialect, and the tables and columns that it may name; None = any."""

    dialect: str = "mysql"
    tables: frozenset[str] | None = None
    columns: frozenset[str] | None = None


def _wanted(assertion: Assertion, value: Any) -> Wanted:
    if value is jsvalues.MISSING or value is None:
        return Wanted()
    if not isinstance(value, Mapping):
        raise _bad(assertion, "an object of databaseType, allowedTables and allowedColumns as its value")
    name = str(value.get("databaseType", value.get("database", "mysql"))).lower()
    if name not in _DIALECTS:
        raise _bad(assertion, f"a databaseType it knows, such as MySQL or PostgreSQL, not {name[:40]!r}")
    return Wanted(
        _DIALECTS[name], _names(assertion, value, "allowedTables"), _names(assertion, value, "allowedColumns")
    )


def _names(assertion: Assertion, value: Mapping[str, Any], key: str) -> frozenset[str] | None:
    """The last part of each name: ``select::null::users`` and ``users`` name the same table."""
    names = value.get(key)
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _bad(assertion, f"a list of names under {key}")
    return frozenset(name.rsplit("::", 1)[-1].lower() for name in names)


def _bad(assertion: Assertion, wanted: str) -> Unscorable:
    return Unscorable("bad-value", f"{assertion.kind} needs {wanted}")


def problem(source: str, wanted: Wanted) -> str | None:
    """Why the text is not the SQL that is wanted; None where it is."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if not source.strip() or len(source) > _LONGEST:
        return "there is no SQL" if not source.strip() else "the text is too long to be read as SQL"
    try:
        found = sqlglot.parse(source, read=wanted.dialect or None)
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        return f"it is not SQL: {str(error).splitlines()[0][:160] if str(error) else type(error).__name__}"
    statements = [statement for statement in found if statement is not None]
    if not statements or not all(isinstance(statement, _statements()) for statement in statements):
        return "it is not an SQL statement"
    for kind, allowed, noun in ((exp.Table, wanted.tables, "table"), (exp.Column, wanted.columns, "column")):
        wrong = _forbidden(statements, kind, allowed)
        if wrong is not None:
            return f"the {noun} {wrong[:60]} is not allowed"
    return None


def _statements() -> tuple[type[Any], ...]:
    """Those that say something; what sqlglot could not read but kept as a ``Command`` is none."""
    from sqlglot import exp

    return (exp.Query, exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.Use, exp.Set, exp.Show, exp.Transaction, exp.Commit)


def _forbidden(statements: list[Any], kind: type[Any], allowed: frozenset[str] | None) -> str | None:
    if allowed is None:
        return None
    from sqlglot import exp

    own = {str(table.alias_or_name).lower() for statement in statements for table in statement.find_all(exp.CTE)}
    for statement in statements:
        for node in statement.find_all(kind):
            name = str(node.name).lower()
            if name and name != "*" and name not in allowed and name not in own:
                return name
    return None


def _is_sql(assertion: Assertion, wanted: Wanted, facts: Facts) -> Judged:
    found = _problem(facts.text, wanted)
    return Judged(found is None, found or "the output is SQL")


def _contains_sql(assertion: Assertion, wanted: Wanted, facts: Facts) -> Judged:
    blocks = [match.group(1) for match in _FENCE.finditer(facts.text)] or [facts.text]
    problems = [_problem(block, wanted) for block in blocks]
    if None in problems:
        return Judged(True, "the output holds SQL")
    return Judged(False, str(problems[0]))


_ONE_RENAMED = re.compile(
    r"\s*select\s+[\w.`\"]+\s+(?!as\b|from\b|union\b|where\b|limit\b|order\b|into\b)[\w`\"]+\s+from\b", re.I
)
"""``SELECT a b FROM t`` is SQL, with ``a`` renamed, but nearly always a lost comma; promptfoo refuses it too."""


def _problem(source: str, wanted: Wanted) -> str | None:
    if _ONE_RENAMED.match(source):
        return "a comma seems to be missing between two columns"
    return problem(source, wanted)


KINDS = (Kind("is-sql", _wanted, _is_sql), Kind("contains-sql", _wanted, _contains_sql))
