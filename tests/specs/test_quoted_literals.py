"""Texts that a prompt quotes are whole answers where somebody shows that they are right, in any language."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from promptpex.core.records import Check, Output, Rule, Status, Verdict
from promptpex.specs.check_trials import Evidence, Proposal
from promptpex.specs.propose_checks import MOST_TEXTS, judged_texts, quoted_texts, shown_to_be_right
from tests.samples import prompt
from tests.specs.scripted_checks import NO_EVIDENCE, OTHER, RULE, Author, nothing, outcome, proposed, reply

PROMPTS = [
    ("Gắn nhãn. Nếu không chắc chắn, hãy trả lời “Không rõ”. Đừng nói “tôi là AI”.", "Không rõ", "tôi là AI"),
    ("Nenne die Wortart. Im Zweifel antworte „unklar“. Schreibe nie „ich bin eine KI“.", "unklar", "ich bin eine KI"),
    ("给出词性。如果不确定，请回答「不知道」。不要说“我是人工智能”。", "不知道", "我是人工智能"),
    ("حدد نوع الكلمة. إذا لم تكن متأكدا فأجب «لا أعلم». لا تقل أبدا «أنا آلة».", "لا أعلم", "أنا آلة"),
    ("Classe le mot. En cas de doute, réponds « inconnu ». N'écris jamais « une IA ».", "inconnu", "une IA"),
    ("Назови часть речи. Если не уверен, ответь **неясно**. Никогда не пиши `я ИИ`.", "неясно", "я ИИ"),
]  # fmt: skip
each_language = pytest.mark.parametrize(
    ("text", "right", "forbidden"), PROMPTS, ids=["vi", "de", "zh", "ar", "fr", "ru"]
)
ONE_WORD = proposed("regex", "^[A-Z-]+$")


async def proposal(text: str, *answers: object, rules: tuple[Rule, ...] = (RULE, OTHER), **how: object) -> Proposal:
    """What becomes of the check of the first rule."""
    (first, *_), _ = await outcome(Author(*answers), *rules, under_test=prompt(text), **how)  # type: ignore[arg-type]
    return first


@each_language
def test_all_that_is_set_apart_is_found_and_none_of_it_prescribes_anything_alone(
    text: str, right: str, forbidden: str
) -> None:
    assert {right, forbidden} <= set(quoted_texts(text))
    assert shown_to_be_right(quoted_texts(text), [], []) == []
    assert shown_to_be_right(quoted_texts(text), [f"{right}\n", "other"], [forbidden]) == [right]
    assert shown_to_be_right(quoted_texts(text), [right, forbidden], [forbidden]) == [right]
    assert shown_to_be_right(quoted_texts(text), [f"{right}!", right[1:]], []) == []


@each_language
async def test_a_check_may_not_refuse_what_another_rule_demands(text: str, right: str, forbidden: str) -> None:
    demanding = Rule(id="r3", rule="x", checks=(Check(kind="equals", value=right),))
    made = await proposal(text, [reply(ONE_WORD)], rules=(RULE, demanding))
    assert made.dropped is not None
    assert "the prompt quotes it, and it was shown to be right" in made.dropped
    assert right in made.dropped
    assert (await proposal(text, [reply(ONE_WORD)], rules=(RULE, OTHER))).dropped is None
    elsewhere = demanding.replace(checks=(Check(kind="equals", value=right, path="tag"),))
    assert (await proposal(text, [reply(ONE_WORD)], rules=(RULE, elsewhere))).dropped is None


@each_language
async def test_nor_what_the_author_has_shown_in_an_earlier_reply(text: str, right: str, forbidden: str) -> None:
    first = [reply(ONE_WORD, keeps=["RED", right]), nothing("r2")]
    forgets = [reply(ONE_WORD), nothing("r2")]
    made = await proposal(text, first, forgets)
    assert made.dropped is not None
    assert right in made.dropped
    mended = [reply(proposed("regex", f"^([A-Z-]+|{right})$")), nothing("r2")]
    assert (await proposal(text, first, mended)).dropped is None


def judged(*pairs: tuple[str, Status], source: str = "judge:j") -> Evidence:
    outputs = [Output(case=f"c{n}", model="m", text=text) for n, (text, _) in enumerate(pairs)]
    verdicts = [
        Verdict(
            case=f"c{n}",
            model="m",
            rule="r2",
            status=status,
            source=source,
            unscored="x" if status == "unscored" else None,
        )
        for n, (_, status) in enumerate(pairs)
    ]
    return Evidence(outputs, verdicts)


@each_language
async def test_nor_what_judges_of_the_latest_run_found_to_break_no_rule(text: str, right: str, forbidden: str) -> None:
    for evidence, kept in (
        (judged((right, "pass")), False),
        (judged((f" {right}\n", "not_concerned")), False),
        (judged((right, "pass"), (right, "fail")), True),
        (judged((right, "unscored")), True),
        (judged((right, "pass"), source="check:regex"), True),
        (judged((forbidden, "fail")), True),
        (NO_EVIDENCE, True),
    ):
        assert ((await proposal(text, [reply(ONE_WORD)], evidence=evidence)).dropped is None) == kept


async def test_what_a_prompt_forbids_may_be_refused_whoever_gives_it_as_right_by_mistake() -> None:
    text, _, forbidden = PROMPTS[1]
    mistaken = [reply(ONE_WORD, breaks=["red", forbidden]), reply(rule="r2", keeps=[forbidden], decides="none")]
    assert (await proposal(text, mistaken)).dropped is None


def test_letters_count_however_they_are_encoded() -> None:
    text, right, _ = PROMPTS[0]
    assert shown_to_be_right(quoted_texts(normalize("NFD", text)), [right], []) == [normalize("NFD", right)]


def test_marks_of_every_script_and_blocks() -> None:
    text = """Say “a”, ”x”, „b“, »c«, «d», ‹e›, 「f」, 『g』, `h`, **i**, __j__, 'k', "l", ＂m＂, \\"n\\".

```json
{"tag": "none"}
```
"""
    assert {*"abcdefghijklmn", '{"tag": "none"}'} <= set(quoted_texts(text))
    assert quoted_texts("") == quoted_texts("No marks at all, don't look.") == ()
    assert quoted_texts("“" + "x" * 300 + "”") == ()


def test_it_is_bounded() -> None:
    assert len(quoted_texts(" ".join(f"“{n}”" for n in range(999)))) == MOST_TEXTS
    for part in ("“", '"', "„“", "**", "```\n", "“a", "`a\n", "«" + "x" * 150):
        quoted_texts(part * 3_000)
    assert judged_texts([], [], []) == (frozenset(), frozenset())
