"""A choice from a synthesis folder, with figures that can be trusted and what it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from promptpex.core.records import Candidate
from promptpex.stats import PpiConditional
from promptpex.synthesis.choice.curve import CurvePoint, curve
from promptpex.synthesis.choice.example_counts import Shortage, shortages_of
from promptpex.synthesis.choice.intervals import ffr_of_all_outputs, measured, only
from promptpex.synthesis.choice.problem_of_folder import FolderProblem
from promptpex.synthesis.choice.saved_choice import (
    CHOICE,
    ChoiceChange,
    ChoiceMethod,
    SavedChoice,
    SavedCriterion,
    SavedFigures,
    SavedLabelRules,
    SavedLabels,
    changed,
    saved,
)
from promptpex.synthesis.choice.screens import Screened, indistinct
from promptpex.synthesis.folder import SynthesisFolder
from promptpex.synthesis.selection.methods import SECONDS, Method, select
from promptpex.synthesis.selection.problem import SelectionProblem
from promptpex.synthesis.selection.result import Selection
from promptpex.synthesis.selection.thresholds import SelectionLimits


@dataclass(frozen=True, slots=True)
class WayToChoose:
    """A way to choose from a folder.

    Attributes:
        method, limits: under which the choice is kept.
        select: chooses by the examples of these numbers alone, by all of them where there are none given.
        label_rules, rule_labels, criteria: as in ``SavedChoice``.
    """

    method: ChoiceMethod
    limits: SelectionLimits
    select: Callable[[Sequence[int] | None], Selection]
    label_rules: SavedLabelRules | None = None
    rule_labels: Mapping[str, SavedLabels] = field(default_factory=dict)
    criteria: Mapping[str, SavedCriterion] = field(default_factory=dict)

    def keeping(self, made: SavedChoice, figures: SavedFigures) -> SavedChoice:
        """What is kept of a choice that was made in this way."""
        return made.replace(
            label_rules=self.label_rules,
            rule_labels=dict(self.rule_labels),
            criteria=dict(self.criteria),
            figures=figures,
        )


@dataclass(frozen=True)
class FolderChoice:
    """A choice, and what is to be said of it.

    Attributes:
        source: what it was made from.
        selection: the choice, with its figures where it was made and on examples held out.
        all_outputs: the false failure rate on outputs with and without a label; None where all have one.
        points: coverage against false failure rate, where it was asked for.
        change: what it does otherwise than the last choice; None where there was none.
        shortages: what the labels are too few for.
    """

    source: FolderProblem
    selection: Selection
    all_outputs: PpiConditional | None = None
    points: tuple[CurvePoint, ...] = ()
    change: ChoiceChange | None = None
    shortages: tuple[Shortage, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what ``Selection.to_dict`` has, and more."""
        names = self.source.problem.names
        problem = self.source.problem
        return {
            **self.selection.to_dict(),
            "candidates": [names[number] for number in self.selection.chosen or ()],
            "names": list(names),
            "ffr_of_all_outputs": self.all_outputs and asdict(self.all_outputs),
            "curve": [asdict(point) for point in self.points],
            "change": self.change and asdict(self.change),
            "screened": [_screened(one, self.source.matrix.candidates) for one in self.source.screens],
            "indistinct": [
                {"good": [problem.example_name(one) for one in good], "bad": [problem.example_name(one) for one in bad]}
                for good, bad in indistinct(problem)
            ],
            "shortages": [asdict(one) for one in self.shortages],
            "notices": list(self.source.notices),
        }


def choose_from_matrix(
    problem: SelectionProblem,
    method: Method,
    limits: SelectionLimits | None = None,
    *,
    seconds: float = SECONDS,
    screened: bool = False,
) -> Selection:
    """Chooses from a matrix, with figures on examples held out; each example is taken as a case of its own.

    Args:
        seconds: for the choice; as much again for the figures on examples held out.
        screened: as for ``select``.
    """

    def by(examples: Sequence[int]) -> Sequence[int] | None:
        return select(only(problem, examples), method, limits, seconds=seconds / 5, screened=screened).chosen

    selection = select(problem, method, limits, seconds=seconds, screened=screened)
    return measured(problem, selection, [str(number) for number in range(problem.examples)], by)


def set_chosen(source: FolderProblem, method: Method, limits: SelectionLimits, *, seconds: float) -> WayToChoose:
    """Choosing a set at once (SPADE, section 4).

    Args:
        seconds: for the choice; as much again for the figures on examples held out.
    """

    def by(examples: Sequence[int] | None) -> Selection:
        if examples is None:
            return select(source.problem, method, limits, seconds=seconds, screened=True, order=source.order)
        return select(only(source.problem, examples), method, limits, seconds=seconds / 5, order=source.order)

    return WayToChoose(method, limits, by)


def choose_from(
    source: FolderProblem, folder: SynthesisFolder, way: WayToChoose, *, curve_seconds: float = 0.0
) -> FolderChoice:
    """Chooses from a folder, keeps the choice in it, and says what it changes.

    Args:
        curve_seconds: for the search of coverage against FFR; 0: it is not wanted.

    Raises:
        SynthesisError: the last choice cannot be read, or this one not be kept.
    """
    problem, limits = source.problem, way.limits
    before = CHOICE.read(folder.selection)
    short = shortages_of(source.examples, coverage=float(limits.coverage), ffr=float(limits.ffr))
    clusters = [example.cluster for example in source.examples]
    selection = measured(problem, way.select(None), clusters, lambda examples: way.select(examples).chosen)
    points = tuple(curve(problem, seconds=curve_seconds)) if curve_seconds else ()
    if selection.chosen is None:
        return FolderChoice(source, selection, points=points, shortages=short)
    held_out = selection.held_out
    saved_choice = saved(source, way.method, (float(limits.coverage), float(limits.ffr)), selection.chosen)
    choice = FolderChoice(
        source,
        selection,
        all_outputs=ffr_of_all_outputs(source.matrix, problem, source.rows, source.columns, held_out)
        if held_out is not None
        else None,
        points=points,
        change=changed(before, saved_choice, source) if before is not None else None,
        shortages=short,
    )
    CHOICE.write(folder.selection, way.keeping(saved_choice, _figures(choice)))
    return choice


def _figures(choice: FolderChoice) -> SavedFigures:
    """What it took a search to know of a choice, as it is kept."""
    fitted, held_out, elsewhere = choice.selection.on_all, choice.selection.held_out, choice.all_outputs
    return SavedFigures(
        optimal=choice.selection.optimal,
        gap=choice.selection.gap,
        coverage=fitted and fitted.coverage,
        ffr=fitted and fitted.ffr,
        held_out_coverage=held_out and held_out.shares.coverage,
        held_out_ffr=held_out and held_out.shares.ffr,
        folds=held_out.folds if held_out else 0,
        folds_without_a_set=held_out.without if held_out else 0,
        ffr_of_all_outputs=elsewhere and elsewhere.interval,
        unlabelled=elsewhere.unlabelled if elsewhere else 0,
    )


def _screened(one: Screened, candidates: Sequence[Candidate]) -> dict[str, Any]:
    kept_id = None if one.kept is None else candidates[one.kept].id
    return {"candidate": candidates[one.candidate].id, "state": one.state, "kept": kept_id, "sentence": one.sentence}
