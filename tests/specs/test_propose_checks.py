from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.records import Check, Output, Rule, Verdict
from promptpex.specs.propose_checks import Evidence, propose_checks, with_checks
from tests.samples import role_model

RULE = Rule(id="r1", rule="The output is one word in capitals.")


def proposed(kind: str, value: str = "", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "value": value, "minimum": None, "maximum": None, "unit": "words", **more}


def reply(*checks: dict[str, Any], decides: str = "wholly", **more: Any) -> dict[str, Any]:
    examples = {"keeps": ["RED", "DARK-BLUE"], "breaks": ["red", "RED CAR"]}
    return {**examples, "checks": list(checks), "decides": decides, **more}


NO_EVIDENCE = Evidence()


async def outcome(answer: Any, evidence: Evidence = NO_EVIDENCE) -> tuple[tuple[Check, ...], str | None]:
    voice, _ = role_model(lambda request: answer)
    (proposal,) = await propose_checks(voice, [RULE], intent="", evidence=evidence)
    return proposal.checks, proposal.dropped


async def test_a_proposal_that_separates_its_examples_is_kept() -> None:
    checks, dropped = await outcome(reply(proposed("regex", r"^\s*[A-Z-]+\s*$")))
    assert dropped is None
    assert checks == (Check(kind="regex", value=r"^\s*[A-Z-]+\s*$"),)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (reply(proposed("regex", "([")), "does not compile"),
        (reply(proposed("is-json", "{no")), "not JSON"),
        (reply(proposed("word-count")), "minimum or a maximum"),
        (reply(proposed("contains", "{{ env.HOME }}")), "template syntax"),
        (reply(proposed("regex", "^[a-z]+$")), "should keep the rule"),
        (reply(proposed("word-count", maximum=1)), "should break the rule"),
        (reply(proposed("regex", "^[A-Z-]+$"), keeps=[]), "came without outputs"),
        (reply(decides="none"), "code cannot decide"),
        ("no json", "no usable reply"),
        (reply(proposed("telepathy", "x")), "no usable reply"),
    ],
)
async def test_a_proposal_that_does_not_prove_itself_is_dropped_with_its_reason(answer: Any, why: str) -> None:
    _, dropped = await outcome(answer)
    assert dropped is not None
    assert why in dropped


async def test_the_reason_shows_where_an_example_leaves_those_of_the_other_side() -> None:
    head = '{"category": "shipping", "steps": "' + "x" * 100
    answer = reply(
        proposed("contains", "shipping"), keeps=[head + '", "reply": "Yes."}'], breaks=[head + '", "reply": 7}']
    )
    _, dropped = await outcome(answer)
    assert dropped is not None
    assert '"reply": 7}' in dropped
    assert "category" not in dropped


async def test_checks_that_decide_in_part_need_to_catch_one() -> None:
    _, dropped = await outcome(reply(proposed("word-count", maximum=1), decides="partly"))
    assert dropped is None


def judged(*pairs: tuple[str, bool]) -> Evidence:
    outputs = [Output(case=f"c{n}", model="m", text=text) for n, (text, _) in enumerate(pairs)]
    verdicts = [
        Verdict(case=f"c{n}", model="m", rule="r1", status="pass" if kept else "fail", source="judge:j")
        for n, (_, kept) in enumerate(pairs)
    ]
    return Evidence(outputs, verdicts)


async def test_a_proposal_against_every_verdict_so_far_is_dropped() -> None:
    good = reply(proposed("regex", "^[A-Z-]+$"))
    assert (await outcome(good, judged(("GREEN", False), ("blue", True))))[1] == "contradicts all 2 verdicts so far"
    assert (await outcome(good, judged(("GREEN", True), ("blue", True))))[1] is None


async def test_lists_and_counts_are_read() -> None:
    checks, dropped = await outcome(
        reply(proposed("contains-any", "RED\nBLUE\n"), proposed("word-count", minimum=1, maximum=1))
    )
    assert dropped is None or "should break" in dropped
    assert [check.value for check in checks] == [["RED", "BLUE"], {"min": 1, "max": 1}]


async def test_only_rules_without_checks_are_asked_about() -> None:
    voice, client = role_model(lambda request: reply(proposed("regex", "^[A-Z-]+$")))
    rules = [RULE.replace(id="r0", checks=(Check(kind="is-json"),)), RULE]
    proposals = await propose_checks(voice, rules, intent="")
    assert [proposal.rule for proposal in proposals] == ["r1"]
    assert len(client.requests) == 1
    assert [len(rule.checks) for rule in with_checks(rules, proposals)] == [1, 1]
