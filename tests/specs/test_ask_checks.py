"""What the author of checks replies, conditions among it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from promptpex.assertions import KIND_NAMES, check
from promptpex.assertions.authored_checks import KINDS, without_needless_escapes
from promptpex.core import stage_templates
from promptpex.core.records import Case, Check, InputCheck, Rule
from promptpex.specs.ask_checks import CheckReply, read_check
from promptpex.specs.check_trials import Evidence, Proposal
from promptpex.specs.propose_checks import with_checks
from tests.samples import prompt
from tests.specs.scripted_checks import NO_EVIDENCE, Author, Reply, outcome, proposed, reply


@pytest.mark.parametrize(
    ("kind", "value", "made"),
    [
        (
            "not-word-any",
            "(?i)as an AI\n sorry \n",
            Check(kind="not-word-any", value=["as an AI", "sorry"], ignore_case=True),
        ),
        ("contains-any", "RED\nBLUE\n", Check(kind="contains-any", value=["RED", "BLUE"])),
        ("not-contains-any", "(?i)red\nblue", Check(kind="not-icontains-any", value=["red", "blue"])),
        ("contains", "(?i)red", Check(kind="icontains", value="red")),
        ("equals", "NN", Check(kind="equals", value="NN")),
        (
            "not-starts-with",
            "(?i)sure.",
            Check(kind="not-regex", value=r"^sure\.", dialect="unicode", ignore_case=True),
        ),
        ("equals", "(?i)n/a", Check(kind="regex", value=r"^n\/a$", dialect="unicode", ignore_case=True)),
        ("ends-with", "(?i)(end)", Check(kind="regex", value=r"\(end\)$", dialect="unicode", ignore_case=True)),
        ("regex", "(?i)^yes$", Check(kind="regex", value="^yes$", dialect="unicode", ignore_case=True)),
        ("is-json", "", Check(kind="is-json")),
        ("contains-json", '{"multipleOf": 0.01}', Check(kind="contains-json", value={"multipleOf": 0.01}, exact=True)),
        ("word-count", "40 to 120 words", Check(kind="word-count", value={"min": 40, "max": 120}, unit="spoken-words")),
        ("word-count", "At least 2 sentences", Check(kind="word-count", value={"min": 2}, unit="sentences")),
        ("word-count", "at most 500 characters", Check(kind="word-count", value={"max": 500}, unit="characters")),
        ("not-word-count", "exactly 1 line", Check(kind="not-word-count", value={"min": 1, "max": 1}, unit="lines")),
        ("is-xml", "whatever", Check(kind="is-xml")),
        ("contains", "{{order.total}}", Check(kind="contains", value="{{order.total}}")),
    ],
)
def test_a_reply_is_read_as_a_check(kind: str, value: str, made: Check) -> None:
    assert read_check(CheckReply(path="", kind=kind, value=value), frozenset(["order"])) == made
    there = read_check(CheckReply(path="items[].sku", kind=kind, value=value), frozenset(["order"]))
    assert there.to_dict() == {**made.to_dict(), "path": "items[].sku"}
    check("x", [made])


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (r"\"a\": \'b\' \- \, \_ \ü", r""""a": 'b' - , _ ü"""),
        (r"[\w\-.]+\.\/\$\\\-\d", r"[\w\-.]+\.\/\$\\-\d"),
        (r"\p{L}\u{1F600}\n\\", r"\p{L}\u{1F600}\n\\"),
        ("a\\", "a\\"),
        ("", ""),
    ],
)
def test_escapes_that_the_dialect_refuses_and_that_mean_nothing_are_left_out(written: str, kept: str) -> None:
    assert without_needless_escapes(written) == kept


def test_patterns_in_schemas_are_repaired_as_well() -> None:
    value = r'{"type": "object", "properties": {"pattern": {"type": "string", "pattern": "^\\#\\w+$"}}}'
    made: Any = read_check(CheckReply(path="$", kind="is-json", value=value), frozenset())
    assert check('{"pattern": "#a"}', [made]).status == "pass"
    assert check('{"pattern": "a"}', [made]).status == "fail"


def test_every_kind_that_may_be_proposed_is_one_and_stands_in_the_template() -> None:
    source = (stage_templates.folder() / "specs" / "checks.jinja").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^- |, |; )([a-z]+(?:-[a-z]+)*)(?=[,:])", source, re.MULTILINE))
    assert named >= KINDS
    assert set(KIND_NAMES) >= KINDS


SENT = {"variable": "order", "path": "state", "kind": "equals", "value": "sent"}
LOST = {**SENT, "value": "lost"}


class TestConditions:
    """Rules that need the input: values that name inputs, and checks of the condition."""

    rule = Rule(id="r1", rule="If the order is sent, the output names its number.", needs="input")
    shop = prompt("Answer. {{order}}", variables=("question",))
    here: Sequence[Mapping[str, str]] = [{"name": "order", "value": '{"state": "sent", "number": "A7"}'}]
    elsewhere: Sequence[Mapping[str, str]] = [{"name": "order", "value": '{"state": "new", "number": "A8"}'}]

    def answers(self, **more: Any) -> Reply:
        examples = {"keeps": ["It is A7."], "keeps_only_this": [], "breaks": ["No.", "A71"]}
        whole = {**examples, "when": [SENT], "inputs": self.here, "other_inputs": self.elsewhere}
        return {**reply(proposed("word-any", "{{order.number}}")), **whole, **more}

    async def outcome(self, *answers: Reply, evidence: Evidence = NO_EVIDENCE, rule: Rule | None = None) -> Proposal:
        under_test = self.shop.replace(variables=("order", "question"))
        (proposal,), _ = await outcome(Author(*answers), rule or self.rule, evidence=evidence, under_test=under_test)
        return proposal

    async def test_a_value_may_name_inputs_and_code_may_decide_the_condition(self) -> None:
        proposal = await self.outcome(self.answers())
        assert proposal.dropped is None
        (rule,) = with_checks([self.rule], [proposal])
        assert rule.checks == (Check(kind="word-any", value=["{{order.number}}"]),)
        assert rule.when == (InputCheck(variable="order", kind="equals", value="sent", path="state"),)

    async def test_the_condition_may_be_all_that_code_decides(self) -> None:
        proposal = await self.outcome(self.answers(checks=[], keeps=[], breaks=[], decides="condition"))
        (rule,) = with_checks([self.rule], [proposal])
        assert (len(rule.when), rule.checks, rule.needs_judge) == (1, (), True)

    @pytest.mark.parametrize(
        ("more", "why"),
        [
            ({"inputs": []}, "lack the input order"),
            ({"other_inputs": []}, "came without inputs for which it holds and"),
            ({"other_inputs": [{"name": "order", "value": '{"state": "sent"}'}]}, "for which it should not"),
            ({"when": [{**SENT, "variable": "bill"}]}, "'bill', which is not an input"),
            ({"when": [LOST]}, "does not hold for the inputs"),
            ({"when": [{**SENT, "kind": "divination"}]}, "there is no kind 'divination'"),
        ],
    )  # fmt: skip
    async def test_a_condition_has_to_prove_itself(self, more: dict[str, Any], why: str) -> None:
        assert why in str((await self.outcome(self.answers(**more))).dropped)

    async def test_a_condition_is_held_against_the_cases_of_the_rule(self) -> None:
        new, sent = ({"order": f'{{"state": "{state}", "number": "A9"}}', "question": "?"} for state in ("new", "sent"))
        aimed = Case(id="c1", rule="r1", inputs=new)
        refused = await self.outcome(self.answers(), evidence=Evidence(cases=[aimed]))
        assert "excludes the case c1, which was written for the rule" in str(refused.dropped)
        both = [aimed.replace(id="c2", inputs=sent), aimed]
        assert (await self.outcome(self.answers(), evidence=Evidence(cases=both))).dropped == refused.dropped
        assert (await self.outcome(self.answers(), evidence=Evidence(cases=both[:1]))).dropped is None
        assert (await self.outcome(self.answers(), evidence=Evidence(cases=[aimed.replace(rule="r9")]))).dropped is None

    async def test_expected_outputs_count_with_their_own_inputs_where_the_condition_holds(self) -> None:
        new, sent = ({"order": {"state": state, "number": "A9"}, "question": "?"} for state in ("new", "sent"))
        right = [Case(id="c1", inputs=sent, expected="It is A9."), Case(id="c2", inputs=new, expected="Not yet.")]
        assert (await self.outcome(self.answers(), evidence=Evidence(cases=right))).dropped is None
        wrong = [right[0].replace(expected="It is on its way.")]
        assert "expected output of case c1" in str(
            (await self.outcome(self.answers(), evidence=Evidence(cases=wrong))).dropped
        )

    async def test_the_right_answer_may_be_named_where_every_case_has_one(self) -> None:
        given = {"name": "expected", "value": "It is A7."}
        answers = self.answers(checks=[proposed("equals", "{{expected}}")], when=[], inputs=[given], other_inputs=[])
        sent = {"order": {"state": "sent", "number": "A9"}, "question": "?"}
        case = Case(id="c1", inputs=sent, expected="It is A9.")
        whole = await self.outcome(answers, evidence=Evidence(cases=[case]))
        assert (whole.dropped, whole.checks) == (None, (Check(kind="equals", value="{{expected}}"),))
        for cases in ([], [case, case.replace(id="c2", expected=None)]):
            refused = await self.outcome(answers, evidence=Evidence(cases=cases))
            assert "'expected', which is not an input of the prompt" in str(refused.dropped)

    async def test_the_condition_of_a_person_stays(self) -> None:
        own = InputCheck(variable="question", kind="contains", value="where")
        rule = self.rule.replace(when=(own,))
        answers = self.answers(inputs=[*self.here, {"name": "question", "value": "where is it"}])
        proposal = await self.outcome(answers, rule=rule)
        assert proposal.dropped is None
        assert with_checks([rule], [proposal])[0].when == (own,)

    async def test_a_rule_about_the_output_alone_may_not_name_inputs(self) -> None:
        proposal = await self.outcome(self.answers(when=[]), rule=self.rule.replace(needs="output"))
        assert "not an input of the prompt" in str(proposal.dropped)
