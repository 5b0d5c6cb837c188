"""The words of a report card that terminal and page share."""

from __future__ import annotations

from collections.abc import Iterator

from promptpex.codecs.wording import plural
from promptpex.core.records import (
    CardAddition,
    CardCandidate,
    CardEffect,
    CardFigure,
    CardLabels,
    CardRow,
    PeopleAgreement,
    ReportCard,
    Undefined,
)
from promptpex.report.percentages import as_given, listed, percent, points_apart, with_ends

UNDEFINED: dict[Undefined, str] = {
    "no-labels": "no output has a label, so that nothing is defined",
    "no-bad": "no output is bad, so that neither coverage nor alignment is defined",
    "no-good": "no output is good, so that neither FFR nor alignment is defined",
    "zero": "it catches nothing bad and flags everything good, so that alignment is 0/0",
    "one-answer": "people and the assertion say one thing throughout, so that kappa is not defined",
}
"""The reasons of ``AlignmentFigures.undefined`` in words."""

FIGURES = {"coverage": "coverage", "ffr": "FFR", "alignment": "alignment", "bad": "bad by people"}
"""What ``CardEffect.figure`` is called."""


def range_of(one: CardFigure) -> str:
    """A share with its interval; a dash where it is not defined."""
    return "–" if one.estimate is None else with_ends(one.estimate, one.low, one.high)


def kappa_of(one: CardFigure) -> str:
    """Kappa with its interval; a dash where it is not defined."""
    return "–" if one.estimate is None else f"{one.estimate:.2f} ({one.low:.1f}–{one.high:.1f})"


def name_of(row: CardRow) -> str:
    """What a row is called."""
    return {"set": "the whole set", "verdicts": "all verdicts together"}.get(row.kind, row.id)


def subject_name(subject: str) -> str:
    """What people graded."""
    return "the whole output" if subject == "output" else subject


def opening(card: ReportCard) -> Iterator[str]:
    """What the card rests on, a sentence each: how many grades there are, how they become labels, what is random."""
    whole = card.labels[0]
    by = f", by {listed(card.graders)}" if card.graders else ""
    yield (
        f"{whole.graded + whole.from_table} of {plural(whole.outputs, 'output')} graded{by}: {whole.good} good, "
        f"{whole.bad} bad, {whole.unsure} unsure, {whole.disputed} disputed{_stale(card)}."
    )
    yield f"Labels: {card.rules}."
    yield _sample(whole, card.production)
    if card.production is not None:
        yield _of_production(card.production)
    if card.kept and card.limit is not None:
        limit = as_given(card.limit)
        yield f"The set in selection.json was chosen by the method {card.method}, FFR of at most {limit}."
        if card.choice_rules not in ("", card.rules):
            yield f"Labels of that choice: {card.choice_rules}."


def _stale(card: ReportCard) -> str:
    stale = sum(one.stale for one in card.labels)
    has = "output has" if stale == 1 else "outputs have"
    return f"; {stale} {has} grades on older words of a rule or criterion, which do not count" if stale else ""


def _sample(whole: CardLabels, production: CardLabels | None) -> str:
    """What is random of the runs' outputs, and what that says of all of them."""
    if whole.bad_share is None or whole.bad_share.estimate is None:
        lacking = "has a label" if whole.sampled else "is graded"
        return f"No output of the random sample {lacking}: these figures hold for the graded outputs alone."
    targeted = whole.graded - whole.sampled - (production.graded if production is not None else 0)
    rest = f"; {targeted} others were targeted or picked" if targeted > 0 else ""
    return (
        f"Random sample: {plural(whole.sampled, 'output')}{rest}. By it people call {range_of(whole.bad_share)} of all "
        f"outputs bad ({whole.sampled_bad} of {whole.sampled_bad + whole.sampled_good})."
    )


def _of_production(one: CardLabels) -> str:
    """What people say of outputs of production, which are no part of what is said of the runs' outputs."""
    head = f"Of these outputs {one.outputs} are of production: {one.graded} graded, {one.good} good and {one.bad} bad."
    if one.bad_share is None or one.bad_share.estimate is None:
        return head
    drawn = plural(one.sampled, "output")
    return f"{head} By their own random sample ({drawn}) people call {range_of(one.bad_share)} of them bad."


def labels_of(one: CardLabels) -> str:
    """What people say by a rule or criterion."""
    parts = [f"{one.good} good, {one.bad} bad"]
    if one.derived:
        parts.append(f"{one.derived} of them since the whole output is good")
    parts += [f"{count} {word}" for count, word in ((one.unsure, "unsure"), (one.disputed, "disputed")) if count]
    if one.stale:
        parts.append(f"{one.stale} with grades on older words")
    if one.bad_share is not None:
        parts.append(f"by the random sample ({plural(one.sampled, 'output')}) {range_of(one.bad_share)} are bad")
    return "; ".join(parts)


def graded_parts(card: ReportCard) -> list[CardLabels]:
    """The rules and criteria of which people said anything."""
    return [one for one in card.labels[1:] if one.graded or one.stale]


def counts_of(row: CardRow) -> str:
    """The counts behind a row's figures."""
    counts = row.graded.counts
    return f"catches {counts.caught} of {counts.bad} bad, flags {counts.flagged} of {counts.good} good"


def remarks_of(row: CardRow) -> list[str]:
    """What to know of a row's figures, and which are not defined."""
    remarks = []
    if row.basis == "known-and-suspect":
        remarks.append("bad ones of which nobody said what is wrong are among them")
    if row.on_whole is not None and row.on_whole.bad:
        remarks.append(f"of all bad outputs it catches {row.on_whole.caught} of {row.on_whole.bad}")
    if row.silent:
        remarks.append(f"says nothing of {row.silent}")
    if row.folds_without:
        outputs = {"not-flagged": ", whose outputs count as not flagged", "left-out": ", which are left out", "": ""}
        remarks.append(f"nothing chosen in {row.folds_without} of {row.folds} folds{outputs[row.empty_folds]}")
    left_out = _left_out(row)
    has_none = "no-labels" in row.graded.undefined and left_out
    return remarks + left_out + ([] if has_none else [UNDEFINED[why] for why in row.graded.undefined]) + _of_sample(row)


def _of_sample(row: CardRow) -> list[str]:
    """What is not defined on the random sample alone."""
    if row.sample is None or row.sample.n == row.graded.n:
        return []
    return [f"in the random sample {UNDEFINED[why]}" for why in row.sample.undefined if why not in row.graded.undefined]


def _left_out(row: CardRow) -> list[str]:
    """Which graded outputs are in no figure, and why."""
    if row.kind in ("set", "criterion") and row.graded.n:
        return []  # the card's notice says it once for all of them
    to = "those who write candidates" if row.kind in ("set", "criterion") else "the judge"
    reasons = ((row.in_choice, "had a part in the choice"), (row.shown, f"may have been shown to {to}"))
    given = [(count, why) for count, why in reasons if count]
    if len(given) == 1 and not row.graded.n and not row.silent:
        count, why = given[0]
        return [f"all {count} graded outputs {why}" if count > 1 else f"the only graded output {why}"]
    other = "other graded output" if row.graded.n else "graded output"
    return [f"{plural(count, other)} {why}, and {'is' if count == 1 else 'are'} left out" for count, why in given]


def addition_of(one: CardAddition) -> str:
    """What an assertion adds to the set."""
    coverage = "–" if one.coverage is None else percent(one.coverage)
    ffr = "–" if one.ffr is None else percent(one.ffr)
    return (
        f"coverage {coverage} ({one.caught} of {one.bad} that no other catches), FFR {ffr} ({one.flagged} of "
        f"{one.good}); chosen in {one.chosen_in} of {one.folds} folds"
    )


def candidate_counts(one: CardCandidate) -> str:
    """What a candidate does on the grades that the choice is made by."""
    counts = one.counts
    aligned = "" if one.alignment is None else f", alignment {percent(one.alignment)}"
    erring = f", errs on {one.errors}" if one.errors else ""
    return f"catches {counts.caught} of {counts.bad}, flags {counts.flagged} of {counts.good}{aligned}{erring}"


def people_of(one: PeopleAgreement) -> str:
    """How far two people agree."""
    undefined = "kappa is not defined, since both say one thing throughout"
    kappa = undefined if one.kappa.estimate is None else f"kappa {kappa_of(one.kappa)}"
    return f"agree on {range_of(one.agreed)} of {one.agreed.n}, {kappa}"


def effect_name(one: CardEffect) -> str:
    """What an edit had this effect on."""
    names = {"set": "the chosen set", "verdicts": "all verdicts together"}
    return names.get(one.kind, subject_name(one.what))


def effect_notes(one: CardEffect) -> list[str]:
    """What to know of an effect."""
    notes = [] if one.sampled else ["not random samples"]
    return notes if one.cases or one.difference is None else [*notes, "no case is in both"]


def points_of(one: CardEffect) -> str:
    """By how many points a figure changed, with the interval; empty where that is not defined."""
    if one.difference is None or one.difference.estimate is None:
        return ""
    return points_apart(one.difference.estimate, one.difference.low, one.difference.high, unit=" points")
