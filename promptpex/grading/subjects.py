"""Subjects: what a person can grade of an output: the whole of it, a rule of the spec, a criterion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from promptpex.core.ids import text_digest
from promptpex.core.records import KEY_LENGTH, OUTPUT_SUBJECT, Criterion, Rule


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that is graded of an output.

    Attributes:
        id: ``output``, or the id of a rule or criterion.
        text: the rule's or criterion's words; empty for the whole output.
        needs: what a person must see to grade it; where the ``output`` alone decides, a grade holds for every item
            with the same text.
        kind: what it is.
        required: whether an output that has no grade on the whole must be graded good on it to be good: rules of the
            spec without a condition; criteria, where the spec has no rules.
        asked: whether it is put to people; a rule whose words are no longer in the prompt is not.
    """

    id: str
    text: str
    needs: Literal["output", "input"] = "input"
    kind: Literal["output", "rule", "criterion"] = "rule"
    required: bool = True
    asked: bool = True

    @property
    def digest(self) -> str | None:
        """What a grade on it as it reads now has as ``subject_digest``; None for the whole output."""
        return None if self.id == OUTPUT_SUBJECT else text_digest(self.text, KEY_LENGTH)


WHOLE = Subject(OUTPUT_SUBJECT, "", "input", "output", required=False)
"""The output as a whole."""


def subjects_of(rules: Iterable[Rule], criteria: Iterable[Criterion] = ()) -> tuple[Subject, ...]:
    """The whole output, then the rules, then the criteria that are not rules of the spec in the same words."""
    rules = tuple(rules)
    texts = {rule.id: rule.rule for rule in rules}
    of_rules = [
        Subject(rule.id, rule.rule, rule.needs, "rule", required=not rule.when and not rule.stale, asked=not rule.stale)
        for rule in rules
    ]
    of_criteria = [
        Subject(one.id, one.text, "input", "criterion", required=not rules)
        for one in criteria
        if subject_of_criterion(one, texts) == one.id
    ]
    return (WHOLE, *of_rules, *of_criteria)


def subject_of_criterion(criterion: Criterion, rules: dict[str, str]) -> str:
    """The id of the subject that people grade where this criterion is meant: its rule's, where both say the same.

    Args:
        rules: the text of the spec's rules by their ids.
    """
    if criterion.rule is not None and rules.get(criterion.rule) == criterion.text:
        return criterion.rule
    return criterion.id
