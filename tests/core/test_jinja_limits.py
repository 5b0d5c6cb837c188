"""Templates of strangers: what they touch is counted, so that none can hang a run or fill the memory."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import check
from promptpex.assertions.javascript import value_templates
from promptpex.assertions.model import Unscorable
from promptpex.assertions.strikes import OVERRUNS
from promptpex.core.errors import PromptFileError
from promptpex.core.jinja_limits import TooMuchWork, share, size_of, spend, weighed
from promptpex.core.records import Message, Prompt
from promptpex.promptfile import parse
from promptpex.promptfile.render import compiled, render, required
from promptpex.promptfile.sandbox import TemplateTooLarge, run_template
from tests.work import calls

DOUBLED = "{% set a=[1] %}" + "{% set a=[a,a] %}" * 40
OBJECTS = "{% set a={'x': 1} %}" + "{% set a={'x': a, 'y': a} %}" * 40
LIMIT = 1_000_000
"""Characters of work; a hundred turns alone, and a look at ``LONG`` in one of them, stay below it."""
LONG = "ab " * 5000
TURNS = "{% for i in range(100) %}"
VALUES = [
    DOUBLED + "{{ a }}",
    DOUBLED + "{{ a|dump }}",
    DOUBLED + "{{ a|join(',') }}",
    DOUBLED + "{{ a ~ '' }}",
    DOUBLED + "{{ a + '' }}",
    DOUBLED + "{{ a * 1 }}",
    DOUBLED + "{{ a|upper }}",
    DOUBLED + DOUBLED.replace("a", "b") + "{{ a == b }}",
    DOUBLED + "{{ {'x': 1}[a] }}",
    DOUBLED + "{{ a is eq a }}{{ a|sort|length }}",
    OBJECTS + "{{ a|dump }}",
    *(
        f"{TURNS}{{% set y = {work} %}}{{% endfor %}}"
        for work in (
            "x|upper",
            "x|sort",
            "x|list",
            "x|e",
            "x|dump",
            "x == x + 'b'",
            "'zz' in x",
            "x[1:]",
            "x|length",
            "x.length",
            "x is lower",
            "x < x",
            "x|wordcount",
            "x|striptags",
        )
    ),
    "{{ x" + "|urlencode" * 60 + " }}",
    "{{ ('1' * 1)|int }}{{ n|float }}{{ n|int }}" + TURNS + "{{ n|float }}{% endfor %}",
]


@pytest.mark.parametrize("template", VALUES, ids=range(len(VALUES)))
def test_work_in_a_checks_value_is_bounded(template: str) -> None:
    with pytest.raises(Unscorable, match="works on more than 1,000,000 characters"):
        value_templates.render(template, {"x": LONG, "n": "+1e" * 5000}, work=LIMIT)


def test_lists_are_not_added_up_in_a_checks_value() -> None:
    with pytest.raises(Unscorable, match="starts from something that is not a number"):
        value_templates.render("{% set a=[1] %}{{ [[a,a],[a,a]]|sum(start=[]) }}", {})


@pytest.mark.parametrize("text", ["1e" * 500_000, "+" * 1_000_000, "9" * 1_000_000, "." * 1_000_000])
def test_numbers_are_read_from_any_text(text: str) -> None:
    value_templates.render("{{ n|float }} {{ n|int }}", {"n": text})


@pytest.mark.parametrize(
    ("text", "number", "whole"),
    [
        ("12.5kg", "12.5", "12"),
        ("-3e2x", "-300", "-3"),
        ("1.e", "1", "1"),
        ("+-1", "0", "0"),
        ("a", "0", "0"),
        (".5", "0.5", "0"),
    ],
)
def test_numbers_at_the_start_of_a_text(text: str, number: str, whole: str) -> None:
    assert value_templates.render("{{ n|float }} {{ n|int }}", {"n": text}) == f"{number} {whole}"


WORKS = [
    "x.count('ab')",
    "'zz' in x",
    "x.lower()",
    "x.split()|length",
    "x|upper == x|lower",
    "x == y",
    "x < y",
    "x[1:]|length",
    "x|wordcount",
    "x is lower",
    "x.find('zz')",
]


@pytest.mark.parametrize("work", WORKS)
def test_work_in_a_prompt_is_bounded(work: str) -> None:
    template = compiled(TURNS + "{% if " + work + " %}{% endif %}{% endfor %}{{ y }}")
    with pytest.raises(TemplateTooLarge, match="works on more than 1,000,000 characters"):
        run_template(template, {"x": LONG, "y": LONG + "c"}, work=LIMIT)


def test_a_word_as_long_as_a_book_is_not_wrapped() -> None:
    with pytest.raises(PromptFileError):
        render(_prompt("{{ x|wordwrap(10) }}"), {"x": "a" * 4_000_000})


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


TAGS = ["{{x|upper}}" * 20_000, "{{[" + "1," * 60_000 + "]}}", "{% set a=1 %}" * 20_000, "{{" + "x~" * 60_000 + "x}}"]


@pytest.mark.parametrize("template", TAGS, ids=range(len(TAGS)))
def test_a_template_of_too_many_tags_is_not_compiled(template: str) -> None:
    with pytest.raises(PromptFileError, match="more than 50,000 names and signs"):
        parse(f"user:\n{template}")
    report = check("x", [{"kind": "contains", "value": template}])
    assert report.unscored == "bad-template"
    assert "more than 50,000 names and signs" in report.reason


def test_tags_that_nest_deep_are_compiled_in_proportion() -> None:
    """Jinja's optimizer takes the cube of a tag's nesting."""

    def nested(depth: int) -> str:
        return "{{ x" + "|upper" * depth + " }}"

    for read in (lambda text: parse(f"user:\n{text}"), value_templates.check_syntax):
        assert calls(read, nested(190)) < 2.5 * calls(read, nested(95))
    (message,) = render(parse(f"user:\n{nested(190)}"), {"x": "a"})
    assert message.content == "A"
    assert check("A", [{"kind": "equals", "value": nested(190)}], vars={"x": "a"}).status == "pass"


def test_a_long_text_with_some_tags_is_compiled() -> None:
    text = "A sentence of words. " * 20_000
    (message,) = render(parse(f"user:\n{text}{{{{x}}}}"), {"x": "end"})
    assert message.content == f"{text}end"
    assert value_templates.render(f"{text}{{% if x %}}{{{{x}}}}{{% endif %}}", {"x": "end"}) == f"{text}end"


def test_ordinary_templates_have_room() -> None:
    body = "{% for line in x.split('. ') if 'word' in line %}{{ loop.index }}: {{ line|upper|trim }}\n{% endfor %}"
    text = "A word here. " * 2000
    (message,) = render(_prompt(body), {"x": text})
    assert message.content.count("\n") == 2000
    names = "{% for n in items %}{{ n|upper }}{% if n == last %}!{% endif %}{% endfor %}"
    items = [f"name{n}" for n in range(3000)]
    assert value_templates.render(names, {"items": items, "last": "name2999"}).endswith("NAME2999!")


def test_work_is_counted_before_it_is_done() -> None:
    shared: Any = [1]
    for _ in range(60):
        shared = [shared, shared]
    with share(1000), pytest.raises(TooMuchWork, match="more than 1,000 characters"):
        weighed(shared)
    with share(1000) as work:
        assert weighed("a" * 600) == "a" * 600
        assert work.left == 398
        with pytest.raises(TooMuchWork):
            weighed("a" * 600)
    with share(1000, seconds=0), pytest.raises(TooMuchWork, match="too long"):
        spend(1)
    spend(1e30)
    assert size_of({"ab": ["c"]}, 1000) == 20 + 3 + 20 + 2


def test_a_template_that_always_works_too_much_is_given_up() -> None:
    reasons = []
    for _ in range(OVERRUNS + 20):
        with pytest.raises(Unscorable) as failure:
            value_templates.render(DOUBLED + "{{ a }}", {}, work=LIMIT)
        reasons.append(str(failure.value))
    assert "works on more than" in reasons[0]
    assert set(reasons[OVERRUNS:]) == {reasons[-1]}
    assert "too often before" in reasons[-1]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "[2, 1e400]"])
def test_a_number_beyond_all_numbers_is_refused(number: str) -> None:
    with pytest.raises(PromptFileError, match="a number is too large"):
        render(_prompt("{{ " + number + " }}"), {"x": "", "y": ""})
    assert "a number is too large" in check("x", [{"kind": "contains", "value": "{{ " + number + " }}"}]).reason


def _prompt(text: str) -> Prompt:
    prompt = Prompt(name="p", messages=(Message(role="user", content=text),), variables=("x", "y"), fingerprint="")
    assert required(prompt) == ("x", "y")
    return prompt
