"""A report card in the words that terminal and page share, its histograms, and its table of outputs as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from promptpex.codecs.files.atomic import write_text
from promptpex.codecs.safe_csv import dump_cells, guard
from promptpex.core.errors import InputError
from promptpex.core.records import (
    CardAddition,
    CardCandidate,
    CardDistribution,
    CardEffect,
    CardFigure,
    CardLabels,
    CardOutput,
    CardRow,
    Example,
    PeopleAgreement,
    ReportCard,
    Undefined,
)
from promptpex.core.translation import Key, digits, from_data, tr, tr_n
from promptpex.report.percentages import as_given, listed, percent, points_apart, with_ends

UNDEFINED: dict[Undefined, Key] = {
    "no-labels": Key("no output has a label, so that nothing is defined"),
    "no-bad": Key("no output is bad, so that neither coverage nor alignment is defined"),
    "no-good": Key("no output is good, so that neither FFR nor alignment is defined"),
    "zero": Key("it catches nothing bad and flags everything good, so that alignment is 0/0"),
    "one-answer": Key("people and the assertion say one thing throughout, so that kappa is not defined"),
}
"""The reasons of ``AlignmentFigures.undefined`` in words."""

FIGURES = {"coverage": Key("coverage"), "ffr": Key("FFR"), "alignment": Key("alignment"), "bad": Key("bad by people")}
"""What ``CardEffect.figure`` is called."""


EMPTY_FOLDS = {
    "not-flagged": Key("nothing chosen in {some} of {all} folds, whose outputs count as not flagged"),
    "left-out": Key("nothing chosen in {some} of {all} folds, which are left out"),
    "": Key("nothing chosen in {some} of {all} folds"),
}
"""What became of parts of the graded outputs without a choice, by ``CardRow.empty_folds``."""


def range_of(one: CardFigure) -> str:
    """A share with its interval; a dash where it is not defined."""
    return "–" if one.estimate is None else with_ends(one.estimate, one.low, one.high)


def kappa_of(one: CardFigure) -> str:
    return "–" if one.estimate is None else digits(f"{one.estimate:.2f} ({one.low:.1f}–{one.high:.1f})")


def name_of(row: CardRow) -> str:
    return {"set": tr("the whole set"), "verdicts": tr("all verdicts together")}.get(row.kind, row.id)


def subject_name(subject: str) -> str:
    return tr("the whole output") if subject == "output" else subject


def opening(card: ReportCard) -> Iterator[str]:
    """What the card rests on, a sentence each: how many grades there are, how they become labels, what is random."""
    whole = next(iter(card.labels), CardLabels(subject="", outputs=0))
    yield tr(
        "{graded} of {outputs} graded{by}: {good} good, {bad} bad, {unsure} unsure, {disputed} disputed{stale}.",
        graded=whole.graded + whole.from_table,
        outputs=_outputs(whole.outputs),
        by=tr(", by {names}", names=listed(card.graders)) if card.graders else "",
        good=whole.good,
        bad=whole.bad,
        unsure=whole.unsure,
        disputed=whole.disputed,
        stale=_stale(card),
    )
    yield tr("Labels: {rules}.", rules=from_data(card.rules))
    yield _sample(whole, card.production)
    if card.production is not None:
        yield _of_production(card.production)
    if card.kept and card.limit is not None:
        limit = as_given(card.limit)
        yield tr(
            "The set in selection.json was chosen by the method {method}, FFR of at most {limit}.",
            method=card.method,
            limit=limit,
        )
        if card.choice_rules not in ("", card.rules):
            yield tr("Labels of that choice: {rules}.", rules=from_data(card.choice_rules))


def lacking(sentence: str) -> str:
    """Why a criterion has no good candidate: what it is called stays, with its words, and the reason after them is in
    the reader's language."""
    called, end, reason = sentence.rpartition("”: ")
    return f"{called}{end}{from_data(reason.removesuffix('.'))}." if end else from_data(sentence)


def _outputs(count: int) -> str:
    return tr_n("{count} output", "{count} outputs", count)


def _stale(card: ReportCard) -> str:
    stale = sum(one.stale for one in card.labels)
    if not stale:
        return ""
    return "; " + tr_n(
        "{count} output has grades on older words of a rule or criterion, which do not count",
        "{count} outputs have grades on older words of a rule or criterion, which do not count",
        stale,
    )


def _sample(whole: CardLabels, production: CardLabels | None) -> str:
    """What is random of the runs' outputs, and what that says of all of them."""
    if whole.bad_share is None or whole.bad_share.estimate is None:
        if whole.sampled:
            return tr("No output of the random sample has a label: these figures hold for the graded outputs alone.")
        return tr("No output of the random sample is graded: these figures hold for the graded outputs alone.")
    targeted = whole.graded - whole.sampled - (production.graded if production is not None else 0)
    return tr(
        "Random sample: {outputs}{rest}. By it people call {share} of all outputs bad ({some} of {all}).",
        outputs=_outputs(whole.sampled),
        rest="; " + tr("{count} others were targeted or picked", count=targeted) if targeted > 0 else "",
        share=range_of(whole.bad_share),
        some=whole.sampled_bad,
        all=whole.sampled_bad + whole.sampled_good,
    )


def _of_production(one: CardLabels) -> str:
    """What people say about outputs of production, apart from what is said about the runs' outputs."""
    head = tr(
        "{count} of these outputs come from production: {graded} graded, {good} good and {bad} bad.",
        count=one.outputs,
        graded=one.graded,
        good=one.good,
        bad=one.bad,
    )
    if one.bad_share is None or one.bad_share.estimate is None:
        return head
    return (
        head
        + " "
        + tr(
            "By their own random sample ({outputs}) people call {share} of them bad.",
            outputs=_outputs(one.sampled),
            share=range_of(one.bad_share),
        )
    )


def labels_of(one: CardLabels) -> str:
    """What people say by a rule or criterion."""
    parts = [tr("{good} good, {bad} bad", good=one.good, bad=one.bad)]
    if one.derived:
        parts.append(tr("{count} of them since the whole output is good", count=one.derived))
    if one.unsure:
        parts.append(tr("{count} unsure", count=one.unsure))
    if one.disputed:
        parts.append(tr("{count} disputed", count=one.disputed))
    if one.stale:
        parts.append(tr("{count} with grades on older words", count=one.stale))
    if one.bad_share is not None:
        outputs, share = _outputs(one.sampled), range_of(one.bad_share)
        parts.append(tr("by the random sample ({outputs}) {share} are bad", outputs=outputs, share=share))
    return "; ".join(parts)


def graded_parts(card: ReportCard) -> list[CardLabels]:
    return [one for one in card.labels[1:] if one.graded or one.stale]


def counts_of(row: CardRow) -> str:
    """The counts behind a row's figures."""
    counts = row.graded.counts
    return tr(
        "catches {caught} of {bad} bad, flags {flagged} of {good} good",
        caught=counts.caught,
        bad=counts.bad,
        flagged=counts.flagged,
        good=counts.good,
    )


def remarks_of(row: CardRow) -> list[str]:
    """What to know of a row's figures, and which are not defined."""
    remarks = []
    if row.basis == "known-and-suspect":
        remarks.append(tr("bad ones of which nobody said what is wrong are among them"))
    if row.on_whole is not None and row.on_whole.bad:
        caught, bad = row.on_whole.caught, row.on_whole.bad
        remarks.append(tr("of all bad outputs it catches {some} of {all}", some=caught, all=bad))
    if row.silent:
        remarks.append(tr("says nothing of {count}", count=row.silent))
    if row.folds_without:
        empty = EMPTY_FOLDS[row.empty_folds]
        remarks.append(empty.tr(some=row.folds_without, all=row.folds))
    left_out = _left_out(row)
    has_none = "no-labels" in row.graded.undefined and left_out
    return (
        remarks
        + left_out
        + ([] if has_none else [UNDEFINED[why].tr() for why in row.graded.undefined])
        + _of_sample(row)
    )


def _of_sample(row: CardRow) -> list[str]:
    """What is not defined on the random sample alone."""
    if row.sample is None or row.sample.n == row.graded.n:
        return []
    undefined = (why for why in row.sample.undefined if why not in row.graded.undefined)
    return [tr("in the random sample {what}", what=UNDEFINED[why].tr()) for why in undefined]


def _left_out(row: CardRow) -> list[str]:
    """Which graded outputs are in no figure, and why."""
    if row.kind in ("set", "criterion") and row.graded.n:
        return []  # the card's notice says it once for all of them
    shown_to_judge = tr("may have been shown to the judge")
    if row.kind in ("set", "criterion"):
        shown_to_judge = tr("may have been shown to those who write candidates")
    reasons_given = [
        (count, why)
        for count, why in ((row.in_choice, tr("had a part in the choice")), (row.shown, shown_to_judge))
        if count
    ]
    if len(reasons_given) == 1 and not row.graded.n and not row.silent:
        count, why = reasons_given[0]
        return [tr_n("the only graded output {why}", "all {count} graded outputs {why}", count, why=why)]
    return [_is_left_out(count, why, others=bool(row.graded.n)) for count, why in reasons_given]


def _is_left_out(count: int, why: str, *, others: bool) -> str:
    if others:
        return tr_n(
            "{count} other graded output {why}, and is left out",
            "{count} other graded outputs {why}, and are left out",
            count,
            why=why,
        )
    return tr_n(
        "{count} graded output {why}, and is left out",
        "{count} graded outputs {why}, and are left out",
        count,
        why=why,
    )


def addition_of(one: CardAddition) -> str:
    """What an assertion adds to the set."""
    coverage = "–" if one.coverage is None else percent(one.coverage)
    ffr = "–" if one.ffr is None else percent(one.ffr)
    return tr(
        "coverage {coverage} ({caught} of {bad} that no other catches), FFR {ffr} ({flagged} of {good}); chosen in "
        "{some} of {all} folds",
        coverage=coverage,
        caught=one.caught,
        bad=one.bad,
        ffr=ffr,
        flagged=one.flagged,
        good=one.good,
        some=one.chosen_in,
        all=one.folds,
    )


def candidate_counts(one: CardCandidate) -> str:
    """What a candidate does on the grades that the choice is made by."""
    counts = one.counts
    parts = [
        tr("catches {some} of {all}", some=counts.caught, all=counts.bad),
        tr("flags {some} of {all}", some=counts.flagged, all=counts.good),
    ]
    if one.alignment is not None:
        parts.append(tr("alignment {share}", share=percent(one.alignment)))
    if one.errors:
        parts.append(tr("errs on {count}", count=one.errors))
    return ", ".join(parts)


def people_of(one: PeopleAgreement) -> str:
    undefined = tr("kappa is not defined, since both say one thing throughout")
    kappa = undefined if one.kappa.estimate is None else f"kappa {kappa_of(one.kappa)}"
    return tr("agree on {share} of {count}, {kappa}", share=range_of(one.agreed), count=one.agreed.n, kappa=kappa)


def effect_name(one: CardEffect) -> str:
    names = {"set": tr("the chosen set"), "verdicts": tr("all verdicts together")}
    return names.get(one.kind, subject_name(one.what))


def effect_notes(one: CardEffect) -> list[str]:
    notes = [] if one.sampled else [tr("not random samples")]
    return notes if one.cases or one.difference is None else [*notes, tr("no case is in both")]


def points_of(one: CardEffect) -> str:
    """By how many points a figure changed, with the interval; empty where that is not defined."""
    if one.difference is None or one.difference.estimate is None:
        return ""
    return points_apart(one.difference.estimate, one.difference.low, one.difference.high, unit=" " + tr("points"))


LEFT, RIGHT, TOP, BOTTOM = 9.0, 99.0, 6.0, 84.0
"""Where the axes begin and end, in percent of the drawing."""
GAP = 0.12
"""The share of a bin that is left free between two bars."""

KINDS = ("good", "bad", "unlabelled")
KIND_NAMES = {"good": Key("good"), "bad": Key("bad"), "unlabelled": Key("unlabelled")}


@dataclass(frozen=True, slots=True)
class Place:
    """Where words stand, with the words."""

    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """A piece of a bar: outputs of a kind in a bin, on top of those of the kinds before it."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """The parts of a drawing."""

    name: str
    bars: tuple[HistogramBar, ...]
    ticks_x: tuple[Place, ...]
    ticks_y: tuple[Place, ...]
    words: str


def drawn_histogram(given: CardDistribution) -> Histogram:
    """The drawing of a distribution: a bar per bin, of good outputs below, bad ones on them, then those without a
    label."""
    counts = tuple(zip(given.good, given.bad, given.unlabelled, strict=True))
    most = max(map(sum, counts), default=0) or 1
    width = (RIGHT - LEFT) / len(counts)
    bars: list[HistogramBar] = []
    for place, each in enumerate(counts):
        bars += _bin(given, place, each, most, width)
    labelled = [place for place in range(len(given.edges)) if place % max(1, -(-len(given.edges) // 7)) == 0]
    return Histogram(
        name=given.name,
        bars=tuple(bars),
        ticks_x=tuple(Place(round(LEFT + width * place, 2), BOTTOM, f"{given.edges[place]:g}") for place in labelled),
        ticks_y=(Place(LEFT, BOTTOM, "0"), Place(LEFT, TOP, str(most))),
        words=_in_words(given),
    )


def _bin(given: CardDistribution, place: int, counts: Sequence[int], most: int, width: float) -> list[HistogramBar]:
    bars = []
    top = BOTTOM
    low, high = given.edges[place], given.edges[place + 1]
    for kind, count in zip(KINDS, counts, strict=True):
        if count:
            height = (BOTTOM - TOP) * count / most
            top -= height
            words = tr(
                "{low} to {high}: {count} {kind}",
                low=f"{low:g}",
                high=f"{high:g}",
                count=count,
                kind=KIND_NAMES[kind].tr(),
            )
            x = LEFT + width * (place + GAP / 2)
            bars.append(
                HistogramBar(
                    kind=kind,
                    x=round(x, 2),
                    y=round(top, 2),
                    width=round(width * (1 - GAP), 2),
                    height=round(height, 2),
                    words=words,
                )
            )
    return bars


def _in_words(given: CardDistribution) -> str:
    totals = [(kind, sum(getattr(given, kind))) for kind in KINDS]
    parts = [f"{count} {KIND_NAMES[kind].tr()}" for kind, count in totals if count]
    return tr(
        "{name} of {outputs} ({parts}), from {low} to {high}.",
        name=given.name,
        outputs=tr_n("{count} output", "{count} outputs", sum(count for _, count in totals)),
        parts=", ".join(parts),
        low=f"{given.edges[0]:g}",
        high=f"{given.edges[-1]:g}",
    )


SIGNS = {"p": "pass", "f": "fail", "e": "none", "-": ""}
"""What the signs of ``CardOutput.cells`` mean; empty where an assertion was not run."""

_FIXED = ("id", "name", "case", "model", "repeat", "label", "label_from", "random_sample")


def write_table(path: Path, card: ReportCard, items: Iterable[Example]) -> None:
    """Writes the table, with the whole of each output and its inputs."""
    measures = list(dict.fromkeys(name for one in card.outputs for name in one.measures))
    header = (*_FIXED, *measures, *(f"{one.subject}: {one.id}" for one in card.columns), "inputs", "output")
    items_by_id = {item.id: item for item in items}

    def rows() -> Iterator[Sequence[str | int | float]]:
        yield [guard(name) for name in header]
        for one in card.outputs:
            yield [
                guard(cell) if isinstance(cell, str) else cell for cell in _cells(one, items_by_id[one.id], measures)
            ]

    try:
        write_text(path, dump_cells(rows(), line_end="\n"), links=False)
    except OSError as failure:
        message = f"the table cannot be written ({failure.strerror or failure}); name another file with --csv"
        raise InputError(message, path=path) from None


def _cells(one: CardOutput, item: Example, measures: Sequence[str]) -> Sequence[str | int | float]:
    inputs = json.dumps(item.inputs, ensure_ascii=False, default=str) if item.inputs else ""
    return (
        *(one.id, one.name, item.case, item.model, item.repeat, one.label, one.how, "yes" if one.sampled else "no"),
        *(one.measures.get(name, "") for name in measures),
        *(SIGNS[sign] for sign in one.cells),
        *(inputs, item.output),
    )
