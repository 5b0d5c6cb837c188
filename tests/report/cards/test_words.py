"""The words of a report card where figures are at their edges."""

from __future__ import annotations

import pytest

from promptpex.core.records import CardEffect, CardFigure, CardLabels, ReportCard
from promptpex.report.cards.words import opening, points_of


@pytest.mark.parametrize(("sampled", "lacking"), [(0, "is graded"), (2, "has a label")])
def test_a_random_sample_of_unsure_grades_is_graded_and_has_no_label(sampled: int, lacking: str) -> None:
    labels = CardLabels(subject="output", outputs=8, unsure=sampled, sampled=sampled)
    sentence = f"No output of the random sample {lacking}: these figures hold for the graded outputs alone."
    assert sentence in opening(ReportCard(prompt="p", labels=(labels,)))


def test_a_card_without_labels_says_that_nothing_is_graded() -> None:
    assert next(iter(opening(ReportCard(prompt="p")))).startswith("0 of 0 outputs graded: 0 good, 0 bad")


def test_a_difference_that_rounds_to_nothing_has_no_minus() -> None:
    figure = CardFigure(estimate=0.5, low=0.4, high=0.6, n=20)
    difference = CardFigure(estimate=-0.001, low=-0.2, high=0.198, n=20)
    effect = CardEffect(what="r1", figure="coverage", before=figure, after=figure, difference=difference, sampled=True)
    assert points_of(effect) == "+0 points (-20 to +20)"
