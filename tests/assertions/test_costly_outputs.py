"""Outputs and schemas that a parser would spend minutes on, in one call that nothing can stop."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import check
from tests.assertions.little_time import little_time

pytestmark = pytest.mark.timeout(300)

FONTS = "".join(f"<font a{n}>" for n in range(3000))
COSTLY = {
    "nested": "<div>" * 20_000,
    "nested and closed": "<div>" * 20_000 + "</div>" * 20_000,
    "closed by others": "<div></b>" * 20_000,
    "closed out of scope": "<div><table></div></table>" * 20_000,
    "lists": "<ul><li>" * 20_000,
    "attributes": "<a " + " ".join(f"a{n}=1" for n in range(50_000)) + ">",
    "attributes behind a quoted end": '<a x=">" ' + " ".join(f"a{n}=1" for n in range(50_000)) + ">",
    "attributes without blanks": "<a " + "".join(f"a{n}='1'" for n in range(50_000)) + ">",
    "attributes without end": "<a " + "/".join(f"a{n}" for n in range(50_000)),
    "formats opened again": f"<p>{FONTS}</p>" + "<p>x</p>" * 20_000,
    "options": "<select><option>" * 50_000,
    "options of one list": "<select>" + "<option>" * 100_000,
}
SLOW = {
    "many tags of many attributes": ("<i " + " ".join(f"a{n}" for n in range(3900)) + "></i>") * 200,
    "formats with attributes": "<p>" + ("<b " + " ".join(f"a{n}" for n in range(1000)) + ">") * 3 + "</p><p>x" * 8000,
}


@pytest.mark.parametrize("output", COSTLY.values(), ids=COSTLY.keys())
def test_html_that_is_too_costly_is_unscored(output: str) -> None:
    with little_time():
        report = check(output, [{"kind": "is-html"}, {"kind": "contains", "value": "<"}])
    assert [result.unscored for result in report.results] == ["timeout", None]


@pytest.mark.parametrize("output", SLOW.values(), ids=SLOW.keys())
def test_html_that_is_slow_or_large_ends_within_the_limits_of_scripts(output: str) -> None:
    """What stops it, or whether anything has to, depends on the machine; none may take this process's own time."""
    with little_time():
        report = check(output, [{"kind": "is-html"}, {"kind": "contains", "value": "<"}])
    assert report.results[0].unscored in (None, "timeout", "memory")
    assert report.results[1].status == "pass"


TYPES = "SELECT " + "decimal(" * 40 + "1" + ")" * 40


def test_sql_whose_every_level_doubles_the_work_is_unscored() -> None:
    """All blocks of an output share one limit."""
    output = f"```sql\n{TYPES}\n```\n" * 3
    with little_time():
        report = check(output, [{"kind": "contains-sql"}, {"kind": "contains", "value": "SELECT"}])
    assert [result.unscored for result in report.results] == ["timeout", None]
    assert check("SELECT 1", [{"kind": "is-sql"}]).status == "pass"


def test_many_blocks_of_sql_are_parsed_up_to_the_first_that_is_some(capfd: pytest.CaptureFixture[str]) -> None:
    blocks = [" ", "SHOW \x1b]0;title\x07 me", "SELECT FROM WHERE (", "SELECT a FROM secrets", "SELECT a FROM t", TYPES]
    fenced = [f"```sql\n{block}\n```" for block in blocks]
    only_t = {"kind": "contains-sql", "value": {"allowedTables": ["t"]}}
    assert check("\n".join(fenced), [only_t]).status == "pass"
    for count, reason in ((1, "there is no SQL"), (2, "there is no SQL"), (4, "there is no SQL")):
        assert check("\n".join(fenced[:count]), [only_t]).results[0].reason == reason
    assert "secrets is not allowed" in check(fenced[3], [only_t]).results[0].reason
    assert "not an SQL statement" in check("\n".join(fenced[1:4]), [only_t]).results[0].reason
    assert capfd.readouterr().err == ""


def test_an_enum_of_many_values_is_compiled() -> None:
    many = {"kind": "is-json", "value": {"enum": [[n] for n in range(50_000)]}}
    assert check("[49999]", [many]).status == "pass"
    alike: list[list[Any]] = [[1, 1.0], ["a", "a"], [{"a": 1, "b": [2]}, {"b": [2], "a": 1}], [None, None]]
    apart: list[list[Any]] = [[1, True], [0, False], ["1", 1], [[], {}], ["", None]]
    for pair in alike:
        assert check("1", [{"kind": "is-json", "value": {"enum": [*pair, 7]}}]).unscored == "bad-schema"
    for pair in apart:
        assert check("7", [{"kind": "is-json", "value": {"enum": [*pair, 7]}}]).status == "pass"
