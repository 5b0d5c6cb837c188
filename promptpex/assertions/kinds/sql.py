"""The kinds ``is-sql`` and ``contains-sql``, by the parser sqlglot, which runs in the process of V8."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from promptpex.assertions.javascript import js_values, v8
from promptpex.assertions.model import Assertion, CheckedOutput, Kind, KindResult, Unscorable
from promptpex.assertions.time_limits import in_time
from promptpex.core.translation import stored

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
_TOKEN = re.compile(r"<Token token_type: [^,>]*, text: (.*?), line: [^>]*>")
"""How the parser prints a token in its messages."""
_LONGEST = 200_000
"""Characters of a text that is parsed; a longer one is hardly a statement."""


@dataclass(frozen=True, slots=True)
class SqlRules:
    """What the SQL has to be: its dialect, and patterns of what it may do to which tables and columns; None = any."""

    dialect: str = "mysql"
    tables: frozenset[str] | None = None
    columns: frozenset[str] | None = None


def _rules(assertion: Assertion, value: object) -> SqlRules:
    if value is js_values.MISSING or value is None:
        return SqlRules()
    if not isinstance(value, Mapping):
        raise _bad(assertion, "an object of databaseType, allowedTables and allowedColumns as its value")
    name = str(value.get("databaseType", value.get("database", "mysql"))).lower()
    if name not in _DIALECTS:
        raise _bad(assertion, f"a databaseType it knows, such as MySQL or PostgreSQL, not {name[:40]!r}")
    return SqlRules(
        _DIALECTS[name], _patterns(assertion, value, "allowedTables"), _patterns(assertion, value, "allowedColumns")
    )


def _patterns(assertion: Assertion, value: Mapping[str, object], key: str) -> frozenset[str] | None:
    """Patterns of ``operation::database::table``, or ``operation::table::column``; a bare name may be read."""
    names = value.get(key)
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise _bad(assertion, f"a list of names under {key}")
    patterns = [name if "::" in name else f"select::(.*)::{re.escape(name)}" for name in names]
    for name, pattern in zip(names, patterns, strict=True):
        try:
            re.compile(pattern)
        except re.error as error:
            raise _bad(assertion, f"patterns under {key}, and {name[:40]!r} is none ({error})") from error
    return frozenset(patterns)


def _bad(assertion: Assertion, needed: str) -> Unscorable:
    return Unscorable("bad-value", f"{assertion.kind} needs {needed}")


def problems(sources: Sequence[str], rules: SqlRules) -> list[str | None]:
    """Why each text is not the SQL that is wanted; None for one that is, and for those behind it, which are not parsed.

    They are parsed in the process of V8 and all together within its limits: sqlglot tries types again in other ways, so
    that each further level of ``decimal(decimal(...`` doubles its work, and 30 take hours.

    Raises:
        Unscorable: ``timeout`` or ``memory``: parsing them takes too much.
    """
    obvious = [_obvious(source) for source in sources]
    to_parse = [source for source, problem in zip(sources, obvious, strict=True) if problem is None]
    if not to_parse:
        return obvious
    answer = v8.sql(to_parse, dialect=rules.dialect, tables=_listed(rules.tables), columns=_listed(rules.columns))
    if answer["kind"] != "sql":
        reason = stored("parsing it takes too long, or too much memory")
        raise Unscorable(answer["kind"], stored("the output was not read as SQL: {reason}", reason=reason))
    parsed = (problem and _readable(problem) for problem in answer["problems"])
    return [next(parsed, None) if problem is None else problem for problem in obvious]


def _readable(problem: str) -> str:
    return _TOKEN.sub(lambda token: "the end" if token[1] == "SENTINEL" else f"‘{token[1]}’", problem)


def _obvious(source: str) -> str | None:
    if not source.strip():
        return stored("there is no SQL")
    if len(source) > _LONGEST:
        return stored("the text is too long to be read as SQL")
    return stored("a comma seems to be missing between two columns") if _ONE_RENAMED.match(source) else None


def _listed(names: frozenset[str] | None) -> list[str] | None:
    return None if names is None else sorted(names)


def _is_sql(assertion: Assertion, rules: SqlRules, checked: CheckedOutput) -> KindResult:
    (problem,) = problems([checked.text], rules)
    return KindResult(problem is None, problem or stored("the output is SQL"))


def _contains_sql(assertion: Assertion, rules: SqlRules, checked: CheckedOutput) -> KindResult:
    blocks = [match.group(1) for match in in_time(_FENCE.finditer(checked.text))] or [checked.text]
    of_blocks = problems(blocks, rules)
    if None in of_blocks:
        return KindResult(True, stored("the output holds SQL"))
    return KindResult(False, str(of_blocks[0]))


_ONE_RENAMED = re.compile(
    r"\s*select\s+[\w.`\"]+\s+(?!as\b|from\b|union\b|where\b|limit\b|order\b|into\b)[\w`\"]+\s+from\b", re.I
)
"""``SELECT a b FROM t`` is SQL, with ``a`` renamed, but nearly always a lost comma; promptfoo refuses it too."""


# What ``v8_worker`` says of a text, a program that knows nothing of this package.
stored("it is not SQL: {detail}")
stored("it is not an SQL statement")
stored("the table {name} is not allowed")
stored("the column {name} is not allowed")


KINDS = (Kind("is-sql", _rules, _is_sql), Kind("contains-sql", _rules, _contains_sql))
