"""Criteria that are set aside, reworded, or to be decided by one kind of candidate; inputs that models may be shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.records import Candidate, Check, Criterion, Example, Rule, Spec, Synthesis
from promptpex.synthesis.folder import read_candidates, write_candidates
from promptpex.synthesis.proposing.from_rules import from_rules
from promptpex.synthesis.results.matrix import in_force

CODE = Candidate(id="code", criteria=("c1",), check=Check(kind="contains", value="x"))
ASKS = Candidate(id="asks", criteria=("c1", "c2"), check=Check(kind="question", value="Is it kind?"))


def names(*criteria: Criterion, candidates: tuple[Candidate, ...] = (CODE, ASKS)) -> list[str]:
    return [one.id for one in in_force(Synthesis(prompt="p.md", criteria=criteria, candidates=candidates))]


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, ["code", "asks"]),
        ({"by": "code"}, ["code"]),
        ({"by": "judge"}, ["asks"]),
        ({"selected": False}, []),
        ({"selected": False, "by": "code"}, []),
    ],
)
def test_a_criterion_says_which_candidates_take_part(settings: dict[str, object], left: list[str]) -> None:
    assert names(Criterion.model_validate({"id": "c1", "text": "It is kind.", **settings})) == left


def test_one_of_two_criteria_is_enough_and_unknown_ones_take_nothing_away() -> None:
    first = Criterion(id="c1", text="It is kind.", selected=False)
    assert names(first, Criterion(id="c2", text="It is short.")) == ["asks"]
    assert names(first, Criterion(id="c2", text="It is short.", by="code")) == []
    assert names() == ["code", "asks"]
    wanted = ASKS.replace(choice="must")
    assert names(first, Criterion(id="c2", text="It is short.", by="code"), candidates=(wanted,)) == ["asks"]


def test_a_candidate_is_outdated_when_one_of_its_criteria_is_reworded() -> None:
    criteria = (Criterion(id="c1", text="It is kind."), Criterion(id="c2", text="It is short."))
    written = ASKS.written_for(criteria)
    reworded = criteria[1].replace(text="It has 3 words.")
    assert not written.is_outdated(criteria)
    assert written.is_outdated([criteria[0], reworded])
    assert not written.written_for([criteria[0], reworded]).is_outdated([criteria[0], reworded])
    assert not ASKS.is_outdated(criteria), "it does not say which words it was written for"
    assert not CODE.written_for(criteria).is_outdated([reworded]), "that is not a criterion of it"


def test_settings_stand_in_the_file_and_take_no_criterion_from_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "candidates.yaml"
    written = Criterion(id="c1", text="It is kind.", notes=("1" * 32,))
    write_candidates(path, Synthesis(prompt="p.md", criteria=(written,), candidates=(CODE.written_for([written]),)))
    text = path.read_text(encoding="utf-8").replace(
        "category: other",
        "category: other\n    selected: false  # later\n    by: code\n    max_ffr: 0.1\n    must: true",
    )
    path.write_text(text, encoding="utf-8")
    criterion = read_candidates(path).criteria[0]
    assert (criterion.selected, criterion.by, criterion.max_ffr, criterion.must) == (False, "code", 0.1, True)
    assert (criterion.origin, criterion.notes) == ("extracted", ("1" * 32,))
    assert read_candidates(path).candidates[0].origin == "generated"


def test_a_rule_that_changed_keeps_what_a_person_set_of_its_criterion() -> None:
    rule = Rule(id="r1", rule="It is kind.")
    made = from_rules(Spec(prompt="p.md", rules=(rule,)), Synthesis(prompt="p.md"), {}, ())
    aside = made.criteria[0].replace(selected=False, must=True)
    before = Synthesis(prompt="p.md", criteria=(aside,), candidates=made.candidates)
    again = from_rules(Spec(prompt="p.md", rules=(rule.replace(rule="It is polite."),)), before, made.rules, ())
    assert [(one.text, one.selected, one.must) for one in again.criteria] == [("It is polite.", False, True)]
    assert before.candidates[0].is_outdated(again.criteria)
    assert not again.candidates[0].is_outdated(again.criteria)


def test_a_quarter_of_the_inputs_may_be_shown_whatever_the_output() -> None:
    examples = [Example(id=f"{number:032x}", inputs={"thing": f"t{number}"}, output="BLUE") for number in range(2000)]
    shown = [one for one in examples if one.is_shown]
    assert 0.2 < len(shown) / len(examples) < 0.3
    others = [one.replace(id="f" * 32, output="RED", case="c7", model="m") for one in examples]
    assert [one.is_shown for one in others] == [one.is_shown for one in examples]
    bare = [one.replace(inputs={}) for one in examples]
    assert {one.is_shown for one in bare} == {True, False}, "without inputs it goes by the output"
