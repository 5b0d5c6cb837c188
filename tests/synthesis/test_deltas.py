"""What a version changed, sentence by sentence, in several languages."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.records import Delta, PromptVersion
from promptpex.synthesis.history.versions import deltas, same_sentence
from tests.synthesis.prompts import version


def delta(old: PromptVersion, new: PromptVersion) -> Delta:
    """What the second version changed."""
    return deltas([old, new])[1]


def changes(old: str, new: str) -> list[tuple[str, str]]:
    """The changes as pairs of a sign and a text."""
    made = delta(version("a", old), version("b", new))
    return [({"added": "+", "removed": "-"}[change.tag], change.text) for change in made.changes]


def test_the_first_version_is_compared_with_the_empty_prompt() -> None:
    first, second = deltas([version("v1", "Be kind. Be brief."), version("v2", "Be kind.")])
    assert (first.version, first.previous) == ("v1", None)
    assert [(change.tag, change.text) for change in first.changes] == [("added", "Be kind."), ("added", "Be brief.")]
    assert (second.version, second.previous) == ("v2", "v1")
    assert [(change.tag, change.text) for change in second.changes] == [("removed", "Be brief.")]


def test_a_modified_sentence_is_one_removed_and_one_added_in_its_place() -> None:
    old = "Greet the guest. Answer in 50 words. Sign as Mara."
    assert changes(old, "Greet the guest. Answer in 80 words. Sign as Mara. Add the date.") == [
        ("-", "Answer in 50 words."),
        ("+", "Answer in 80 words."),
        ("+", "Add the date."),
    ]


def test_every_change_knows_its_turn() -> None:
    made = delta(version("a", "Be kind.", user="{{text}}"), version("b", "Be kind. Be brief.", user="Text: {{text}}"))
    assert [(change.tag, change.role, change.text) for change in made.changes] == [
        ("added", "system", "Be brief."),
        ("removed", "user", "{{text}}"),
        ("added", "user", "Text: {{text}}"),
    ]


def test_a_sentence_that_moves_to_another_turn_has_not_changed() -> None:
    made = delta(version("a", "Be kind. Be brief."), version("b", "Be kind.", user="Be brief."))
    assert made.changes == ()


def test_moved_sentences_are_counted_and_are_no_change() -> None:
    made = delta(
        version("a", "One thing. Two things. Three things."), version("b", "Three things. One thing. Two things.")
    )
    assert (made.changes, made.moved) == ((), 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use JSON. Be kind.", "- use JSON\n- **Be kind**\n"),
        ("1. Greet\n2. Answer", "- Greet\n- Answer"),
        ("1) Greet\n2) Answer", "(a) Greet\n(b) Answer"),
        ('Say "yes" or "no".', "Say “yes” or ‘no’."),
        ("Say `yes`.", 'Say "yes".'),
        ("You answer\n   in one\tline.", "You answer in one line."),
        ("Topic: {{topic}}\nTone: calm", "Topic: {{ topic }}\n\nTone: calm"),
        ("Topic: {{topic}}\n\nTone: calm", "Topic: {{topic}} Tone: calm"),
        ("never mention prices.", "NEVER mention prices!"),
        ("| a | b |\n| 1 | 2 |", "|a|b|\n|1|2|"),
        ("# Rules\nBe kind.", "Rules\n=====\nBe kind."),
        ("一、回答简短。二、不要提价格。", "1、回答简短。\n2、不要提价格。"),
    ],
)
def test_what_only_looks_different_has_not_changed(old: str, new: str) -> None:
    assert changes(old, new) == []
    assert changes(new, old) == []


def test_capitals_in_quotations_count() -> None:
    assert changes('Reply "YES" or "NO".', 'Reply "yes" or "no".') == [
        ("-", 'Reply "YES" or "NO".'),
        ("+", 'Reply "yes" or "no".'),
    ]


def test_a_new_variable_on_a_line_of_its_own_is_a_change() -> None:
    assert changes("Answer the question.\n\n{{question}}", "Answer the question.\n\n{{question}}\n\n{{orders}}") == [
        ("+", "{{orders}}")
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "请用中文回答。不要超过50字。",
            "不要超过80字。请用中文回答。",
            [("-", "不要超过50字。"), ("+", "不要超过80字。")],
        ),
        (
            "Hãy trả lời ngắn gọn. Không dùng biệt ngữ.",
            "Không dùng biệt ngữ. Hãy trả lời thật ngắn gọn.",
            [("-", "Hãy trả lời ngắn gọn."), ("+", "Hãy trả lời thật ngắn gọn.")],
        ),
        (
            "اكتب ملخصا قصيرا. هل فهمت؟",
            "هل فهمت؟ اكتب ملخصا. لا تذكر الأسعار.",
            [("-", "اكتب ملخصا قصيرا."), ("+", "اكتب ملخصا."), ("+", "لا تذكر الأسعار.")],
        ),
        (
            "Antworte z. B. in Stichworten. Sei höflich.",
            "Sei höflich. Antworte z. B. in ganzen Sätzen.",
            [("-", "Antworte z. B. in Stichworten."), ("+", "Antworte z. B. in ganzen Sätzen.")],
        ),
        ("संक्षेप में लिखो। विनम्र रहो।", "विनम्र रहो।", [("-", "संक्षेप में लिखो।")]),
    ],
    ids=["chinese", "vietnamese", "arabic", "german", "hindi"],
)
def test_other_languages(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(changes(old, new)) == sorted(expected)


def test_a_sentence_that_stands_twice_counts_twice() -> None:
    assert changes("Be kind. Be kind. Be brief.", "Be kind. Be brief.") == [("-", "Be kind.")]


SENTENCES = st.lists(
    st.sampled_from(["Be kind.", "Be brief.", "Use {{name}}.", "No prices!", "Reply in JSON."]), max_size=12
)


@given(SENTENCES, SENTENCES)
def test_what_is_added_one_way_is_removed_the_other(first: list[str], second: list[str]) -> None:
    there = changes("\n\n".join(first), "\n\n".join(second))
    back = changes("\n\n".join(second), "\n\n".join(first))
    assert sorted(text for sign, text in there if sign == "+") == sorted(text for sign, text in back if sign == "-")
    assert len(there) == sum(abs(first.count(text) - second.count(text)) for text in {*first, *second})


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_has_a_delta(old: str, new: str) -> None:
    assert delta(version("a", old), version("b", old)).changes == ()
    assert same_sentence(same_sentence(new)) is not None
    delta(version("a", old), version("b", new))


def test_a_long_prompt_is_not_held_against_itself_sentence_by_sentence() -> None:
    rng = random.Random(3)
    lines = [f"Line {rng.random()} says something." for _ in range(6000)]
    shuffled = [*lines[1000:], *(f"Line {number} is new." for number in range(1000))]
    rng.shuffle(shuffled)
    made = delta(version("a", "\n\n".join(lines)), version("b", "\n\n".join(shuffled)))
    assert len(made.changes) == 2000
