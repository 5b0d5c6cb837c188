"""What was asked: inputs as texts, messages as sent, and the prompt with the words that its rules rest on."""

from __future__ import annotations

import pytest

from promptpex.core.records import Case, Message, Rule
from promptpex.promptfile import renderer
from promptpex.report import summarise
from promptpex.report.html_page import html
from promptpex.report.page import asked
from promptpex.report.page.asked import all_asked, named_inputs
from promptpex.report.page.quoted_prompt import quoted_messages
from promptpex.report.view_model import page
from tests.report.test_html_page import Reader
from tests.tables.by_hand import colours, output, run, verdict


def marked(text: str, *sources: str) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """The parts of a prompt of one message, with the rules that rest on each and those that end with it."""
    rules = [Rule(id=f"r{number}", rule="x", source=source) for number, source in enumerate(sources, 1)]
    (message,) = quoted_messages([Message(role="user", content=text)], rules)
    return [(part.text, part.rules, part.named) for part in message.parts]


def long(text: object) -> Message:
    return Message(role="user", content=str(text).ljust(100, "x"))


def test_inputs_are_texts_by_their_names() -> None:
    case = Case(id="c", inputs={"body": "two\nlines", "tags": ["a", "b"], "urgent": True})
    assert named_inputs(case) == (("body", "two\nlines"), ("tags", '[\n "a",\n "b"\n]'), ("urgent", "true"))


def test_the_page_shows_inputs_as_texts_and_what_was_sent_once_per_case() -> None:
    made = colours()
    page_ = Reader(html(summarise(made), sent=renderer(made.prompt)))
    assert "thing t1 place here" in page_.text
    assert '{"thing"' not in page_.text
    assert page_.text.count("Answer in capitals. t1 here") == 1
    assert page_.text.count("messages as sent") == 4
    without = Reader(html(summarise(made)))
    assert "messages as sent" not in without.text


def test_a_prompt_that_cannot_be_rendered_shows_no_messages() -> None:
    made = colours()
    broken = made.replace(prompt=made.prompt.replace(messages=(Message(role="user", content="{{ nosuch }}"),)))
    assert "messages as sent" not in Reader(html(summarise(broken), sent=renderer(broken.prompt))).text


def test_the_messages_of_the_cases_that_come_first_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked, "MOST_SENT", 250)
    cases = [Case(id=name, inputs={"x": name}) for name in "abcd"]
    made = all_asked(
        cases, ["d", "b", "a", "c"], lambda inputs: (Message(role="user", content=str(inputs["x"]) * 100),)
    )
    assert {name for name, one in made.items() if one.sent} == {"d", "b"}
    assert all(one.inputs for one in made.values())
    shown, sent = summarise(colours()), lambda inputs: (long(inputs["thing"]),)
    assert page(shown, sent).without_messages == 2
    assert "The messages as sent of 2 cases are left out here" in Reader(html(shown, sent=sent)).text


def test_the_words_of_rules_are_marked_where_they_stand() -> None:
    text = 'Answer in *one* word.\nNever say "no thanks", ever.'
    assert marked(text, "Answer in one word.", "say 'no  thanks'", "nowhere to be seen") == [
        ("Answer in *one* word", ("r1",), ("r1",)),
        (".\nNever ", (), ()),
        ('say "no thanks', ("r2",), ("r2",)),
        ('", ever.', (), ()),
    ]


def test_quotations_that_overlap_or_have_gaps_are_marked_in_parts() -> None:
    assert marked("one two three four", "one two three", "two ... four") == [
        ("one ", ("r1",), ()),
        ("two", ("r1", "r2"), ("r2",)),
        (" three", ("r1",), ("r1",)),
        (" ", (), ()),
        ("four", ("r2",), ("r2",)),
    ]


def test_part_of_a_word_is_not_marked() -> None:
    assert marked("The answer is unanswered.", "answered") == [("The answer is unanswered.", (), ())]


def test_a_long_prompt_is_cut_and_its_rest_is_not_searched() -> None:
    rules = [Rule(id=f"r{number}", rule="x", source=source) for number, source in enumerate(("a " * 900 + "b", "end"))]
    (message,) = quoted_messages([Message(role="user", content="a " * 20_000 + "end")], rules)
    assert (message.more, [part.rules for part in message.parts]) == (20_003, [()])


def test_a_rule_links_to_its_words_and_back() -> None:
    page_ = Reader(html(summarise(colours())))
    assert "The prompt, with the words that its rules rest on" in page_.text
    assert {"source-r1", "source-r2", "rule-r1"} <= set(page_.having("id"))
    assert "#source-r1" in page_.having("href")
    nothing = run([output()], [verdict()], rules=(Rule(id="r1", rule="x"),))
    assert "with the words" not in Reader(html(summarise(nothing))).text


def test_settings_that_nobody_set_stand_apart() -> None:
    made = run(
        [output()], [verdict()], settings={"repeats": 1, "limit": 3}, origins={"repeats": "default", "limit": "flag"}
    )
    text = Reader(html(summarise(made))).text
    assert "Settings limit 3 (flag) Settings at their defaults repeats 1 (default)" in text
