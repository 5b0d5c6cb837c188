"""Figures of a report card that are not defined: each is named, and none is 0."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from promptpex.cli.main import run_cli
from promptpex.grading.random_sample import in_order
from promptpex.report.cards.words import UNDEFINED
from tests.alignment.folders import AlignedFolder
from tests.workflow.alignment.aligned_world import SPEC, card_of, rows


def two_criteria(folder: Path, labels: str, signs: str) -> AlignedFolder:
    """c1 with these labels and a candidate that is wanted in any case; c2 half bad, half good."""
    made = AlignedFolder(folder, "-" * 20, {"one": signs, "two": "fp" * 10}, {"one": "c1", "two": "c2"})
    made.write(candidates=[made.candidate(one.id, choice="must") for one in made.candidates])
    made.run({}, SPEC)
    made.grade(labels, "c1", "It is c1.")
    made.grade("bg" * 10, "c2", "It is c2.")
    return made


@pytest.mark.parametrize(
    ("labels", "signs", "undefined"),
    [
        ("g" * 20, "f" * 5 + "p" * 15, ("no-bad",)),
        ("g" * 20, "p" * 20, ("no-bad", "one-answer")),
        ("b" * 10 + "-" * 10, "p" * 5 + "f" * 15, ("no-good",)),
        ("b" * 10 + "-" * 10, "f" * 20, ("no-good", "one-answer")),
        ("g" * 10 + "b" * 10, "f" * 10 + "p" * 10, ("zero",)),
        ("g" * 10 + "b" * 10, "p" * 20, ()),
    ],
)
def test_what_is_not_defined_of_a_criterion_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    labels: str,
    signs: str,
    undefined: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    made = two_criteria(tmp_path, labels, signs)
    row = rows(card_of(capsys))["criterion", "c1", ("one",)]
    pairs = Counter(zip(labels, signs, (one.is_shown for one in made.examples), strict=True))
    counts = row.graded.counts
    assert (counts.caught, counts.missed) == (pairs["b", "f", False], pairs["b", "p", False])
    assert (counts.flagged, counts.kept) == (pairs["g", "f", False], pairs["g", "p", False])
    assert row.graded.undefined == undefined
    assert (row.graded.alignment.estimate is None) == any(why != "one-answer" for why in undefined)
    assert (row.graded.kappa.estimate is None) == ("one-answer" in undefined)
    assert run_cli(["align"]) == 0
    of_c1 = " ".join(capsys.readouterr().out.split()).partition("c1 “It is c1.”: one")[2].partition("c2 “")[0]
    assert [why for why, words in UNDEFINED.items() if words in of_c1] == list(undefined)


def test_where_authors_may_have_seen_all_grades_of_a_criterion_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = two_criteria(tmp_path, "-" * 20, "p" * 20)
    shown = "".join("g" if one.is_shown else "-" for one in made.examples)
    made.grade(shown, "c1", "It is c1.")
    assert run_cli(["align"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"all {shown.count('g')} graded outputs may have been shown to those who write candidates" in text


def test_where_labels_are_of_one_kind_it_is_said_why_the_set_has_no_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made = AlignedFolder(tmp_path, "-" * 20, {"one": "p" * 20}, {"one": "c1"})
    made.write(candidates=[made.candidate("one", choice="must")])
    made.run({}, SPEC)
    made.grade("g" * 19 + "b")
    card = card_of(capsys)
    assert [row for row in card.rows if row.kind in ("set", "criterion")] == []
    assert card.notices[-1].endswith(
        "two cases with a bad output and two with a good one are needed, and there are 1 and 19"
    )


def test_what_is_not_defined_in_the_random_sample_or_between_people_is_named(
    world: AlignedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    order = in_order([one.id for one in world.examples])
    good = [one.id for one in world.examples[:12]]
    first = order[: next(place for place, one in enumerate(order) if one not in good)]
    assert 0 < len(first) < 12
    drawn = "".join("g" if one.id in first else "-" for one in world.examples)
    world.grade(drawn, policy="random", probability=0.1)
    world.grade("-" * 12 + "b" * 8)
    world.grade(drawn, grader="bob")
    verdicts = rows(card_of(capsys))["verdicts", "output", ()]
    assert (verdicts.sample.n, verdicts.sample.undefined[0]) == (len(first), "no-bad")
    assert verdicts.graded.undefined == ()
    assert run_cli(["align"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "in the random sample no output is bad, so that neither coverage nor alignment is defined" in text
    assert "kappa is not defined, since both say one thing throughout" in text
