"""What a report card is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from promptpex.alignment.choose import Contender, CriterionChoice, GradedOutputs
from promptpex.alignment.cross_fit import WHOLE_SET, Chosen, EmptyFolds, folds_of_graded
from promptpex.alignment.graded_outputs import GradedItems
from promptpex.core.records import CardCandidate, Example, Manifest
from promptpex.grading.opinions import Opinions
from promptpex.stats import Fold

ALL_VERDICTS = ""
"""What stands for all verdicts of a run together in place of an assertion."""


@dataclass(frozen=True)
class CardContest:
    """The chosen set, and what it was chosen from, on examples whose candidates were all run.

    Attributes:
        method, limit, kept, choice_rules: as in ``ReportCard``.
        examples: with their labels, by the numbers that the bits of ``contenders`` and ``graded`` mean.
        contenders, graded: what is chosen from.
        choose: chooses by these examples, as bits.
        chosen: ids of the candidates of the set.
        criteria: words of the criteria, by id.
        subjects: what people grade of a criterion, by its id, where that is a rule.
        choices: of the choice by alignment, for each criterion.
        candidates: all of them, with what became of each.
        lacking: criteria without a good candidate and why, a sentence each.
        unknown: by the id of a contender, the examples that it was not run on, as bits; none where all were.
    """

    method: str
    limit: float
    kept: bool
    examples: tuple[Example, ...]
    contenders: tuple[Contender, ...]
    graded: GradedOutputs
    choose: Callable[[int], Chosen]
    chosen: frozenset[str]
    criteria: Mapping[str, str]
    subjects: Mapping[str, str] = field(default_factory=dict)
    choice_rules: str = ""
    choices: tuple[CriterionChoice, ...] = ()
    candidates: tuple[CardCandidate, ...] = ()
    lacking: tuple[str, ...] = ()
    unknown: Mapping[str, int] = field(default_factory=dict)

    def chosen_for(self, name: str) -> frozenset[str]:
        """What was chosen for a criterion, or in all: the ids of the candidates."""
        of_it = (one.id for one in self.contenders if name == WHOLE_SET or name in one.criteria)
        return self.chosen.intersection(of_it)

    @cached_property
    def folds(self) -> list[Fold[Chosen]]:
        """The labelled examples, held out fold by fold, with what is chosen by the others; none where they are few."""
        return folds_of_graded(self.graded, self.clusters, self.choose)

    @property
    def clusters(self) -> list[str]:
        """What each example belongs to."""
        return [example.cluster for example in self.examples]

    @property
    def empty_folds(self) -> EmptyFolds:
        """A choice by alignment may be of nothing; SPADE's has a set or none."""
        return "not-flagged" if self.method == "aligned" else "left-out"


@dataclass(frozen=True)
class CardData:
    """What a card is made from.

    Attributes:
        prompt, runs: their names.
        graded: the outputs, with labels and grades.
        opinions: what checks, judges and candidates say of them.
        broken: by the id of an output, whether the verdicts of the run that count break a rule; those of which that is
            not known are left out.
        measures: by name, of each output by its id.
        contest: None where there are no candidates, or none that can be chosen from.
        in_choice: by assertion, the ids of the outputs whose grades had a part in choosing the check that gave its
            verdict there: these do not measure it. ``ALL_VERDICTS``: of all verdicts together.
        manifests: of the runs: outputs that their judges were shown with grades do not measure them.
        notices: what to know, a sentence each.
    """

    prompt: str
    runs: tuple[str, ...]
    graded: GradedItems
    opinions: Opinions
    broken: Mapping[str, bool] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    contest: CardContest | None = None
    in_choice: Mapping[str, frozenset[str]] = field(default_factory=dict)
    manifests: tuple[Manifest, ...] = ()
    notices: tuple[str, ...] = ()
