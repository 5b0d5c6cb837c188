"""Chosen assertions in the spec and in a file of checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import Candidate, Check, Criterion, Rule, Spec, Synthesis
from promptpex.specs.file import read_spec, write_spec
from promptpex.synthesis.choice.exports import check_file, with_assertions
from promptpex.synthesis.proposing.from_rules import from_rules

SHORT = Check(kind="word-count", value={"max": 60})
NAMED = Check(kind="icontains", value="{{city}}")
ASKED = Check(kind="contains", value="?")
LINES = Check(kind="not-contains", value="\n")

SPEC = Spec(
    prompt="trip.md",
    rules=(
        Rule(id="r1", rule="The reply has at most 60 words.", checks=(SHORT,)),
        Rule(id="r2", rule="The reply ends with a question."),
    ),
)
SYNTHESIS = Synthesis(
    prompt="trip.md",
    criteria=(
        Criterion(id="c1", text="The reply names the city.", source="name the city", version="a1"),
        Criterion(id="c2", text="The reply is one paragraph.", source="one paragraph", version="a2"),
        Criterion(id="c3", text="The reply has at most 60 words.", rule="r1"),
        Criterion(id="c4", text="The reply ends with a question.", rule="r2"),
    ),
    candidates=(
        Candidate(id="is_short", criteria=("c3",), check=SHORT),
        Candidate(id="names_city", criteria=("c1",), check=NAMED),
        Candidate(id="has_question", criteria=("c4",), check=ASKED),
        Candidate(id="is_one_paragraph", criteria=("c2",), check=LINES),
        Candidate(id="names_city_in_one_paragraph", criteria=("c1", "c2"), check=Check(kind="regex", value="^.+$")),
    ),
)


def test_a_criterion_from_the_history_becomes_a_rule_with_its_checks() -> None:
    spec = with_assertions(SPEC, SYNTHESIS, {"names_city"})

    assert spec.rules[:2] == SPEC.rules
    assert spec.rules[2] == Rule(
        id="c1",
        rule="The reply names the city.",
        needs="input",
        source="name the city",
        checks=(NAMED.replace(metric="names_city"),),
        origin="synthesized",
    )


def test_a_candidate_for_two_criteria_makes_one_rule_of_both() -> None:
    rule = with_assertions(SPEC, SYNTHESIS, {"names_city_in_one_paragraph"}).rules[2]

    assert rule.rule == "The reply names the city. The reply is one paragraph."
    assert rule.source == "name the city ... one paragraph"
    assert rule.needs == "output"


def test_a_check_that_the_spec_has_already_is_not_added_again() -> None:
    assert with_assertions(SPEC, SYNTHESIS, {"is_short"}) == SPEC


def test_the_checks_of_a_rule_that_are_one_candidate_are_not_added_again() -> None:
    rule = SPEC.rules[0].replace(checks=(SHORT, LINES))
    spec = SPEC.replace(rules=(rule, *SPEC.rules[1:]))
    both = Candidate(id="both", criteria=("c3",), check=Check(kind="assert-set", asserts=(SHORT, LINES)))
    one_more = Candidate(id="more", criteria=("c3",), check=Check(kind="assert-set", asserts=(SHORT, ASKED)))
    synthesis = SYNTHESIS.replace(candidates=(both, one_more))
    assert with_assertions(spec, synthesis, {"both"}) == spec
    assert len(with_assertions(spec, synthesis, {"both", "more"}).rules[0].checks) == 3


@pytest.mark.parametrize("chosen", [{"names_city"}, {"has_question", "is_short"}, {"is_one_paragraph", "names_city"}])
def test_what_was_chosen_brings_no_criteria_and_candidates_of_its_own(chosen: set[str]) -> None:
    before = from_rules(SPEC, SYNTHESIS, {}, ())
    after = from_rules(with_assertions(SPEC, SYNTHESIS, chosen), SYNTHESIS, before.rules, ())
    assert (after.criteria, after.candidates, after.rules) == ((), (), before.rules)


def test_a_chosen_rule_that_a_person_edited_brings_none_either() -> None:
    spec = with_assertions(SPEC, SYNTHESIS, {"names_city"})
    edited = spec.replace(rules=tuple(rule.replace(origin="edited") for rule in spec.rules))
    assert [one.rule for one in from_rules(edited, SYNTHESIS, {}, ()).criteria] == ["r1", "r2"]


def test_a_rule_without_checks_is_decided_in_part_by_a_chosen_one() -> None:
    rule = with_assertions(SPEC, SYNTHESIS, {"has_question"}).rules[1]

    assert (rule.id, rule.decides, rule.origin) == ("r2", "partly", "extracted")
    assert rule.checks == (ASKED.replace(metric="has_question"),)


def test_choosing_again_replaces_the_earlier_choice() -> None:
    first = with_assertions(SPEC, SYNTHESIS, {"names_city", "has_question"})
    second = with_assertions(first, SYNTHESIS, {"is_one_paragraph"})

    assert [rule.id for rule in second.rules] == ["r1", "r2", "c2"]
    assert second.rules[1].checks == ()
    assert with_assertions(second, SYNTHESIS, {"is_one_paragraph"}) == second


def test_what_a_person_edited_in_the_file_stays_and_is_not_added_twice(tmp_path: Path) -> None:
    path = tmp_path / "trip.spec.yaml"
    write_spec(path, with_assertions(SPEC, SYNTHESIS, {"names_city", "is_one_paragraph"}), by_hand=True)
    assert [rule.origin for rule in read_spec(path).rules] == ["extracted", "extracted", "synthesized", "synthesized"]
    path.write_text(path.read_text().replace("The reply names the city.", "The reply says the city's name."))

    after = with_assertions(read_spec(path), SYNTHESIS, {"names_city"})

    assert [(rule.id, rule.origin) for rule in after.rules[2:]] == [("c1", "edited")]
    assert after.rules[2].checks == (NAMED.replace(metric="names_city"),)


def test_an_author_leaves_synthesized_rules_alone(tmp_path: Path) -> None:
    path = tmp_path / "trip.spec.yaml"
    chosen = write_spec(path, with_assertions(SPEC, SYNTHESIS, {"names_city"}), by_hand=True)

    write_spec(path, SPEC.replace(rules=SPEC.rules[:1]))

    assert [rule.id for rule in read_spec(path).rules] == ["r1", "c1"]
    assert read_spec(path).rules[1] == chosen.rules[2]


def test_the_file_of_checks_is_one_for_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checks = tmp_path / "checks.yaml"
    checks.write_text(check_file(SYNTHESIS, {"names_city", "is_short"}), encoding="utf-8")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": "a", "output": "Go to Hue.", "vars": {"city": "Hue"}}\n', encoding="utf-8")

    assert run_cli(["check", str(rows), "--assertions", str(checks), "--json", "-q"]) == 0

    assert json.loads(capsys.readouterr().out)["named_scores"] == {"is_short": 1.0, "names_city": 1.0}
