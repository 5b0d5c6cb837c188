"""``promptpex align``: from a run, its grades and a choice to the report card."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.core.records import Check
from promptpex.grading.random_sample import in_order
from promptpex.specs.file import read_spec
from tests.alignment.folders import AlignedFolder
from tests.workflow.alignment.aligned_world import (
    COLUMNS,
    KNOWN,
    LABELS,
    RULES,
    SPEC,
    VERDICTS,
    card_of,
    graded,
    rows,
)


def test_checks_and_judges_are_held_against_people_rule_by_rule(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    made = rows(card_of(capsys))
    check, judge = made["check", "r1", ("check:regex",)], made["judge", "r1", ("judge:gpt",)]
    # People: 4 break r1, 16 keep it (12 are good on the whole, 4 were graded so).
    assert (check.graded.counts.caught, check.graded.counts.flagged, check.graded.counts.kept) == (4, 0, 16)
    assert check.graded.alignment.estimate == 1.0
    assert (judge.graded.coverage.estimate, judge.graded.ffr.estimate) == (1.0, 6 / 16)
    # By hand: agreed 14/20, by chance (4 * 10 + 16 * 10) / 400.
    assert judge.graded.kappa.estimate == pytest.approx((14 / 20 - 0.5) / 0.5)
    assert (judge.on_whole.caught, judge.on_whole.missed) == (4, 4)
    second = made["judge", "r2", ("judge:gpt",)]
    assert (second.graded.counts.caught, second.graded.counts.bad, second.silent) == (3, 3, 1)
    # r1's judge flags six good ones; the last output is open for r2 and in no figure of all verdicts.
    verdicts = made["verdicts", "output", ()]
    assert (verdicts.graded.counts.caught, verdicts.graded.counts.bad) == (7, 7)
    assert verdicts.graded.counts.flagged == 6


def test_the_chosen_set_is_measured_on_cases_that_did_not_choose_it(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    labelled = [*("good" for _ in range(12)), *("bad" for _ in range(8))]
    world.examples = [one.replace(label=label) for one, label in zip(world.examples, labelled, strict=True)]
    world.folder.write_examples(world.examples)
    assert run_cli(["select", "trip.synthesis", "--method", "aligned"]) == 0
    capsys.readouterr()
    card = card_of(capsys)
    made = rows(card)
    assert (card.method, card.limit, card.kept) == ("aligned", 0.2, True)
    whole = made["set", "output", ("calm", "city")]
    shown = sum(one.is_shown for one in world.examples)
    assert 0 < shown < 20
    assert (whole.measured, whole.folds, whole.graded.n) == ("cross-fitted", 5, 20 - shown)
    assert (whole.graded.counts.missed, whole.graded.counts.flagged) == (0, 0)
    assert {one.id for one in card.additions} >= {"calm", "city"}
    assert sum(one.caught for one in card.additions) == whole.graded.counts.caught
    states = {one.id: (one.state, one.why) for one in card.candidates}
    assert states["ask_calm"] == ("worse", "as well aligned as calm, which is simpler")
    assert states["loud"] == ("above-limit", "flags 10 of 16 good outputs, more than 20%")
    assert next(one.errors for one in card.candidates if one.id == "city") == 1
    assert any("may be shown to those who write candidates" in notice for notice in card.notices)


def test_the_terminal_says_how_labels_came_about_and_what_each_figure_rests_on(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    world.grade("ggub", grader="bob")
    assert run_cli(["align"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if len(line) > 80] == []
    text = " ".join(out.split())
    assert "Report card of trip, 1 run r1. 20 of 20 outputs graded, by ada and bob: 11 good, 8 bad" in text
    assert "1 disputed" in text
    assert "Labels: the majority of the graders decides, a tie gives no label" in text
    derived = "11 of them since the whole output is good"
    assert f"r1: 15 good, 4 bad; {derived}; 1 disputed; by the random sample (20 outputs) 21%" in text
    assert "r1 “The reply stays calm.”: judge:gpt" in text
    assert "catches 4 of 4 bad, flags 6 of 15 good; of all bad outputs it catches 4 of 8" in text
    assert "says nothing of 1" in text
    assert "c3 “It is c3.”: no good candidate" in text
    assert "c1 loud (code): flags 9 of 15 good outputs, more than 20%; catches 4 of 4" in text
    assert "ada and bob on the whole output: agree on 67%" in text
    assert "No set is chosen yet: this is what `promptpex select --method aligned` would choose." in text


def test_the_card_says_by_which_labels_the_kept_set_was_chosen(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    world.grade("b" * 6, grader="bob")
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--graders", "ada"]) == 0
    capsys.readouterr()
    card = card_of(capsys)
    assert (card.choice_rules.split(";")[0], card.rules.split(",")[0]) == (
        "ada alone decides",
        "the majority of the graders decides",
    )
    assert run_cli(["align"]) == 0
    assert "Labels of that choice: ada alone decides;" in " ".join(capsys.readouterr().out.split())
    assert run_cli(["align", "--graders", "ada"]) == 0
    assert "Labels of that choice" not in capsys.readouterr().out
    only_bob = card_of(capsys, "--graders", "bob").notices
    assert "by the labels of this card, which are made differently, another set would be chosen" in only_bob


def test_only_the_random_sample_speaks_for_all_outputs(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    world.grade("gg" + "-" * 10 + "bbb")
    card = card_of(capsys)
    assert card.labels[0].graded == 5
    assert (card.labels[0].sampled, card.labels[0].bad_share) == (0, None)
    assert all(row.sample is None for row in card.rows if row.subject == "output")
    assert run_cli(["align"]) == 0
    assert "these figures hold for the graded outputs alone" in " ".join(capsys.readouterr().out.split())
    world.grade("--" + "g" * 10 + "---" + "bbbbb")
    whole = card_of(capsys).labels[0]
    assert (whole.sampled, whole.sampled_bad, whole.sampled_good) == (20, 8, 12)
    assert whole.bad_share is not None
    assert whole.bad_share.estimate == 0.4


def test_a_criterion_has_a_line_of_the_random_sample_without_suspects(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    order = in_order([one.id for one in world.examples])
    sample = {one for one, example in enumerate(world.examples) if example.id in order[:14]}

    def among(signs: str, numbers: set[int]) -> str:
        return "".join(sign if number in numbers else "-" for number, sign in enumerate(signs))

    # By the random sample: the whole and, where that is bad, the rule. Bad ones were picked besides: suspects.
    world.grade(among(LABELS, sample), policy="random", probability=0.1)
    world.grade(among("-" * 12 + "bbbbgggg", sample), "r1", "The reply stays calm.", policy="random", probability=0.1)
    world.grade(among("-" * 12 + "b" * 8, set(range(20)) - sample))
    made = rows(card_of(capsys))
    unseen = {number for number, one in enumerate(world.examples) if not one.is_shown}
    row, unsampled = made["criterion", "c1", ("calm",)], set(range(12, 20)) - sample
    assert unsampled & unseen
    assert (row.basis, row.graded.counts.bad) == (
        "known-and-suspect",
        len(unseen & (unsampled | (sample & set(range(12, 16))))),
    )
    assert row.sample.counts.bad == len(unseen & sample & set(range(12, 16)))
    assert row.sample.counts.good == len(unseen & sample & ({*range(12), *range(16, 20)}))
    # Nobody looked at r2, nor at c3, which is no rule.
    assert all(
        one.sample is None for (kind, subject, _), one in made.items() if kind == "criterion" and subject != "c1"
    )
    assert run_cli(["align"]) == 0
    out = capsys.readouterr().out.partition("The verdicts of the run")[0]
    assert out.count(f"random, {row.sample.n}") >= 1


def test_without_a_single_grade_nothing_is_defined_and_nothing_is_zero(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    card = card_of(capsys)
    assert all(row.graded.undefined == ("no-labels",) for row in card.rows)
    assert all(row.graded.alignment.estimate is None for row in card.rows)
    assert run_cli(["align"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "0 of 20 outputs graded: 0 good, 0 bad" in text
    assert "no output has a label, so that nothing is defined" in text


def test_the_table_holds_every_output_also_those_without_a_grade(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    world.grade("gb")
    assert run_cli(["align", "-q", "--csv", "table.csv"]) == 0
    assert "wrote table.csv" in capsys.readouterr().err
    with Path("table.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["label"] for line in lines] == ["good", "bad", *[""] * 18]
    assert lines[0]["r1: r1 judge:gpt"] == "fail"
    assert (lines[19]["r2: r2 judge:gpt"], lines[19]["r2: city"]) == ("none", "none")
    assert (lines[3]["words"], lines[3]["clarity"]) == ("2.0", "0.15")
    assert (json.loads(lines[3]["inputs"]), lines[3]["output"]) == ({"city": "Hue 3"}, "text 3")
    card = card_of(capsys)
    assert {one.name for one in card.distributions} == {"words", "characters", "clarity"}
    clarity = next(one for one in card.distributions if one.name == "clarity")
    assert sum(clarity.good) + sum(clarity.bad) + sum(clarity.unlabelled) == 20
    assert (sum(clarity.good), sum(clarity.bad)) == (1, 1)


def test_a_check_with_a_threshold_is_a_measure(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    near = Check(kind="rouge-n", value="text 1 2 3", threshold=0.5)
    spec = SPEC.replace(rules=(RULES[0].replace(checks=(near,)), RULES[1]))
    world.write(KNOWN, spec=spec)
    names = [one.name for one in card_of(capsys).distributions]
    assert "r1 rouge-n" in names


WITH_CHOICE = {
    ("r1", "check:contains"): "p" * 12 + "ffffpppp",
    **{k: v for k, v in VERDICTS.items() if "judge" in k[1]},
}


@pytest.fixture
def chosen(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> AlignedFolder:
    """16 outputs chose calm, which is a check of r1 now; r1 is a run without it, r2 one with it."""
    world.grade("g" * 12 + "bbbb")
    world.grade("-" * 12 + "bbbb", "r1", "The reply stays calm.")
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--into-spec"]) == 0
    capsys.readouterr()
    world.run(WITH_CHOICE, read_spec(world.prompt.with_name("trip.spec.yaml")), name="r2")
    return world


def more_grades(world: AlignedFolder) -> None:
    world.grade("-" * 16 + "bbbb")
    world.grade("-" * 16 + "gggg", "r1", "The reply stays calm.")
    world.grade("-" * 16 + "bbbb", "r2", "The reply names the city.")


@pytest.mark.parametrize("limit", [(), ("--ffr", "30%")])
def test_grades_that_chose_a_check_do_not_measure_it_and_measure_all_else(
    chosen: AlignedFolder, capsys: pytest.CaptureFixture[str], limit: tuple[str, ...]
) -> None:
    more_grades(chosen)
    made = rows(card_of(capsys, "r2", *limit))
    check, verdicts = made["check", "r1", ("check:contains",)], made["verdicts", "output", ()]
    assert (check.graded.n, check.graded.counts.kept, check.in_choice) == (4, 4, 16)
    assert (verdicts.graded.n, verdicts.in_choice) == (3, 16)
    # The judge had no part in the choice: all of its rows stay. Of one output it says nothing for r2.
    judge = made["judge", "r1", ("judge:gpt",)]
    assert (judge.graded.n, judge.in_choice) == (20, 0)
    assert made["judge", "r2", ("judge:gpt",)].graded.n == 15


def test_a_run_made_before_the_check_was_chosen_is_measured_on_all_grades(
    chosen: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    more_grades(chosen)
    made = rows(card_of(capsys, "r1"))
    assert made["check", "r1", ("check:regex",)].graded.n == 20
    assert made["verdicts", "output", ()].graded.n == 19
    assert {row.in_choice for row in made.values()} == {0}


def test_where_all_graded_outputs_had_a_part_in_the_choice_that_is_said(
    chosen: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["align", "r2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("all 16 graded outputs had a part in the choice") == 2
    assert "no output has a label" not in text
    more_grades(chosen)
    assert run_cli(["align", "r2"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("16 other graded outputs had a part in the choice, and are left out") == 2


def test_an_edit_is_compared_on_what_had_no_part_in_the_choice(
    chosen: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    card = card_of(capsys, "r2", "--compare-to", "r1")
    why = "all verdicts together: not compared, since every output graded now had a part in the choice"
    assert why in card.notices
    more_grades(chosen)
    card = card_of(capsys, "r2", "--compare-to", "r1")
    assert (
        "all verdicts together: compared on 19 graded outputs before and 3 now that were not used in the choice"
        in card.notices
    )
    coverage = {(one.what, one.by, one.figure): one for one in card.effects}["output", "", "coverage"]
    assert (coverage.before.n, coverage.after.n) == (7, 3)


def test_a_run_is_not_compared_with_itself(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["align", "r1", "--compare-to", "r1"]) == 2
    assert "the card is of the run r1 already: compare it with another run of trip" in capsys.readouterr().err


def test_a_choice_of_nothing_has_a_sentence_and_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # A candidate that flags one good output: within 0% only where that one is held out.
    made = AlignedFolder(tmp_path, LABELS, {"near": "f" + "p" * 11 + "f" * 8}, {"near": "c1"}).write()
    made.run({}, SPEC)
    made.grade(LABELS)
    card = card_of(capsys, "--ffr", "0")
    assert [row.kind for row in card.rows if row.kind in ("set", "criterion")] == []
    assert "nothing is chosen, so there are no figures for a set" in card.notices
    assert card.lacking
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--ffr", "0"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "Nothing is chosen, so there are no figures for a set." in text
    assert "folds" not in text
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--ffr", "0", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["held_out_figures"], data["criteria"][0]["held_out"]) == (None, None)


def test_outputs_of_folds_that_choose_nothing_count_as_not_flagged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # The only bad output that the candidate catches: held out, nothing is chosen.
    made = AlignedFolder(tmp_path, LABELS, {"rare": "p" * 19 + "f"}, {"rare": "c1"}).write()
    made.run({}, SPEC)
    made.grade(LABELS)
    card = card_of(capsys)
    for row in (one for one in card.rows if one.kind in ("set", "criterion")):
        assert (row.folds_without, row.empty_folds) == (1, "not-flagged")
        assert row.graded.n == 20 - sum(one.is_shown for one in made.examples)
        assert row.graded.counts.caught == 0
    assert run_cli(["align"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "nothing chosen in 1 of 5 folds, whose outputs count as not flagged" in text


def test_what_a_judge_was_shown_does_not_measure_it(world: AlignedFolder, capsys: pytest.CaptureFixture[str]) -> None:
    graded(world)
    world.run(VERDICTS, SPEC, settings={"judge_examples": 4})
    made = rows(card_of(capsys))
    shown = sum(one.is_shown for one in world.examples)
    assert made["judge", "r1", ("judge:gpt",)].graded.n == 20 - shown
    assert made["check", "r1", ("check:regex",)].graded.n == 20
    assert made["verdicts", "output", ()].graded.n < 20 - shown + 1


def test_a_choice_by_another_method_is_measured_in_its_own_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    # The only bad output that the candidate catches: without it no set keeps the limits, and its fold is left out.
    made = AlignedFolder(tmp_path, LABELS, {"rare": "p" * 19 + "f"}, {"rare": "c1"}).write()
    made.run({}, SPEC)
    made.grade(LABELS)
    made.examples = [one.replace(label="good" if number < 12 else "bad") for number, one in enumerate(made.examples)]
    made.folder.write_examples(made.examples)
    assert run_cli(["select", "trip.synthesis", "--method", "cov", "--coverage", "10%"]) == 0
    capsys.readouterr()
    card = card_of(capsys)
    assert (card.method, card.kept) == ("cov", True)
    whole = next(row for row in card.rows if row.kind == "set")
    assert (whole.measured, whole.folds_without, whole.empty_folds) == ("cross-fitted", 1, "left-out")
    assert (whole.graded.counts.caught, whole.graded.n < 20) == (0, True)
    assert {one.state for one in card.candidates} == {"chosen"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "no such run"),
        (["--compare-to", "nowhere"], "no such run"),
        (["--ffr", "150%"], "'150%' is not a share"),
        (["--csv", "results"], "the table cannot be written"),
    ],
)
def test_bad_input_is_one_sentence(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert run_cli(["align", "-q", *arguments]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert "Traceback" not in err


def test_candidates_that_were_not_run_are_said_and_the_rest_is_there(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    world.folder.matrix.unlink()
    card = card_of(capsys)
    assert not card.candidates
    assert any("candidates are not on this card" in notice for notice in card.notices)
    assert any(row.kind == "judge" for row in card.rows)


def test_where_no_set_keeps_the_limits_each_criterion_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = AlignedFolder(tmp_path, LABELS, {"loud": COLUMNS["loud"]}, {"loud": "c1"}).write()
    made.run({}, SPEC)
    made.grade(LABELS)
    assert run_cli(["select", "trip.synthesis", "--method", "cov", "--coverage", "60%", "--ffr", "20%"]) == 1
    assert "No set of the 1 candidate has coverage of at least 60%" in " ".join(capsys.readouterr().out.split())
    card = card_of(capsys)
    assert not card.kept
    assert card.lacking == (
        "c1 “It is c1.”: no good candidate within an FFR of 20%; the nearest, loud, flags 6 of 12 good outputs and "
        "catches 8 of 8 bad ones.",
    )


def test_a_candidate_that_no_judge_was_asked_about_is_named_and_the_others_are_there(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    lines = world.folder.matrix.read_text(encoding="utf-8").splitlines(keepends=True)
    asking = next(one.fingerprint for one in world.candidates if one.id == "ask_tone")
    world.folder.matrix.write_text("".join(line for line in lines if asking not in line), encoding="utf-8")
    made = card_of(capsys)
    assert any(one.startswith("not chosen from: ask_tone was not run on 20 of 20 examples") for one in made.notices)
    assert {one.id for one in made.candidates} == {"calm", "ask_calm", "loud", "city"}
    assert made.rows[0].kind == "set"
    assert run_cli(["align"]) == 0
    assert "ot chosen from: ask_tone was not run on 20 of 20" in " ".join(capsys.readouterr().out.split())


def test_a_chosen_candidate_that_is_outdated_is_named_on_the_card(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    assert run_cli(["select", "trip.synthesis", "--method", "aligned", "--json"]) == 0
    capsys.readouterr()
    old = KNOWN[0].replace(text="The reply is quiet.")
    written = [one.written_for([old]) if one.id == "calm" else one for one in world.candidates]
    world.write(KNOWN, spec=SPEC, candidates=written)
    notices = card_of(capsys).notices
    assert any(one.startswith("not chosen from: calm was written for another wording of c1") for one in notices)
    assert any("is no longer available" in one for one in notices)
