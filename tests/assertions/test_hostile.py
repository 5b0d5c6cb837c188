"""Whatever stands in outputs, values, schemas, templates and scripts: a verdict comes out, nothing is raised."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptpex.assertions import KIND_NAMES, CheckReport, check
from promptpex.assertions.javascript import js_values, v8, value_templates
from promptpex.assertions.kinds import markup
from promptpex.assertions.kinds.text import comma_fields
from promptpex.assertions.model import Unscorable
from promptpex.assertions.worker_process import OVERRUNS
from tests.assertions.little_time import little_time_for_python
from tests.work import calls, in_proportion

QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

PIECES = ["{{", "}}", "{%", "%}", "{#", "{", "}", "[", "]", '"', "'", "<a>", "</a>", "<", "&amp;", ",", "\\", "$&"]
PIECES += ["```sql", "```", "SELECT a", " FROM t", "name", "|", "if", "for", "1", "true", "\n", "\u2028", "\ud83d", "("]
TEXT = st.one_of(
    st.text(st.characters(codec=None), max_size=60),
    st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)
KEYWORDS = ["type", "properties", "items", "enum", "const", "pattern", "format", "required", "anyOf", "not", "$ref"]
SCHEMA = st.dictionaries(st.sampled_from([*KEYWORDS, "if", "then", "additionalProperties", "multipleOf", "$id"]), JSON)
SLOW = ("javascript", "language")
KINDS = st.sampled_from([prefix + name for name in KIND_NAMES if name not in SLOW for prefix in ("", "not-")])


def sound(report: CheckReport) -> None:
    assert report.status in ("pass", "fail", "unscored")
    assert (report.status == "unscored") == (report.unscored is not None)
    assert report.score is None or math.isfinite(report.score)
    assert report.reason
    report.to_dict("id")


@QUICK
@given(KINDS, JSON, JSON, st.dictionaries(st.sampled_from(["name", "a", "b"]), JSON, max_size=2))
def test_any_output_and_any_value(kind: str, output: Any, value: Any, variables: dict[str, Any]) -> None:
    sound(check(output, [{"kind": kind, "value": value}], vars=variables, logprobs=[-0.1], cost=1, latency_ms=1))


@QUICK
@given(st.sampled_from(["is-json", "contains-json"]), SCHEMA, JSON)
def test_any_schema(kind: str, schema: dict[str, Any], output: Any) -> None:
    text = js_values.compact_json(output)
    sound(check(f"{text} {text}" if kind == "contains-json" else text, [{"kind": kind, "value": schema}]))


@settings(QUICK, max_examples=30)
@given(TEXT, JSON)
def test_any_script(script: str, output: Any) -> None:
    sound(check(output, [{"kind": "javascript", "value": script}], vars={"name": output}))


@QUICK
@given(st.one_of(JSON, st.lists(st.dictionaries(st.sampled_from(["kind", "type", "value", "weight", "assert"]), JSON))))
def test_any_assertion_at_all(assertions: Any) -> None:
    sound(check("text", assertions if isinstance(assertions, list) else [assertions]))


@QUICK
@given(TEXT, st.dictionaries(st.sampled_from(["name", "a"]), JSON))
def test_templates_are_total(source: str, variables: dict[str, Any]) -> None:
    try:
        rendered = value_templates.render(source, value_templates.prepared(variables))
    except Unscorable:
        return
    assert isinstance(rendered, str)


@QUICK
@given(TEXT)
def test_values_are_never_rendered_again(value: str) -> None:
    assert value_templates.render("{{ name }}", {"name": value}) == value
    assert value_templates.render("{{ name }}{% if true %}{% endif %}", {"name": value}) == value


@QUICK
@given(JSON)
def test_compact_json_reads_back(value: Any) -> None:
    assert js_values.same(js_values.strict_json(js_values.compact_json(value)), value)


@QUICK
@given(st.floats(allow_nan=False))
def test_numbers_read_back(number: float) -> None:
    assert js_values.to_number(js_values.number_text(number)) == number


@QUICK
@given(TEXT)
def test_parsers_are_total(text: str) -> None:
    list(js_values.in_text(text))
    list(markup.pieces(text))
    markup.problem_of_html(text)
    markup.traces(text)
    for parse, expected in ((comma_fields, Unscorable), (markup.strict, markup.NotXml)):
        try:
            parse(text)
        except expected:
            continue


@QUICK
@given(st.lists(st.text(st.characters(exclude_characters='"\\,' + js_values.BLANKS), min_size=1), min_size=1))
def test_comma_fields_round_trip(fields: list[str]) -> None:
    assert comma_fields(", ".join(f'"{field}"' for field in fields)) == tuple(fields)


MANY = 40_000
ENDLESS = [
    "{",
    "[",
    '{"',
    '{"a":',
    '{"x" ',
    "[{",
    "<!--",
    "<![CDATA[",
    "<a ",
    '<a b="',
    "<a>",
    "</a>",
    ".",
    ". ",
    "a. ",
]
ENDLESS += ["&amp;", "```", "``` ", "(", "'", "Mr. ", '?"', "<!DOCTYPE "]
SEARCHING = ["contains-json", "is-xml", "contains-xml", "is-html", "contains-html", "contains-sql", "is-refusal"]


@pytest.mark.parametrize("kind", [*SEARCHING, "word-count"])
def test_what_is_opened_again_and_again_takes_time_in_proportion(kind: str) -> None:
    """Each takes the square where every opening is followed to the end of the text."""
    assertion = {"kind": kind, "unit": "sentences"} | ({"value": 3} if kind == "word-count" else {})

    def search(many: int) -> None:
        for piece in ENDLESS:
            sound(check(piece * many, [assertion]))
            sound(check("x" + " " * many + piece + " " * many, [assertion]))

    most = MANY // 4 if kind == "contains-sql" else MANY  # another process parses what this one searches
    assert in_proportion(search, most // 8, most)


@pytest.mark.parametrize("piece", ["[", '{"a":'])
def test_attempts_at_json_that_fail_are_given_up(piece: str) -> None:
    """However much of it there is: each attempt looks at a thousand levels."""
    once, twice = (calls(check, piece * many, [{"kind": "contains-json"}]) for many in (5000, 10_000))
    assert twice < 1.2 * once


BOMBS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "{% set a = '" + "x" * 1000 + "' %}" + "{% set a = a ~ a ~ a ~ a ~ a ~ a ~ a ~ a ~ a ~ a %}" * 9 + "{{ a }}",
    "{% set a = '" + "x" * 1000 + "' %}" + "{% set a = a + a + a + a + a + a + a + a + a + a %}" * 9 + "{{ a }}",
    "{{ name" + "|replace('x', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')" * 12 + " }}",
    "{% for a in range(9999) %}" + "x" * 100_000 + "{% endfor %}",
    "{% for a in range(99999) %}{{ name }}{% endfor %}",
    "{{ 'a'|center(9999999999) }}",
    "{{ name|indent(999999999) }}",
    "{{ [1]|slice(99999999)|list|length }}",
    "{{ [1]|batch(999999999, 'x')|list|length }}",
]


@pytest.mark.parametrize("template", BOMBS, ids=range(len(BOMBS)))
def test_a_template_that_makes_without_end_is_stopped(template: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v8, "TEMPLATE_SECONDS", 0.3)
    report = check("x", [{"kind": "equals", "value": template}], vars={"name": "x" * 1000})
    assert (report.status, report.unscored) == ("unscored", "bad-template")
    report = check("x", [{"kind": "equals", "value": "{% if true %}x{% endif %}"}])
    assert report.status == "pass", "the next template is rendered"


def test_a_template_that_takes_too_long_each_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(v8, "TEMPLATE_SECONDS", 0.1)
    reasons = [check("x", [{"kind": "equals", "value": BOMBS[0]}]).reason for _ in range(OVERRUNS + 3)]
    assert "takes too long" in reasons[0]
    assert "too often before" in reasons[-1]


@pytest.mark.parametrize(
    "template",
    [
        "{{ constructor.assign }}{{ x.constructor }}{{ 'x'.constructor }}{{ range.constructor }}{{ x.__proto__ }}",
        "{{ [1]|groupby('constructor')|length }}{{ ''['__proto__'] }}{{ x['toString'] }}{{ __proto__ }}",
        "{% set __proto__ = {'y': 1} %}{{ y }}{% set constructor = 1 %}{% macro m() %}{% endmacro %}{{ m.prototype }}",
    ],
)
def test_a_template_reaches_nothing_of_the_language(template: str) -> None:
    value_templates.render(template, {"x": {"a": 1}})
    plain = "{% if true %}{{ y }}{{ x.a }}{{ constructor }}{{ 'a'|upper }}{% endif %}"
    assert value_templates.render(plain, {"x": {"a": 1}}) == "1A"


@pytest.mark.parametrize(
    "template",
    [
        "{{ x.toString() }}",
        "{{ range.constructor('return 1')() }}",
        "{{ x|constructor }}",
        "{{ x|toString }}",
        "{{ x is constructor }}",
        "{% include 'a' %}",
        "{% import 'a' as b %}",
    ],
)
def test_what_a_template_may_not_do_is_named(template: str) -> None:
    with pytest.raises(Unscorable, match="cannot be rendered"):
        value_templates.render(template, {"x": {"a": 1}})


def test_variables_inside_of_variables_make_a_bounded_text() -> None:
    """A case of two lines made a hundred gigabytes, before any check looked at it."""
    filled = value_templates.prepared({"a": "{{b}}" * 100_000, "b": "x" * 1_000_000, "c": "{{d}}", "d": "so"})
    text = str(filled["a"])
    assert len(text) < 2 * value_templates.MAX_FILLED
    assert text.startswith("x" * 1_000_000)
    assert text.endswith("{{b}}")
    deep: Any = []
    for _ in range(20_000):
        deep = [deep]
    assert value_templates.prepared({"a": "{{b}}", "b": deep})["a"] == "{{b}}"
    assert value_templates.prepared({"c": "{{d}} {{e}}", "d": "so {{f}}", "f": [1, 2]})["c"] == "so 1,2 {{e}}"


def test_a_schema_that_branches_without_end_runs_out_of_time() -> None:
    twice = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**twice, "d40": {"type": "number"}}}
    with little_time_for_python():
        report = check("1", [{"kind": "is-json", "value": schema}, {"kind": "contains", "value": "2"}])
    assert [result.unscored for result in report.results] == ["timeout", None]


def test_many_items_are_unique_or_not_in_proportion() -> None:
    schema = [{"kind": "is-json", "value": {"uniqueItems": True}}]

    def items(count: int) -> list[Any]:
        return [{"a": number} for number in range(count)]

    assert calls(check, items(2000), schema) < 3 * calls(check, items(1000), schema)
    assert check(items(2000), schema).status == "pass"
    assert check([*items(2000), {"a": 7.0}], schema).status == "fail"
    assert check([1, True, "1", None, [1], {"a": True}, {"a": 1}, 0, False, ""], schema).status == "pass"
    assert check([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], schema).status == "fail"


def test_a_value_that_nests_without_end_is_unscored() -> None:
    value: Any = 1
    for _ in range(5000):
        value = {"a": value}
    for kind in ("equals", "is-json", "word-count"):
        assert check("{}", [{"kind": kind, "value": value}]).status == "unscored"


def test_nesting_without_end_is_survived() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for kind in ("is-json", "contains-json", "contains-xml", "is-xml", "is-html"):
        sound(check(deep, [{"kind": kind}]))
    tags = "<a>" * 20_000
    for kind in ("contains-xml", "is-xml", "is-html", "contains-html"):
        sound(check(tags, [{"kind": kind}]))


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/n", "$defs": {"n": {"type": "zzz"}}},
        {"$ref": "#/$defs/n", "$defs": {"n": {"minimum": "x"}}},
        {"$ref": "#/$defs/n", "$defs": {"n": {"required": 5}}},
        {"$ref": "#/$defs/n", "$defs": {"n": {"properties": []}}},
        {"$ref": "#/const", "const": {"type": ["a", "b"]}},
    ],
)
def test_a_reference_to_what_is_no_schema_is_unscored(schema: dict[str, Any]) -> None:
    reports = [check(output, [{"kind": "is-json", "value": schema}]) for output in ('{"a": 1}', "5")]
    report = next(report for report in reports if report.status != "pass")
    assert (report.status, report.unscored) == ("unscored", "bad-schema")
