"""The decisions of docs/assertions.md where promptfoo surprises: what a user would expect."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import check, compile_checks
from promptpex.assertions.kinds.sql import SqlRules, problems
from promptpex.core.errors import CheckError


def status(output: Any, assertion: dict[str, Any], **more: Any) -> str:
    return check(output, [assertion], **more).status


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"a": "}"}', "pass"),
        ("see [1, 2, 3]", "pass"),
        ('before {"a": {"b": [1]}} after', "pass"),
        ("Hello {name}!", "fail"),
        ("Hello {{name}}!", "fail"),
        ("set {1, 2, 3}", "fail"),
        ("{'a': 1}", "fail"),
        ('{"a": 1,}', "fail"),
        ("body { color: red; }", "fail"),
        ('{"a": 1', "fail"),
    ],
)
def test_contains_json_is_strict_and_finds_lists(output: str, expected: str) -> None:
    assert status(output, {"kind": "contains-json"}) == expected


def test_contains_json_tries_a_list_and_the_objects_in_it() -> None:
    schema = {"type": "object", "required": ["a"]}
    assert status('[{"b": 1}, {"a": 1}]', {"kind": "contains-json", "value": schema}) == "pass"
    assert status("list: [1]", {"kind": "contains-json", "value": {"type": "array"}}) == "pass"


def test_a_failing_script_without_reason_fails() -> None:
    assert status("x", {"kind": "javascript", "value": "({pass: false, score: 0, reason: ''})"}) == "fail"


@pytest.mark.parametrize(("script", "expected"), [("NaN", "fail"), ("-Infinity", "fail"), ("Infinity", "pass")])
def test_a_score_that_is_not_finite_is_kept_as_a_row_without_score(script: str, expected: str) -> None:
    report = check("x", [{"kind": "javascript", "value": script}])
    assert (report.status, report.score) == (expected, None)


def test_schemas_that_share_an_id_do_not_disturb_each_other() -> None:
    schema = {"$id": "https://example.org/a", "type": "number"}
    assert [status("1", {"kind": "is-json", "value": schema}) for _ in range(2)] == ["pass", "pass"]


def test_templates_inside_objects_are_rendered_but_not_inside_schemas() -> None:
    variables = {"n": 3, "name": "Ana"}
    assert status("a b c", {"kind": "word-count", "value": {"max": "{{n}}"}}, vars=variables) == "pass"
    assert status('{"k": "Ana"}', {"kind": "equals", "value": {"k": "{{name}}"}}, vars=variables) == "pass"
    assert status('"Ana"', {"kind": "is-json", "value": {"const": "{{name}}"}}, vars=variables) == "fail"


@pytest.mark.parametrize("value", [False, 0, ""])
def test_a_schema_that_is_none_is_not_no_schema(value: Any) -> None:
    report = check("1", [{"kind": "is-json", "value": value}])
    assert (report.status, report.unscored) == ("unscored", "bad-value")


def test_negative_zero_is_zero() -> None:
    assert status('{"a": -0}', {"kind": "equals", "value": {"a": 0}}) == "pass"
    assert status('{"a": 0}', {"kind": "equals", "value": {"a": 0, "b": 1}}) == "fail"


def test_inherited_names_are_no_properties() -> None:
    assert status("{}", {"kind": "is-json", "value": {"type": "object", "required": ["toString"]}}) == "fail"


@pytest.mark.parametrize(("script", "expected"), [("33", 0.0), ("0.3", 0.0), ("0", 1.0)])
def test_not_javascript_scores_by_its_verdict(script: str, expected: float) -> None:
    assert check("x", [{"kind": "not-javascript", "value": script}]).score == expected


def test_an_empty_output_is_a_whole_refusal() -> None:
    assert check("", [{"kind": "is-refusal"}]).score == 1.0
    assert status("That is not legal advice.", {"kind": "is-refusal"}) == "fail"


def test_weight_zero_informs_and_keeps_its_own_verdict() -> None:
    report = check("x", [{"kind": "contains", "value": "y", "weight": 0}, {"kind": "contains", "value": "x"}])
    assert report.status == "pass"
    assert report.results[0].status == "fail"


def test_one_bad_assertion_leaves_its_neighbours_their_verdicts() -> None:
    report = check("x", [{"kind": "contains", "value": True}, {"kind": "contains", "value": "y"}])
    assert [result.status for result in report.results] == ["unscored", "fail"]
    assert report.status == "fail"


def test_throwing_null_is_a_throw() -> None:
    report = check("x", [{"kind": "javascript", "value": "(() => { throw null })()"}])
    assert (report.status, report.unscored) == ("unscored", "script-error")


def test_an_address_in_angle_brackets_is_no_html() -> None:
    assert status("email <a@b.co>", {"kind": "contains-html"}) == "fail"
    assert status("email <a@b.co> <b>now</b>", {"kind": "contains-html"}) == "pass"


def test_dollar_signs_in_inserted_variables_are_plain() -> None:
    assert (
        status("$& x", {"kind": "equals", "value": "{{outer}}"}, vars={"outer": "{{inner}} x", "inner": "$&"}) == "pass"
    )


@pytest.mark.parametrize(
    "assertion",
    [
        {"kind": "contains-all", "value": []},
        {"kind": "contains-all", "value": " , "},
        {"kind": "contains-any", "value": ["a", ""]},
        {"kind": "perplexity"},
        {"kind": "perplexity-score"},
        {"kind": "is-json", "value": False},
        {"kind": "equals"},
        {"kind": "javascript", "value": True},
    ],
)
def test_a_strict_compile_refuses_what_would_pass_or_fail_whatever_comes(assertion: dict[str, Any]) -> None:
    with pytest.raises(CheckError):
        compile_checks([assertion])


def test_environment_variables_stay_out_of_templates() -> None:
    assert status("x", {"kind": "equals", "value": "x{{ env.PATH }}"}) == "pass"


def test_rouge_takes_its_order_and_its_longest_subsequence() -> None:
    same_words = "the mat sat on the cat"
    one = check(same_words, [{"kind": "rouge-n", "value": "the cat sat on the mat"}])
    two = check(same_words, [{"kind": "rouge-n", "value": "the cat sat on the mat", "n": 2}])
    longest = check(same_words, [{"kind": "rouge-l", "value": "the cat sat on the mat"}])
    assert one.score == 1.0
    assert two.score == pytest.approx(0.8)
    assert longest.score == pytest.approx(4 / 6)


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
