"""Rendering prompts: values once, strictly, and hostile templates without harm."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import PromptFileError
from promptpex.core.records import Case, Message, ModelName, Output, Prompt
from promptpex.core.time_allowance import Allowance
from promptpex.llm.fake import FakeClient
from promptpex.promptfile import parse, render
from promptpex.promptfile.render import compiled, required
from promptpex.promptfile.sandbox import TemplateTooLarge, TooMuchWork, run_template, share, size_of, spend, weighed
from promptpex.workflow.execution.collect import cells, collect
from tests.work import calls

texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


def _one(template: str, **values: Any) -> str:
    return render(parse(template), values)[0].content


@given(texts, texts)
def test_values_go_in_as_they_are(first: str, second: str) -> None:
    messages = render(parse("user:\n<{{a}}|{{b}}>"), {"a": first, "b": second})
    assert [turn.content for turn in messages] == [f"<{first}|{second}>"]


@given(texts)
def test_an_implicit_input_is_a_message_of_its_own(text: str) -> None:
    messages = render(parse("Be brief."), {"input": text})
    assert [(turn.role, turn.content) for turn in messages] == [("system", "Be brief."), ("user", text)]


def test_values_are_never_rendered_again() -> None:
    hostile = "{{ 7 * 7 }}{% for x in range(9) %}user:\n{% endfor %}"
    assert _one("{{a}}", a=hostile) == hostile
    assert render(parse("Hi"), {"input": hostile})[1].content == hostile


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"a": ["é", 1]}, '{"a": ["é", 1]}'),
        ([1, None], "[1, null]"),
        (5, "5"),
        (1.5, "1.5"),
        (True, "true"),
        (None, "null"),
    ],
)
def test_other_values_are_shown_as_json(value: Any, shown: str) -> None:
    assert _one("{{a}}", a=value) == shown
    assert render(parse("Hi"), {"input": value if value is not None else "null"})[1].content == shown


def test_what_an_error_advises_is_allowed() -> None:
    with pytest.raises(PromptFileError, match="join it with ~"):
        _one("{{ '%s' % a }}", a=1)
    assert _one("{{ 'x' ~ a }}", a=1) == "x1"


def test_loops_filters_and_conditions_work() -> None:
    template = "{% for d in docs %}{{loop.index}}. {{d.text|upper}}\n{% endfor %}{{ docs|length ~ '!' }}"
    assert _one(template, docs=[{"text": "a"}, {"text": "b"}]) == "1. A\n2. B\n2!"
    assert _one("{% if a is defined and a > 2 %}{{ a + 1 }}{% else %}{{ b or 'x' }}{% endif %}", a=3, b="") == "4"
    assert _one("{{ docs|map(attribute='n')|join(', ') }}", docs=[{"n": "a"}, {"n": "b"}]) == "a, b"
    assert _one("{{ a.split(',')[0].strip() }} {{ d.items()|list }}", a="x , y", d={"k": 1}) == 'x [["k", 1]]'


def test_a_missing_value_is_named() -> None:
    with pytest.raises(PromptFileError, match="'word' is undefined"):
        _one("Tag {{word}}")
    with pytest.raises(PromptFileError, match="'input'"):
        render(parse("Hi"), {})


def test_a_default_of_the_front_matter_fills_in() -> None:
    prompt = parse("---\ninputs:\n  tone: {default: kind}\n---\nBe {{tone}}")
    assert render(prompt, {})[0].content == "Be kind"
    assert render(prompt, {"tone": "short"})[0].content == "Be short"


HOSTILE = [
    "{% for i in range(1000000000) %}x{% endfor %}",
    "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "{{ 'x' * 10**9 }}",
    "{{ 10**10**10**10**10**10 }}",
    "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
    "{% set a = 'xxxxxxxxxx' %}" + "{% set a = a + a %}" * 40 + "{{ a }}",
    "{% set a = [1, 2] %}" + "{% set a = [a, a] %}" * 40 + "{{ a }}",
    "{% set a = {'k': 1} %}" + "{% set a = {'k': a, 'l': a} %}" * 40 + "{{ a|tojson }}",
    "{% set a = 3 %}" + "{% set a = a * a %}" * 60 + "{{ a }}",
    "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}",
    "{{ ['x' * 100000] * 100000 | join }}",
    "{{ 'a'|indent(1000000000) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%1000000000d'|format(1) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ 'a'.ljust(1000000000) }}",
    "{% for i in range(9999) %}{{ 'x' * 100000 }}{% endfor %}",
    "{{ ''.__class__ }}",
    "{{ a.__class__.__mro__ }}",
    "{{ a['__class__'] }}",
    "{{ a|attr('__class__') }}",
    "{{ a.append(1) }}",
    "{{ a.format_map }}{{ a.format_map({}) }}",
    "{{ lipsum.__globals__ }}",
    "{{ cycler.__init__ }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
    "{% import 'os' as os %}",
    "{{ 1 / 0 }}",
    "{{ a.b.c.d }}",
    "{{ 'a' + 1 }}",
    "(" * 5 + "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
]


@pytest.mark.parametrize("template", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_template_ends_soon_with_a_named_error(template: str) -> None:
    with pytest.raises(PromptFileError) as caught:
        _one(template, a=[1], input="x")
    assert len(str(caught.value)) < 400


async def test_a_template_that_is_slow_on_every_case_does_not_hold_up_a_command() -> None:
    """The clock says that each rendering takes 4 s, under the limit of one."""
    now = [0.0]

    def clock() -> float:
        now[0] += 4.0
        return now[0]

    prompt = parse("user:\nSay {{a}}")
    asked = cells([Case(id=f"c{n}", inputs={"a": "x"}) for n in range(9)], [ModelName(name="m", label="m")], 1)
    client = FakeClient(lambda _: "yes")
    made = dict[int, Output]()
    await collect(client, prompt, asked, on_output=made.__setitem__, rendering=Allowance(10.0, clock=clock))
    outputs = [made[number] for number in range(9)]
    assert [output.error for output in outputs] == [None] * 3 + ["bad-input"] * 6
    assert "rendering it has taken more than 10 s in all; make its template simpler" in str(outputs[-1].message)
    assert len(client.requests) == 3


@given(st.text("{}%# abx|~()[]'1*+.forinsetd", max_size=40))
def test_any_template_renders_or_fails_by_name(template: str) -> None:
    try:
        prompt = parse(f"user:\nx{template}")
        render(prompt, dict.fromkeys(prompt.variables, "v"))
    except PromptFileError:
        return


LIMIT = 1_000_000
"""Characters of work; a hundred turns alone, and a look at ``LONG`` in one of them, stay below it."""
LONG = "ab " * 5000
TURNS = "{% for i in range(100) %}"
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


TAGS = ["{{x|upper}}" * 20_000, "{{[" + "1," * 60_000 + "]}}", "{% set a=1 %}" * 20_000, "{{" + "x~" * 60_000 + "x}}"]


@pytest.mark.parametrize("template", TAGS, ids=range(len(TAGS)))
def test_a_template_of_too_many_tags_is_not_compiled(template: str) -> None:
    with pytest.raises(PromptFileError, match="more than 50,000 names and signs"):
        parse(f"user:\n{template}")


def test_tags_that_nest_deep_are_compiled_in_proportion() -> None:
    """Jinja's optimizer takes the cube of a tag's nesting."""

    def nested(depth: int) -> str:
        return "{{ x" + "|upper" * depth + " }}"

    def read(text: str) -> object:
        return parse(f"user:\n{text}")

    assert calls(read, nested(190)) < 2.5 * calls(read, nested(95))
    (message,) = render(parse(f"user:\n{nested(190)}"), {"x": "a"})
    assert message.content == "A"


def test_a_long_text_with_some_tags_is_compiled() -> None:
    text = "A sentence of words. " * 20_000
    (message,) = render(parse(f"user:\n{text}{{{{x}}}}"), {"x": "end"})
    assert message.content == f"{text}end"


def test_ordinary_templates_have_room() -> None:
    body = "{% for line in x.split('. ') if 'word' in line %}{{ loop.index }}: {{ line|upper|trim }}\n{% endfor %}"
    text = "A word here. " * 2000
    (message,) = render(_prompt(body), {"x": text})
    assert message.content.count("\n") == 2000


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


@pytest.mark.parametrize("number", ["1e999", "-1e999", "[2, 1e400]"])
def test_a_number_beyond_all_numbers_is_refused(number: str) -> None:
    with pytest.raises(PromptFileError, match="a number is too large"):
        render(_prompt("{{ " + number + " }}"), {"x": "", "y": ""})


def _prompt(text: str) -> Prompt:
    prompt = Prompt(name="p", messages=(Message(role="user", content=text),), variables=("x", "y"), fingerprint="")
    assert required(prompt) == ("x", "y")
    return prompt
