"""``promptpex align --compare-to``: what an edit of the prompt did, on the whole, by rule and to the chosen set."""

from __future__ import annotations

import json

import pytest

from promptpex.cli.main import run_cli
from promptpex.promptfile import read
from tests.alignment.folders import AlignedFolder
from tests.workflow.alignment.aligned_world import KNOWN, SPEC, card_of, graded, rows


def test_the_effect_of_an_edit_is_a_difference_with_an_interval(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    older = read(world.prompt).replace(path="trip.md", messages=())
    # The four outputs that break r2 were others under the older words; six more were bad then.
    texts = {number: f"older {number}" for number in range(20)}
    verdicts = {("r1", "judge:gpt"): "p" * 10 + "f" * 10}
    world.run(verdicts, SPEC, name="r0", prompt=older, texts=texts)
    now, world.examples = world.examples, world.renamed(texts)
    world.grade("g" * 6 + "b" * 14)
    world.grade("-" * 6 + "b" * 14, "r1", "The reply stays calm.")
    world.examples = now
    card = card_of(capsys, "r1", "--compare-to", "r0")
    assert card.against == "r0"
    made = {(one.what, one.by, one.figure): one for one in card.effects}
    whole = made["output", "", "bad"]
    assert (whole.before.estimate, whole.after.estimate, whole.sampled) == (0.7, 0.4, True)
    assert whole.difference is not None
    assert whole.difference.estimate == pytest.approx(-0.3)
    assert whole.difference.low < -0.3 < whole.difference.high
    coverage = made["r1", "judge:gpt", "coverage"]
    assert coverage.before.estimate == pytest.approx(10 / 14)
    assert coverage.after.estimate == 1.0
    assert made["r1", "judge:gpt", "ffr"].before.estimate == 0.0
    assert run_cli(["align", "r1", "--compare-to", "r0"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Since the run r0 the whole output, bad by people: 70% (46–88%), now 40% (19–64%): -30 points (" in text


def test_a_second_execution_of_the_same_run_is_another_run(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    graded(world)
    texts = {number: f"later {number}" for number in range(20)}
    again = world.run({("r1", "judge:gpt"): "p" * 10 + "f" * 10}, SPEC, name="r1-2", texts=texts)
    manifest = json.loads((again / "manifest.json").read_text(encoding="utf-8"))
    (again / "manifest.json").write_text(json.dumps({**manifest, "run": "r1"}), encoding="utf-8")
    world.examples = world.renamed(texts)
    world.grade("g" * 6 + "b" * 14)
    card = card_of(capsys, "r1", "--compare-to", "r1-2")
    assert card.against == "r1-2"
    whole = {(one.what, one.by, one.figure): one for one in card.effects}["output", "", "bad"]
    assert (whole.before.estimate, whole.after.estimate) == (0.7, 0.4)
    for same in ("r1", "r1-2"):
        assert run_cli(["align", same, "--compare-to", same]) == 2


OLDER = {number: f"older {number}{' calm? city?' if number < 10 else ''}" for number in range(20)}


@pytest.fixture
def edited(world: AlignedFolder) -> AlignedFolder:
    """Under the older words the last 14 outputs were bad; what calm and city look for is missing in the last ten."""
    graded(world)
    world.run({}, SPEC, name="r0", prompt=read(world.prompt).replace(path="trip.md", messages=()), texts=OLDER)
    now, world.examples = world.examples, world.renamed(OLDER)
    world.grade("g" * 6 + "b" * 14)
    world.grade("-" * 6 + "b" * 14, "r1", "The reply stays calm.")
    world.examples = now
    return world


def test_the_effect_of_an_edit_on_the_chosen_set_is_that_on_cases_that_did_not_choose_it(
    edited: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    card = card_of(capsys, "r1", "--compare-to", "r0")
    made = {(one.kind, one.what, one.figure): one for one in card.effects}
    unseen = [number for number, one in enumerate(edited.examples) if not one.is_shown]
    coverage, ffr = made["set", "", "coverage"], made["set", "", "ffr"]
    bad, caught = (sum(number >= first for number in unseen) for first in (6, 10))
    assert (coverage.by, coverage.sampled, coverage.cases) == ("calm, city", True, len(unseen))
    assert coverage.before.estimate == pytest.approx(caught / bad)
    assert coverage.before.n == bad
    assert (ffr.before.estimate, ffr.before.n) == (0.0, len(unseen) - bad)
    # What it is now is what the card says of the set and of the criterion.
    row = rows(card)["set", "output", ("calm", "city")]
    assert (coverage.after, ffr.after) == (row.graded.coverage, row.graded.ffr)
    assert coverage.difference is not None
    assert coverage.difference.estimate == pytest.approx(1 - caught / bad)
    of_criterion = made["criterion", "c1", "coverage"]
    assert of_criterion.by == "calm"
    assert of_criterion.before.estimate == pytest.approx(caught / bad)
    assert run_cli(["align", "r1", "--compare-to", "r0"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "the chosen set calm, city, coverage: " in text
    assert "all verdicts together, " not in text, "the older run has none"


def test_outputs_of_an_older_run_on_which_no_judge_was_asked_are_left_out_of_the_set(
    edited: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [edited.candidate(one.id, choice="must" if one.id == "ask_calm" else None) for one in edited.candidates]
    edited.write(KNOWN, spec=SPEC, candidates=wanted)
    card = card_of(capsys, "r1", "--compare-to", "r0")
    why = "the chosen set is compared without 20 graded outputs of the run r0, on which ask_calm was not run"
    assert why in card.notices
    coverage = next(one for one in card.effects if (one.kind, one.figure) == ("set", "coverage"))
    assert (coverage.before.estimate, coverage.before.n, coverage.difference) == (None, 0, None)
