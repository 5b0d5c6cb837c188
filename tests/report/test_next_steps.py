"""The commands that a report proposes: those that fit the run's state, ready to be pasted."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from promptpex.cli.main import cli
from promptpex.core.records import PartOfSuite, Run
from promptpex.report import summarise
from promptpex.report.terminal import NO_OCCASION, Occasion
from promptpex.report.terminal.next_steps import next_steps
from tests.samples import prompt
from tests.tables.by_hand import output, run, verdict

PLACE = Path("results/colours/run-2")
BEFORE = PLACE.with_name("run-1")


def proposed(made: Run, occasion: Occasion = NO_OCCASION, folder: Path | None = PLACE) -> list[str]:
    return [step.command for step in next_steps(summarise(made, folder=folder), occasion)]


def scored(count: int = 40, failures: int = 0, **manifest: object) -> Run:
    """One model with so many outputs, of which the first few break a rule."""
    cases = [f"c{n}" for n in range(count)]
    verdicts = [
        verdict("fail" if n < failures and rule == "r1" else "pass", rule, case)
        for n, case in enumerate(cases)
        for rule in ("r1", "r2")
    ]
    return run([output(case) for case in cases], verdicts, **manifest)  # type: ignore[arg-type]


def undecided(path: str | None) -> Run:
    """Two models that differ too little in 40 cases."""
    outputs = [output(f"c{n}", model) for model in "ab" for n in range(40)]
    fails = {"a": range(3), "b": range(30, 40)}
    verdicts = [
        verdict("fail" if n in fails[model] and rule == "r1" else "pass", rule, f"c{n}", model)
        for model in "ab"
        for n in range(40)
        for rule in ("r1", "r2")
    ]
    made = run(outputs, verdicts, models=("a", "b"))
    return made.replace(prompt=prompt().replace(path=path))


def test_a_finished_run_can_be_compared_and_gated() -> None:
    gate = "promptpex gate run-2 --max-non-compliance 10%"
    assert proposed(scored()) == [gate]
    assert proposed(scored(), Occasion(earlier=BEFORE)) == ["promptpex compare run-1 run-2", gate]


def test_a_part_of_a_suite_leads_to_the_whole_of_it() -> None:
    part = PartOfSuite(words="rule r1", cases=40, of=90)
    whole = "promptpex run p.md --judge none"
    assert proposed(scored(subset=part), Occasion(earlier=BEFORE, whole=whole)) == [
        whole,
        "promptpex compare run-1 run-2",
    ]
    manifest = undecided("p.md").manifest.replace(subset=part)
    assert proposed(undecided("p.md").replace(manifest=manifest)) == []


def test_a_run_that_is_not_complete_goes_on_first_of_all() -> None:
    again = "promptpex run 'my prompt.md' --max-requests 5"
    assert proposed(scored(partial="budget"), Occasion(again=again, earlier=BEFORE)) == [again]
    assert proposed(scored(partial="budget")) == [], "`report` does not know the command"


@pytest.mark.parametrize(("failed", "first"), [(3, "judge"), (1, "gate")])
def test_a_judge_that_failed_is_replaced(failed: int, first: str) -> None:
    made = scored(20, judges=("j",))
    judged = [
        verdict("unscored", "r2", f"c{n}", source="judge:j", unscored="judge-malformed")
        if n < failed
        else verdict("pass", "r2", f"c{n}", source="judge:j")
        for n in range(20)
    ]
    commands = proposed(made.replace(verdicts=(*made.verdicts, *judged)))
    assert commands[0].startswith(f"promptpex {first} run-2")


def test_rules_that_wait_for_a_judge_are_given_one() -> None:
    nobody = verdict("unscored", "r2", unscored="no-judge", counts=False, source="none")
    made = run([output()], [verdict(), nobody])
    (step, *_) = next_steps(summarise(made, folder=PLACE), NO_OCCASION)
    assert step.line() == "promptpex judge run-2 --judge MODEL  # judges the 1 rule that code does not decide"


def test_where_no_model_answered_one_is_shown_what_can_be_reached() -> None:
    assert proposed(run([output("c1", "m", None, error="no-key", message="set X_API_KEY")])) == ["promptpex models"]


def test_undecided_models_need_more_cases() -> None:
    assert proposed(undecided("my prompts/colours.md"))[0] == "promptpex generate 'my prompts/colours.md' --more 1"
    assert "generate" not in " ".join(proposed(undecided(None))), (
        "a prompt that is not in a file has no cases to add to"
    )


def test_a_run_is_named_as_commands_find_it() -> None:
    elsewhere = Path("shop/my results/colours/run-2")
    assert proposed(scored(), folder=elsewhere)[0].startswith(f"promptpex gate '{elsewhere}' ")
    by_flag = scored(origins={"results": "flag"})
    assert proposed(by_flag)[0].startswith(f"promptpex gate {PLACE} ")
    assert proposed(scored(), folder=None) == []


def test_names_from_a_stranger_are_quoted_and_no_options() -> None:
    (command, *_) = proposed(undecided("--config=evil.toml; rm -r $HOME"))
    words = shlex.split(command)
    assert words[:3] == ["promptpex", "generate", "./--config=evil.toml; rm -r $HOME"]
    assert proposed(scored(), folder=Path("results/colours/--debug"))[0].startswith(
        "promptpex gate results/colours/--debug "
    )
    assert proposed(scored(), folder=Path("-x/colours/run"))[0].startswith("promptpex gate ./-x/colours/run ")


def test_every_proposed_command_is_one_that_the_command_line_takes() -> None:
    states = [scored(), undecided("p.md"), run([output()], [verdict()]), run([output("c1", "m", None, error="no-key")])]
    for words in (shlex.split(one) for made in states for one in proposed(made, Occasion(earlier=BEFORE))):
        command = cli.get_command(click.Context(cli), words[1])
        assert command is not None
        command.parse_args(click.Context(command, info_name=command.name), words[2:])
