"""Templates of strangers: what they touch is counted, so that none can hang a run or fill the memory."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.errors import PromptFileError
from promptpex.core.records import Message, Prompt
from promptpex.promptfile import parse
from promptpex.promptfile.render import compiled, render, required
from promptpex.promptfile.sandbox import TemplateTooLarge, TooMuchWork, run_template, share, size_of, spend, weighed
from tests.work import calls

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
