"""The last choice from a synthesis folder, and what a new one loses by comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from promptpex.codecs.text.wording import named
from promptpex.core.records import MAX_EXACT, Record
from promptpex.core.translation import stored
from promptpex.stats import Interval
from promptpex.synthesis.choice.problem_of_folder import FolderProblem
from promptpex.synthesis.folder import RecordFile
from promptpex.synthesis.selection.methods import Method, Selection
from promptpex.synthesis.selection.problem import SelectionLimits

ChoiceMethod = Literal[Method, "aligned"]
"""The methods that choose a set, and the one that chooses for each criterion the candidate that agrees best."""

_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _within_bounds(given: Interval) -> Interval:
    """An interval of a share, as it may stand in a file from elsewhere."""
    ends = [given.low, given.high] if given.estimate is None else [given.low, given.estimate, given.high]
    if not (all(0 <= end <= 1 for end in ends) and 0 < given.confidence < 1 and 0 <= given.n <= MAX_EXACT):
        raise ValueError("this is not an interval of a share")
    return given


_ShareInterval = Annotated[Interval, AfterValidator(_within_bounds)]


class SavedFigures(Record):
    """How good a choice is, as far as it took a search to know."""

    model_config = ConfigDict(extra="ignore")  # files of earlier versions hold more

    optimal: bool = True
    gap: _Share | None = None
    coverage: _ShareInterval | None = None
    ffr: _ShareInterval | None = None
    held_out_coverage: _ShareInterval | None = None
    held_out_ffr: _ShareInterval | None = None


SavedLabels = dict[str, Literal["good", "bad"]]
"""Labels, by the ids of examples."""


class SavedLabelRules(Record):
    """How grades became the labels of a choice: what ``LabelRules`` of the same names said."""

    graders: str = Field(min_length=1, max_length=300)
    rules: Literal["every", "graded", "none"] = "every"
    unsure: Literal["no-vote", "bad"] = "no-vote"


class SavedCriterion(Record):
    """What a choice by alignment was for one criterion."""

    max_ffr: _Share
    must: bool = False
    held_out_ffr: _Share | None = None
    candidates: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()


class SavedChoice(Record):
    """A choice as it is kept in ``selection.json``.

    Attributes:
        method, coverage_limit, ffr_limit: how it was made.
        chosen: the fingerprint of each chosen check, by the candidate's id.
        labels: of the examples that it was made on.
        label_rules: of a choice by alignment, how grades became labels; None where there were no grades, or an earlier
            version of promptpex made it.
        rule_labels: what people said of single criteria of the examples, by the id of the criterion, else of the rule.
        criteria: of a choice by alignment, by id.
        flagged: the examples, bad or good, that it flags.
        figures: how good it is; None where an earlier version of promptpex made it.
    """

    method: ChoiceMethod
    coverage_limit: _Share
    ffr_limit: _Share
    chosen: dict[str, str] = Field(default_factory=dict)
    labels: SavedLabels = Field(default_factory=dict)
    label_rules: SavedLabelRules | None = None
    rule_labels: dict[str, SavedLabels] = Field(default_factory=dict)
    criteria: dict[str, SavedCriterion] = Field(default_factory=dict)
    flagged: tuple[str, ...] = ()
    figures: SavedFigures | None = None

    @classmethod
    def under(cls, method: ChoiceMethod, limits: SelectionLimits) -> SavedChoice:
        """How a choice is to be made; nothing is chosen yet."""
        return cls(method=method, coverage_limit=float(limits.coverage), ffr_limit=float(limits.ffr))

    def of(self, source: FolderProblem, selection: Selection) -> SavedChoice:
        """With what came of it."""
        chosen = [source.candidates[number] for number in selection.chosen or ()]
        flagged = source.problem.flagged_by(selection.chosen or ())
        fitted, held_out = selection.on_all, selection.held_out and selection.held_out.shares
        return self.replace(
            chosen={one.id: one.fingerprint for one in chosen},
            labels={example.id: example.label for example in source.examples if example.label is not None},
            flagged=tuple(example.id for number, example in enumerate(source.examples) if flagged >> number & 1),
            figures=SavedFigures(
                optimal=selection.optimal,
                gap=selection.gap,
                coverage=fitted and fitted.coverage,
                ffr=fitted and fitted.ffr,
                held_out_coverage=held_out and held_out.coverage,
                held_out_ffr=held_out and held_out.ffr,
            ),
        )

    @property
    def limits(self) -> SelectionLimits:
        """The limits, exactly as they were given."""
        return SelectionLimits(Fraction(str(self.coverage_limit)), Fraction(str(self.ffr_limit)))

    @property
    def labelled(self) -> frozenset[str]:
        """The ids of the examples whose labels had a part in the choice."""
        return frozenset(self.labels).union(*self.rule_labels.values())


@dataclass(frozen=True, slots=True)
class ChoiceChange:
    """What a choice does otherwise than the one before it, on the examples as they are labelled now."""

    lost: tuple[str, ...] = ()
    newly_flagged: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    relieved: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """The same in words; none where nothing has changed."""
        about = (self.lost, self.newly_flagged, self.gained, self.relieved, self.relabelled, self.added, self.removed)
        return [
            (one if len(names) == 1 else several).format(count=len(names), names=named(names))
            for (one, several), names in zip(_CHANGES, about, strict=True)
            if names
        ]


_CHANGES = (
    (
        stored("{count} bad output caught before and not now: {names}"),
        stored("{count} bad outputs caught before and not now: {names}"),
    ),
    (
        stored("{count} good output flagged now and not before: {names}"),
        stored("{count} good outputs flagged now and not before: {names}"),
    ),
    (
        stored("{count} bad output caught now and not before: {names}"),
        stored("{count} bad outputs caught now and not before: {names}"),
    ),
    (
        stored("{count} good output flagged before and not now: {names}"),
        stored("{count} good outputs flagged before and not now: {names}"),
    ),
    (
        stored("{count} example whose label has changed: {names}"),
        stored("{count} examples whose label has changed: {names}"),
    ),
    (
        stored("{count} candidate chosen now and not before: {names}"),
        stored("{count} candidates chosen now and not before: {names}"),
    ),
    (
        stored("{count} candidate chosen before and not now: {names}"),
        stored("{count} candidates chosen before and not now: {names}"),
    ),
)


def changed(before: SavedChoice, now: SavedChoice, source: FolderProblem) -> ChoiceChange:
    """What the new choice does otherwise, on the examples that both were made on."""
    common = {example.id: example for example in source.examples if example.id in before.labels}
    old, new = set(before.flagged), set(now.flagged)

    def among(label: str, members: set[str]) -> tuple[str, ...]:
        return tuple(one.name for one in common.values() if one.label == label and one.id in members)

    return ChoiceChange(
        lost=among("bad", old - new),
        newly_flagged=among("good", new - old),
        gained=among("bad", new - old),
        relieved=among("good", old - new),
        relabelled=tuple(one.name for one in common.values() if before.labels[one.id] != one.label),
        added=_only_in(now.chosen, before.chosen),
        removed=_only_in(before.chosen, now.chosen),
    )


def _only_in(some: Mapping[str, str], others: Mapping[str, str]) -> tuple[str, ...]:
    """The candidates whose check is not among the others', whatever they are called."""
    return tuple(name for name, fingerprint in some.items() if fingerprint not in others.values())


CHOICE = RecordFile(SavedChoice, "file of the last choice", "the next choice cannot be compared with it")
"""``selection.json``."""
