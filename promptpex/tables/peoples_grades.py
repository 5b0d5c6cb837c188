"""What people said of a run's outputs, as far as tables need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from promptpex.core.records import JudgeCalibration

NO_ITEM = -1
"""Stands for what nobody can grade: an output without a usable text."""
_DIGITS = 15
"""Hex digits of a number: 60 bits, in which it is unlikely that two items of a run have the same one."""


def item_number(item: str) -> int:
    """A number by which items are told apart, from 0, of the id of what was graded (``Run.item_ids``)."""
    return int(item[:_DIGITS], 16)


@dataclass(frozen=True, slots=True)
class PeoplesGrades:
    """People's grades on the whole outputs of a run, and how far judges may be trusted by them.

    Attributes:
        items: of each output, in the order of the run, the number of what was graded (``item_number``), or ``NO_ITEM``.
            Outputs of the same text for the same inputs are one item, whichever model wrote them.
        broken: by model, the items of its random sample on which people agree, and whether they find them bad. Each
            model has a sample of its own: the beginning of its outputs in the order of their permanent numbers.
        left_out: by model, the items of that sample whose grades give no label: people are unsure, or at odds.
        graded: items with a grade, random or not, with a label or not; 0 where people have only calibrated judges, or
            graded other runs.
        label_rules: how several grades become a label, in words.
        calibrations: of judges, by rule: those of the spec beside the prompt, else those that the run kept.
    """

    items: Sequence[int] = ()
    broken: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    graded: int = 0
    label_rules: str = ""
    calibrations: Mapping[str, tuple[JudgeCalibration, ...]] = field(default_factory=dict)
