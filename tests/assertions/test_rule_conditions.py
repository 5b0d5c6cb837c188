"""Whom a rule concerns, by its conditions on the inputs."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import check_conditions
from promptpex.assertions.authored_checks import guessed_phrases
from promptpex.assertions.batch import CHUNK
from promptpex.core.errors import CheckError
from promptpex.core.records import Check, InputCheck, Output, Rule

OPEN = InputCheck(variable="status", kind="equals", value="open")
CANCEL = Rule(id="cancel", rule="If the order is open, the output cancels it.", needs="input", when=(OPEN,))
ALWAYS = Rule(id="polite", rule="The output is polite.")


def test_a_rule_concerns_the_outputs_to_inputs_that_meet_all_its_conditions() -> None:
    asks = InputCheck(variable="message", kind="regex", value="[Cc]ancel")
    both = CANCEL.replace(id="both", when=(OPEN, asks))
    outputs = [Output(case=f"c{n}", model=model, text="x") for n in range(CHUNK + 4) for model in ("m", "n")]
    inputs = {
        f"c{n}": {"status": ("open", "sent")[n % 2], "message": ("Cancel!", "When?")[n // 2 % 2]}
        for n in range(CHUNK + 4)
    }
    unmet = check_conditions([CANCEL, ALWAYS, both], outputs, lambda output: inputs[output.case])
    assert {(v.status, v.unscored, v.source, v.counts) for v in unmet} == {("not_concerned", None, "check:when", True)}
    concerned = {(rule, one.case, one.model) for rule in ("cancel", "both") for one in outputs} - {
        (v.rule, v.case, v.model) for v in unmet
    }
    by_hand = {("cancel", f"c{n}", model) for n in range(0, CHUNK + 4, 2) for model in ("m", "n")}
    by_hand |= {("both", f"c{n}", model) for n in range(0, CHUNK + 4, 4) for model in ("m", "n")}
    assert concerned == by_hand


def test_a_condition_that_cannot_be_decided_leaves_the_output_unscored_unless_another_fails() -> None:
    outputs = [Output(case="c1", model="m", text="x"), Output(case="c2", model="m", error="timed-out")]
    unmet = check_conditions([CANCEL, ALWAYS], outputs, lambda output: {"message": "hello"})
    assert [(v.case, v.rule, v.status, v.unscored) for v in unmet] == [("c1", "cancel", "unscored", "missing-input")]
    both = CANCEL.replace(when=(OPEN, InputCheck(variable="message", kind="contains", value="cancel")))
    (one,) = check_conditions([both], outputs, lambda output: {"message": "hello"})
    assert (one.status, one.unscored) == ("not_concerned", None)
    assert "the input message" in one.reason


def test_a_value_may_name_other_inputs() -> None:
    same = CANCEL.replace(when=(InputCheck(variable="status", kind="equals", value="{{message}}"),))
    outputs = [Output(case="c1", model="m", text="x")]
    assert check_conditions([same], outputs, lambda output: {"message": "open", "status": "open"}) == []
    (one,) = check_conditions([same], outputs, lambda output: {"message": "sent", "status": "open"})
    assert one.status == "not_concerned"


def test_a_condition_that_cannot_be_used_is_named() -> None:
    wrong = CANCEL.replace(when=(InputCheck(variable="status", kind="regex", value="("),))
    with pytest.raises(CheckError, match="the condition of rule cancel"):
        check_conditions([wrong], [Output(case="c1", model="m", text="x")], lambda output: {"status": "open"})


@pytest.mark.parametrize(
    "condition",
    [
        {"kind": "equals", "value": "open"},
        {"kind": "equals", "value": "open", "path": '["the state"]'},
        {"kind": "assert-set", "assert": [{"kind": "equals", "value": "open", "path": "state"}]},
    ],
)
def test_the_reason_speaks_of_the_input_however_deep_the_check_is(condition: dict[str, object]) -> None:
    rule = CANCEL.replace(when=(InputCheck.model_validate({"variable": "status", **condition}),))
    state = '{"state": "shipped", "the state": "shipped"}'
    (one,) = check_conditions([rule], [Output(case="c1", model="m", text="x")], lambda output: {"status": state})
    assert "the output" not in one.reason
    assert "it is" in one.reason


STATED = 'Do not apologise, or say sorry. Never say "I can’t help".'


@pytest.mark.parametrize(
    ("kind", "value", "guessed"),
    [
        ("not-contains-any", ["I'm sorry", "I regret"], ("I'm sorry", "I regret")),
        ("not-contains-any", ["I can't help", "**", "12"], ()),
        ("not-regex", r"\b(?:sorry|apologies|my  bad)\b", ("apologies", "my  bad")),
        ("not-regex", r"^\d+$|[A-Z]{3}", ()),
        ("not-word-any", ["pardon"], ("pardon",)),
        ("is-json", {"type": "object"}, ()),
        ("question", "Does it apologise?", ()),
        ("python", "def f(response):\n    return not any(p in response for p in ['I am sorry', \"my bad\"])", 2),
        ("python", 'def f(response):\n    """I am sorry, my bad"""\n    return f"so so" not in response', ()),
        ("python", "def f(example, response):\n    return example['the name'] in response", ()),
    ],
)
def test_phrases_that_nobody_names_are_guesses(kind: str, value: Any, guessed: Any) -> None:
    phrases = guessed_phrases(Check(kind=kind, value=value), STATED)
    assert phrases == guessed or len(phrases) == guessed
