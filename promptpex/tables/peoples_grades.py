"""What people said of a run's outputs, as far as tables need it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from promptpex.core.records import JudgeCalibration, OutputKey


@dataclass(frozen=True, slots=True)
class PeoplesGrades:
    """People's grades on the whole outputs of a run, and how far judges may be trusted by them.

    Attributes:
        items: of each usable output, by its key, the id of what was graded, as ``Run.item_ids`` has it. Outputs of the
            same text for the same inputs are one item, whichever model wrote them.
        broken: by model, the items of its random sample on which people agree, and whether they find them bad. Each
            model has a sample of its own: the beginning of its outputs in the order of their permanent numbers.
        graded: items with a grade, random or not, with a label or not; 0 where people have only calibrated judges, or
            graded other runs.
        label_rules: how several grades become a label, in words.
        calibrations: of judges, by rule: those of the spec beside the prompt, else those that the run kept.
    """

    items: Mapping[OutputKey, str] = field(default_factory=dict)
    broken: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    graded: int = 0
    label_rules: str = ""
    calibrations: Mapping[str, tuple[JudgeCalibration, ...]] = field(default_factory=dict)
