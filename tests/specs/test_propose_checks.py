"""Proposed checks prove themselves, are asked for once more, or are dropped with a reason."""

from __future__ import annotations

import json
from typing import Any
from unicodedata import normalize

import pytest

from promptpex.core.errors import BudgetExceeded, EmptyReply
from promptpex.core.events import Event, Notice
from promptpex.core.records import Case, Check, Output, Prompt, Request, Rule, Status, Verdict
from promptpex.specs.check_trials import Evidence, Proposal
from promptpex.specs.propose_checks import MOST_TEXTS, judged_texts, quoted_texts, shown_to_be_right, with_checks
from tests.samples import prompt
from tests.specs.scripted_checks import (
    NO_EVIDENCE,
    OTHER,
    RULE,
    Author,
    Reply,
    asked,
    fenced,
    nothing,
    outcome,
    proposed,
    reply,
)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (reply(proposed("regex", "([")), "does not compile"),
        (reply(proposed("is-json", "{no")), "not JSON"),
        (reply(proposed("word-count", "few")), "needs a number and a unit"),
        (reply(proposed("contains", "{{ env.HOME }}")), "not an input of the prompt"),
        (reply(proposed("contains", "{% if thing %}")), "no template syntax"),
        (reply(proposed("contains", "{{ thing | upper }}")), "no template syntax"),
        (reply(proposed("regex", "^[a-z]+$")), "should keep the rule"),
        (reply(proposed("word-count", "at most 1 words")), "should break the rule"),
        (reply(proposed("regex", "^[A-Z-]+$"), keeps=[]), "came without outputs"),
        (reply(proposed("telepathy", "x")), "there is no kind 'telepathy'"),
        (reply(proposed("javascript", "true")), "there is no kind 'javascript'"),
        (reply(proposed("word-any", "\n")), "no text to look for"),
    ],
)
async def test_what_does_not_prove_itself_is_asked_for_once_more_and_dropped(answer: Reply, why: str) -> None:
    (proposal,), client = await outcome(Author(answer))
    assert why in str(proposal.dropped)
    assert len(client.requests) == 2
    assert why in fenced(client.requests[1], "refused")
    assert with_checks([RULE], [proposal]) == [RULE]


async def test_a_refused_proposal_may_be_mended() -> None:
    bad, good = reply(proposed("regex", "^[A-Z]+$")), reply(proposed("regex", "^[A-Z-]+$"))
    (proposal,), client = await outcome(Author(bad, good))
    assert proposal.dropped is None
    assert [len(client.requests), proposal.checks[0].value] == [2, "^[A-Z-]+$"]
    assert "DARK-BLUE" in fenced(client.requests[1], "refused")
    assert (
        client.requests[0].messages[1].content.split("Propose checks for")[0] in client.requests[1].messages[1].content
    )


async def test_a_value_in_a_json_output_is_looked_at_by_its_path() -> None:
    """Where an output that breaks another rule holds no such value, the check does not fail it."""
    limit = proposed("word-count", "at most 2 words", path="reply")
    examples = {"keeps": ['{"reply": "Yes — sir"}'], "keeps_only_this": ["no JSON"], "breaks": ['{"reply": "a b c"}']}
    (proposal,), client = await outcome(Author(reply(limit) | examples))
    assert (proposal.dropped, len(client.requests)) == (None, 1)
    assert proposal.checks == (Check(kind="word-count", value={"max": 2}, unit="spoken-words", path="reply"),)
    (proposal,), _ = await outcome(Author(reply(limit) | examples | {"keeps": ["no JSON"]}))
    assert "should keep the rule: 'no JSON'" in str(proposal.dropped)


async def test_what_code_cannot_decide_is_not_asked_for_again() -> None:
    (proposal,), client = await outcome(Author(nothing("r1")))
    assert proposal.dropped == "code cannot decide it, says the author"
    assert len(client.requests) == 1


async def test_checks_that_decide_in_part_need_to_catch_one() -> None:
    (proposal,), _ = await outcome(Author(reply(proposed("word-count", "at most 1 words"), decides="partly")))
    assert (proposal.dropped, proposal.decides) == (None, "partly")


async def test_the_reason_shows_where_an_example_leaves_those_of_the_other_side() -> None:
    head = '{"category": "shipping", "steps": "' + "x" * 100
    examples = {"keeps": [head + '", "reply": "Yes."}'], "breaks": [head + '", "reply": 7}'], "keeps_only_this": []}
    answer = reply(proposed("contains", "shipping")) | examples
    (proposal,), _ = await outcome(Author(answer))
    assert '"reply": 7}' in str(proposal.dropped)
    assert "category" not in str(proposal.dropped)


class TestOtherEvidence:
    """Outputs that are right whatever the author of the check thinks."""

    narrow = reply(proposed("regex", "^[A-Z-]+$"))
    wide = reply(proposed("regex", "^[A-Z-]+$|^Unknown$"), keeps=["RED", "Unknown"])
    breaking = reply(proposed("regex", "^[A-Z-]+$"), breaks=["red", "Unknown"])

    @pytest.fixture(params=["another rule's example", "an expected output", "the prompt"])
    def given(self, request: pytest.FixtureRequest) -> tuple[Reply, Evidence, Prompt, str]:
        """``Unknown`` is right: the other rule's reply, the evidence, the prompt, and how the reason calls it."""
        expects = Case(id="c7", inputs={"thing": "x", "place": "y"}, expected="Unknown")
        says = prompt("Name the colour. If it has none, return Unknown.")
        return {
            "another rule's example": (nothing("r2", "Unknown"), NO_EVIDENCE, prompt(), "an example of rule r2"),
            "an expected output": (
                nothing("r2"),
                Evidence(cases=[expects]),
                prompt(),
                "the expected output of case c7",
            ),
            "the prompt": (nothing("r2"), NO_EVIDENCE, says, "the prompt prescribes it"),
        }[request.param]

    async def test_a_check_that_refuses_what_is_right_is_dropped(self, given: Any) -> None:
        other, evidence, under_test, whose = given
        (proposal, _), client = await outcome(
            Author([self.narrow, other]), RULE, OTHER, evidence=evidence, under_test=under_test
        )
        assert f"refuses an output that is right ({whose})" in str(proposal.dropped)
        assert asked(client.requests[1]) == ["r1"]

    async def test_it_is_kept_once_it_passes_it(self, given: Any) -> None:
        other, evidence, under_test, _ = given
        (proposal, _), _ = await outcome(
            Author([self.narrow, other], self.wide), RULE, OTHER, evidence=evidence, under_test=under_test
        )
        assert proposal.dropped is None
        assert proposal.checks[0].value == "^[A-Z-]+$|^Unknown$"

    async def test_the_author_may_say_that_it_breaks_the_rule_after_all(self, given: Any) -> None:
        other, evidence, under_test, _ = given
        (proposal, _), _ = await outcome(
            Author([self.narrow, other], self.breaking), RULE, OTHER, evidence=evidence, under_test=under_test
        )
        assert proposal.dropped is None

    async def test_what_breaks_another_rule_tells_nothing_of_this_one(self) -> None:
        other = reply(proposed("not-contains", "x"), rule="r2", keeps=["RED"], keeps_only_this=["red"], breaks=["x"])
        (proposal, second), client = await outcome(Author([self.narrow, other]), RULE, OTHER)
        assert (proposal.dropped, second.dropped) == (None, None)
        assert len(client.requests) == 1


async def test_an_author_who_forgets_outputs_that_break_another_rule_is_asked_for_one_once() -> None:
    """Whoever thinks of them sees that the checks of a rule say nothing of the others."""
    forgetful = reply(proposed("regex", "^[A-Z-]+$"), keeps_only_this=[])
    (proposal, _), client = await outcome(Author([forgetful, nothing("r2")]), RULE, OTHER)
    assert proposal.dropped is None
    assert "breaks another one" in fenced(client.requests[1], "refused")
    (alone,), client = await outcome(Author(forgetful))
    assert (alone.dropped, len(client.requests)) == (None, 1)


async def test_a_rule_may_wait_for_another_but_not_in_a_circle() -> None:
    rules = [Rule(id=f"r{n}", rule=f"The output has {n}.") for n in range(1, 6)]
    after = {"r1": "r2", "r2": "r3", "r3": "r1", "r4": "r4", "r5": "r9"}
    answers = [nothing(rule) | {"after": other} for rule, other in after.items()]
    proposals, _ = await outcome(Author(answers), *rules)
    kept = with_checks(rules, proposals)
    assert {rule.id: rule.after for rule in kept} == {"r1": "r2", "r2": "r3", "r3": None, "r4": None, "r5": None}
    own = [rules[0].replace(after="r5"), *rules[1:]]
    assert with_checks(own, proposals)[0].after == "r5"


def judged(*pairs: tuple[str, bool], source: str = "judge:j") -> Evidence:
    outputs = [Output(case=f"c{n}", model="m", text=text) for n, (text, _) in enumerate(pairs)]
    verdicts = [
        Verdict(case=f"c{n}", model="m", rule="r1", status="pass" if kept else "fail", source=source)
        for n, (_, kept) in enumerate(pairs)
    ]
    return Evidence(outputs, verdicts)


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        (judged(("GREEN", False), ("blue", True)), "contradicts all 2 verdicts so far"),
        (judged(("GREEN", False), ("blue", True), ("RED", True)), "contradicts 2 of 3 verdicts so far"),
        (judged(("GREEN", True), ("blue", True)), None),
        (judged(("GREEN", False), ("blue", True), source="check:regex"), None),
    ],
)
async def test_a_proposal_against_most_verdicts_so_far_is_dropped(evidence: Evidence, why: str | None) -> None:
    (proposal,), _ = await outcome(Author(reply(proposed("regex", "^[A-Z-]+$"))), evidence=evidence)
    assert (why is None) == (proposal.dropped is None)
    assert why is None or why in str(proposal.dropped)


class TestBatches:
    rules = tuple(Rule(id=f"r{n}", rule=f"The output has {n}.") for n in range(1, 13))

    @staticmethod
    def answers(rule: str) -> Reply:
        return reply(
            proposed("contains", rule),
            rule=rule,
            keeps=[" ".join(f"r{n}" for n in range(1, 13))],
            keeps_only_this=[f"{rule}!"],
            breaks=["no", "none"],
        )

    async def test_many_rules_are_asked_for_together(self) -> None:
        author = Author(*(self.answers(rule.id) for rule in self.rules))
        proposals, client = await outcome(author, *self.rules)
        assert [proposal.dropped for proposal in proposals] == [None] * 12
        assert [len(asked(request)) for request in client.requests] == [6, 6]
        first, second = (request.messages[1].content for request in client.requests)
        assert first.split("Propose checks for")[0] == second.split("Propose checks for")[0]
        assert first.index("<prompt-") < first.index("<rules-") < first.index("<asked-")

    async def test_a_batch_that_fails_is_asked_for_in_parts(self) -> None:
        author, heard = Author(*(self.answers(rule.id) for rule in self.rules)), list[Event]()

        def stumbles(request: Request) -> Any:
            return "no json" if "r3" in asked(request) else author(request)

        proposals, client = await outcome(stumbles, *self.rules[:5], heard=heard)
        assert [proposal.dropped for proposal in proposals] == [
            None,
            None,
            "the author gave no usable reply",
            None,
            None,
        ]
        first_turns = [asked(request) for request in client.requests if len(request.messages) == 2]
        assert first_turns == [["r1", "r2", "r3", "r4", "r5"], ["r1", "r2", "r3"], ["r1"], ["r2"], ["r3"], ["r4", "r5"]]
        assert any("asking for them in parts" in event.message for event in heard if isinstance(event, Notice))

    async def test_a_rule_that_the_reply_leaves_out_is_asked_for_once_more(self) -> None:
        author = Author(self.answers("r1"), self.answers("r2"))

        def forgets(request: Request) -> str:
            given = json.loads(author(request))["rules"]
            return json.dumps({"rules": given[:1]})

        proposals, client = await outcome(forgets, *self.rules[:2])
        assert [proposal.dropped for proposal in proposals] == [None, None]
        assert [asked(request) for request in client.requests] == [["r1", "r2"], ["r2"]]

    async def test_an_author_without_any_answer_is_left_in_peace(self) -> None:
        proposals, client = await outcome(lambda request: EmptyReply("nothing came"), *self.rules[:2])
        assert {proposal.dropped for proposal in proposals} == {"the author gave no usable reply"}
        assert len(client.requests) == 3

    async def test_a_spent_budget_ends_it(self) -> None:
        with pytest.raises(BudgetExceeded):
            await outcome(lambda request: BudgetExceeded("spent"), *self.rules[:2])

    async def test_only_rules_without_checks_are_asked_about(self) -> None:
        rules = [RULE.replace(id="r0", checks=(Check(kind="is-json"),)), RULE, OTHER.replace(stale=True)]
        proposals, client = await outcome(Author(reply(proposed("regex", "^[A-Z-]+$"))), *rules)
        assert [proposal.rule for proposal in proposals] == ["r1"]
        assert [asked(request) for request in client.requests] == [["r1"]]
        assert fenced(client.requests[0], "rules").startswith("r0: The output is one word")
        assert [len(rule.checks) for rule in with_checks(rules, proposals)] == [1, 1, 0]


JSON_RULE = Rule(id="r1", rule="The value of reply thanks for the letter.")
THANKS = '{"reply": "Merci", "cc": []}'
LETTER = '{"reply": "Merci pour la lettre.", "cc": []}'


def of_letters(check: dict[str, str], keeps: str = THANKS) -> Reply:
    return reply(check, keeps=[keeps], keeps_only_this=["Merci."], breaks=['{"reply": "No.", "cc": []}'])


@pytest.mark.parametrize(
    ("pattern", "keeps", "form"),
    [
        ("Merci", '{"reply": "Merci déjà", "cc": []}', "with escapes"),
        ("Merci", LETTER, "with escapes"),
        ("Ren\\\\u00e9|Merci\\.", '{"reply": "Ren\\u00e9", "cc": []}', "without escapes"),
        ('"reply": "Merci|Merci\\.', THANKS, "without white space"),
        ("^[^\\n]*Merci[^\\n]*(?![\\s\\S])", THANKS, "indented"),
        ('^\\s*\\{\\s*"reply"[^}]*Merci|Merci\\.', THANKS, "with its keys in another order"),
    ],
)
async def test_a_check_that_reads_the_form_of_json_is_refused_with_the_form_that_it_fails(
    pattern: str, keeps: str, form: str
) -> None:
    (proposal,), client = await outcome(Author(of_letters(proposed("regex", pattern), keeps)), JSON_RULE)
    assert f"(an example of the rule, written {form})" in str(proposal.dropped)
    assert form in fenced(client.requests[1], "refused")


async def test_a_rule_about_the_form_of_json_has_the_last_word() -> None:
    """An output that breaks it by its form alone shows what it is about: at once, or after a refusal."""
    rule = Rule(id="r1", rule="The JSON stands on one line.")
    one_line = proposed("not-regex", "\\n")
    unaware = reply(one_line, keeps=['{"a": 1}'], keeps_only_this=["no JSON"], breaks=['{"a":\n2}'])
    aware = unaware | {"breaks": ['{\n  "a": 1\n}']}
    (proposal,), client = await outcome(Author(aware), rule)
    assert (proposal.dropped, len(client.requests)) == (None, 1)
    (proposal,), client = await outcome(Author(unaware, aware), rule)
    assert (proposal.dropped, len(client.requests)) == (None, 2)
    (proposal,), client = await outcome(Author(unaware), rule)
    assert "written indented" in str(proposal.dropped)


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


def judged_of_quoted_literals(*pairs: tuple[str, Status], source: str = "judge:j") -> Evidence:
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
        (judged_of_quoted_literals((right, "pass")), False),
        (judged_of_quoted_literals((f" {right}\n", "not_concerned")), False),
        (judged_of_quoted_literals((right, "pass"), (right, "fail")), True),
        (judged_of_quoted_literals((right, "unscored")), True),
        (judged_of_quoted_literals((right, "pass"), source="check:regex"), True),
        (judged_of_quoted_literals((forbidden, "fail")), True),
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
