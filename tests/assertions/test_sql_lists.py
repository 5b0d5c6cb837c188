"""``allowedTables`` and ``allowedColumns``: what SQL may do to which tables, as node-sql-parser lists it."""

from __future__ import annotations

import pytest

from promptpex.assertions import compile_checks
from promptpex.assertions.kinds.sql import SqlRules, problems
from promptpex.core.errors import CheckError
from tests.assertions.test_evaluator import status

READS = "select::(.*)::users"
ANY_READ = "select::.*"

VERDICTS_OF_PROMPTFOO = {
    ("allowedTables", READS): {
        "SELECT * FROM users": True,
        "select ID from USERS": True,
        "SELECT id FROM db1.users": True,
        "SELECT users.id FROM users JOIN orders o ON o.uid = users.id": False,
        "SELECT id FROM users WHERE name IN (SELECT name FROM b)": False,
        "SELECT id FROM users UNION SELECT id FROM b": False,
        "SELECT id FROM (SELECT id FROM users) t": True,
        "WITH c AS (SELECT id FROM users) SELECT id FROM c": False,
        "INSERT INTO users VALUES (1)": False,
        "UPDATE users SET name = 'a' WHERE id = 1": False,
        "DELETE FROM users WHERE id = 1": False,
        "DROP TABLE users": False,
        "TRUNCATE TABLE users": False,
        "CREATE TABLE t AS SELECT id FROM users": False,
        "SELECT id FROM users; DROP TABLE users": False,
    },
    ("allowedTables", "(select|insert)::(.*)::users"): {
        "INSERT INTO users VALUES (1)": True,
        "INSERT INTO users SELECT * FROM x": False,
    },
    ("allowedTables", "select::db1::users"): {"SELECT id FROM users": False},
    ("allowedColumns", "select::null::(id|name)"): {
        "SELECT id, name FROM users": True,
        "SELECT * FROM users": False,
        "SELECT u.id FROM users u": False,
        "INSERT INTO users VALUES (1)": False,
    },
    ("allowedColumns", "select::users::(.*)"): {"SELECT u.id FROM users u": True, "SELECT a.* FROM users a": True},
    ("allowedColumns", "(select|update)::(.*)::(id|name)"): {
        "UPDATE users SET name = 'a' WHERE id = 1": True,
        "DELETE FROM users WHERE id = 1": False,
    },
}
"""What promptfoo 0.123 decides (node-sql-parser 5.4, MySQL)."""


@pytest.mark.parametrize(("key", "pattern"), VERDICTS_OF_PROMPTFOO)
def test_lists_decide_as_in_promptfoo(key: str, pattern: str) -> None:
    verdicts = VERDICTS_OF_PROMPTFOO[key, pattern]
    assertion = {"kind": "is-sql", "value": {"databaseType": "MySQL", key: [pattern]}}
    assert {sql: status(sql, assertion) == "pass" for sql in verdicts} == verdicts


WRITES = (
    "INSERT INTO {} VALUES (1)",
    "INSERT INTO {} (id) SELECT id FROM users",
    "UPDATE {} SET id = 1",
    "DELETE FROM {}",
    "DROP TABLE {}",
    "DROP DATABASE users",
    "DROP VIEW {}",
    "TRUNCATE TABLE {}",
    "ALTER TABLE {} ADD COLUMN id INT",
    "CREATE TABLE {} (id INT)",
    "CREATE TABLE t AS SELECT id FROM {}",
    "CREATE VIEW v AS SELECT id FROM {}",
    "CREATE INDEX id ON {} (id)",
    "SELECT id INTO users FROM {}",
    "WITH users AS (DELETE FROM {} RETURNING id) SELECT id FROM users",
    "MERGE INTO {} USING users ON id = id WHEN MATCHED THEN DELETE",
    "SELECT id FROM users; DELETE FROM {}",
    "SET id = 1",
)


@pytest.mark.parametrize("dialect", ["mysql", "postgres", "sqlite", "tsql", ""])
def test_no_write_passes_a_list_of_reads(dialect: str) -> None:
    reads = SqlRules(dialect, tables=frozenset((READS, ANY_READ))), SqlRules(dialect, columns=frozenset((ANY_READ,)))
    writes = [write.format(table) for write in WRITES for table in ("users", "db1.users", '"users"', "Users u")]
    assert [sql for sql in writes if any(problems([sql], rules) == [None] for rules in reads)] == []


def test_a_bare_name_may_be_read_and_nothing_else() -> None:
    assertion = {"kind": "is-sql", "value": {"allowedTables": ["users"]}}
    assert [status(sql, assertion) for sql in ("SELECT 1 FROM users", "DELETE FROM users")] == ["pass", "fail"]


def test_an_entry_that_is_no_pattern_is_named() -> None:
    with pytest.raises(CheckError, match=r"patterns under allowedTables, and 'select::\(::users' is none"):
        compile_checks([{"kind": "is-sql", "value": {"allowedTables": ["select::(::users"]}}], where="rule r1")
