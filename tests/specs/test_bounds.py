"""Prompts, specs and quotations of any shape: what took minutes, or days, ends at once."""

from __future__ import annotations

import random

import pytest

from promptpex.codecs.text import comparing
from promptpex.codecs.text.comparing import ComparisonBudget
from promptpex.core.records import Message, Prompt, Rule, Spec
from promptpex.core.sentences import sentences
from promptpex.specs import prompt_diff, source_quotes
from promptpex.specs.prompt_diff import PromptDiff, diff_prompts, diff_sentences
from tests.work import calls

pytestmark = pytest.mark.timeout(300)
"""Each of these took from a minute to days."""

LONG = [
    ". " * 150_000,
    "e.g. " * 60_000,
    "." * 300_000 + "x",
    "{{" * 150_000,
    "{%{#{{" * 50_000,
    "1." * 150_000,
    '."' * 150_000,
    "\n.\n" * 100_000,
    " " * 300_000,
]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_hundreds_of_kilobytes_of_any_marks_are_split(text: str) -> None:
    assert sentences("Say {{word}}. " + text)[0].startswith("Say {{word}}.")


def test_a_tag_that_is_not_closed_is_text() -> None:
    assert sentences("{{ a }}") == sentences("{% if b %} {# c #}") == ()
    assert sentences("{{ a") == ("{{ a",)
    assert sentences("{{ {% a %}") == ()
    assert sentences("{{ a }} b {# c") == ("{{ a }} b {# c",)


def test_numbers_and_abbreviations_end_no_sentence() -> None:
    text = "Go home. See fig. 3 now. Or e.g. this. And 5. It ends"
    assert sentences(text) == ("Go home.", "See fig. 3 now.", "Or e.g. this.", "And 5.", "It ends")


def rule(number: int, source: str) -> Rule:
    return Rule(id=f"r{number}", rule=f"rule {number}", source=source)


def words(count: int, seed: int = 7) -> str:
    chance = random.Random(seed)
    return " ".join("".join(chance.choices("abcdefghij", k=6)) for _ in range(count))


def prompt(text: str) -> Prompt:
    return Prompt(name="p", messages=(Message(role="user", content=text),), variables=("x",), fingerprint="")


def test_many_long_quotations_in_a_prompt_without_full_stops() -> None:
    text = words(65_000)
    rules = [rule(n, words(260, seed=1000 + n)) for n in range(150)]
    assert {one.status for one in source_quotes.check_sources(rules, text)} == {"missing"}
    assert len(source_quotes.uncovered(rules, prompt(text))) == 1


def test_many_sentences_and_rules() -> None:
    text = " ".join(f"Write the word number {n}." for n in range(35_000))
    rules = [rule(n, f"Write the word number {n}.") for n in range(24)]
    bare = source_quotes.uncovered(rules, prompt(text))
    assert "Write the word number 3." not in bare
    assert len(bare) < 35_000


def test_prompts_of_one_word_are_compared() -> None:
    changes = diff_sentences("a" * 900_000, "b" + "a" * 899_999)
    assert [change.kind for change in changes] in (["changed"], ["removed", "added"], ["added", "removed"])


def test_prompts_of_many_sentences_are_compared_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a number each is held against every other: of half as many a fourth of the work, of twice no more."""
    monkeypatch.setattr(prompt_diff, "MOST_PAIRS", 200 * 200)
    differences: dict[int, PromptDiff] = {}

    def compare(many: int) -> None:
        old = " ".join(f"A {words(5, seed=n)} stays." for n in range(many))
        new = " ".join(f"A {words(5, seed=n)} leaves." for n in range(many))
        spec = Spec(prompt="p", rules=(rule(1, "stays"),))
        differences[many] = diff_prompts(prompt(old), prompt(new), spec=spec)

    assert calls(compare, 400) < 6 * calls(compare, 100)
    difference = differences[400]
    assert len(difference.sentences) == 400
    assert {change.kind for change in difference.sentences} == {"changed"}


def test_blanks_in_a_quotation() -> None:
    assert comparing.split_at_gaps("a" + " " * 300_000 + "b") == ["a" + " " * 300_000 + "b"]
    assert comparing.split_at_gaps("one ... two [...] three … four") == ["one", "two", "three", "four"]


def test_work_is_reckoned_before_it_is_done() -> None:
    budget = ComparisonBudget(20_000)
    assert not budget.partial(1_000, 1_000_000)
    assert budget.partial(8, 100)
    assert budget.ratio(10, 10)
    assert budget.left < 20_000 - 2 * 5_000
    assert not ComparisonBudget(0).ratio(1, 1)
