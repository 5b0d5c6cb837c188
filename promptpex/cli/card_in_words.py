"""A report card as people read it in a terminal: 80 columns, figures with intervals, the counts behind them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

from promptpex.alignment.figures import UNDEFINED
from promptpex.cli.selection_in_words import WIDTH, wrapped
from promptpex.codecs.wording import cut, plural, quoted
from promptpex.core.records import (
    AlignmentFigures,
    CardAddition,
    CardCandidate,
    CardEffect,
    CardFigure,
    CardLabels,
    CardRow,
    PeopleAgreement,
    ReportCard,
)
from promptpex.report.percentages import as_given, listed, percent, with_ends

SHOWN = 60
"""Rows of a part that are printed; ``--json`` has all."""
NAME, FIGURE = 16, 16
"""Columns for the name of a line and for a figure; kappa has what is left of 80."""

_HEAD = f"{'':<{NAME}}{'coverage':<{FIGURE}}{'FFR':<{FIGURE}}{'alignment':<{FIGURE}}kappa"


def card_lines(card: ReportCard) -> list[str]:
    """The lines of a card."""
    out = [one for one in card.candidates if one.state != "chosen"]
    parts = [
        [line for sentence in _opening(card) for line in wrapped(sentence)],
        _rows("The chosen set, on grades that had no part in choosing it", _of(card, "set", "criterion")),
        _listed("What each chosen assertion adds to the set", [_addition(one) for one in card.additions]),
        [line for sentence in card.lacking for line in wrapped(sentence)],
        _rows("The verdicts of the run", _of(card, "verdicts", "check", "judge")),
        _listed("Candidates that were not chosen", list(map(_candidate, out))),
        _listed("Person against person", [_people(one) for one in card.people]),
        _listed(f"Since the run {card.against}", [_effect(one) for one in card.effects]),
        [line for notice in card.notices for line in wrapped(f"{notice[:1].upper()}{notice[1:]}.")],
    ]
    return [line for part in parts if part for line in ("", *part)][1:]


def _opening(card: ReportCard) -> Iterator[str]:
    runs = f", {plural(len(card.runs), 'run')} {listed(card.runs)}" if card.runs else ""
    yield f"Report card of {card.prompt}{runs}."
    whole = card.labels[0]
    by = f", by {listed(card.graders)}" if card.graders else ""
    yield (
        f"{whole.graded + whole.from_table} of {plural(whole.outputs, 'output')} graded{by}: {whole.good} good, "
        f"{whole.bad} bad, {whole.unsure} unsure, {whole.disputed} disputed{_stale(card)}."
    )
    yield f"Labels: {card.rules}."
    yield _sample(whole)
    if card.kept and card.limit is not None:
        limit = as_given(card.limit)
        yield f"The set in selection.json was chosen by the method {card.method}, FFR of at most {limit}."


def _stale(card: ReportCard) -> str:
    stale = sum(one.stale for one in card.labels)
    return f"; {plural(stale, 'grade')} on older words of a rule or criterion, which do not count" if stale else ""


def _sample(whole: CardLabels) -> str:
    """What is random of it, and what that says of all outputs."""
    if whole.bad_share is None or whole.bad_share.estimate is None:
        return "No output of the random sample is graded: these figures hold for the graded outputs alone."
    targeted = whole.graded - whole.sampled
    rest = f"; {targeted} others were targeted or picked" if targeted > 0 else ""
    return (
        f"Random sample: {plural(whole.sampled, 'output')}{rest}. By it people call {range_of(whole.bad_share)} of all "
        f"outputs bad ({whole.sampled_bad} of {whole.sampled_bad + whole.sampled_good})."
    )


def _of(card: ReportCard, *kinds: str) -> list[CardRow]:
    return [row for row in card.rows if row.kind in kinds]


def _rows(title: str, rows: Sequence[CardRow]) -> list[str]:
    if not rows:
        return []
    lines = [title, _HEAD]
    for row in rows[:SHOWN]:
        lines += [_title(row), _line(f"  graded, {row.graded.n}", row.graded)]
        if row.sample is not None and row.sample.n < row.graded.n:
            lines.append(_line(f"  random, {row.sample.n}", row.sample))
        lines += _indented(_counts(row))
    return lines + _more(len(rows))


def _title(row: CardRow) -> str:
    name = {"set": "the whole set", "verdicts": "all verdicts together"}.get(row.kind, row.id)
    by = ", ".join(row.by)
    words = f" {quoted(row.text, max(12, 74 - len(name) - len(by)))}" if row.text else ""
    return cut(f"{name}{words}{f': {by}' if by else ''}", 80)


def _line(name: str, figures: AlignmentFigures) -> str:
    cells = "".join(f"{range_of(one):<{FIGURE}}" for one in (figures.coverage, figures.ffr, figures.alignment))
    return f"{name:<{NAME}}{cells}{_kappa(figures.kappa)}".rstrip()


def range_of(one: CardFigure) -> str:
    """A share with its interval; a dash where it is not defined."""
    return "–" if one.estimate is None else with_ends(one.estimate, one.low, one.high)


def _kappa(one: CardFigure) -> str:
    return "–" if one.estimate is None else f"{one.estimate:.2f} ({one.low:.1f}–{one.high:.1f})"


def _counts(row: CardRow) -> str:
    counts = row.graded.counts
    parts = [f"catches {counts.caught} of {counts.bad} bad, flags {counts.flagged} of {counts.good} good"]
    if row.basis == "known-and-suspect":
        parts.append("bad ones of which nobody said what is wrong are among them")
    if row.on_whole is not None and row.on_whole.bad:
        parts.append(f"of all bad outputs it catches {row.on_whole.caught} of {row.on_whole.bad}")
    if row.silent:
        parts.append(f"says nothing of {row.silent}")
    if row.folds_without:
        parts.append(f"nothing chosen in {row.folds_without} of {row.folds} folds")
    parts += [UNDEFINED[why] for why in row.graded.undefined]
    return "; ".join(parts)


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return [title, *(each for line in lines[:SHOWN] for each in _indented(line)), *_more(len(lines))]


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)


def _more(count: int) -> list[str]:
    return [f"  and {count - SHOWN} more; --json has all"] if count > SHOWN else []


def _addition(one: CardAddition) -> str:
    coverage = "–" if one.coverage is None else percent(one.coverage)
    ffr = "–" if one.ffr is None else percent(one.ffr)
    return (
        f"{one.id}: coverage {coverage} ({one.caught} of {one.bad} that no other catches), FFR {ffr} ({one.flagged} of "
        f"{one.good}); chosen in {one.chosen_in} of {one.folds} folds"
    )


def _candidate(one: CardCandidate) -> str:
    counts = one.counts
    known = f"catches {counts.caught} of {counts.bad}, flags {counts.flagged} of {counts.good}"
    aligned = "" if one.alignment is None else f", alignment {percent(one.alignment)}"
    erring = f", errs on {one.errors}" if one.errors else ""
    return f"{one.criterion} {one.id} ({one.by}): {one.why}; {known}{aligned}{erring}"


def _people(one: PeopleAgreement) -> str:
    what = "the whole output" if one.subject == "output" else one.subject
    kappa = "kappa is not defined" if one.kappa.estimate is None else f"kappa {_kappa(one.kappa)}"
    return f"{one.first} and {one.second} on {what}: agree on {range_of(one.agreed)} of {one.agreed.n}, {kappa}"


_FIGURES = {"coverage": "coverage", "ffr": "FFR", "alignment": "alignment", "bad": "bad by people"}


def _effect(one: CardEffect) -> str:
    what = "the whole output" if one.what == "output" else one.what
    by = f" {one.by}" if one.by else ""
    sample = "" if one.sampled else "; not random samples"
    return (
        f"{what}{by}, {_FIGURES[one.figure]}: {range_of(one.before)}, now {range_of(one.after)}{_points(one)}{sample}"
    )


def _points(one: CardEffect) -> str:
    if one.difference is None or one.difference.estimate is None:
        return ""
    points = [f"{100 * value:+.0f}" for value in (one.difference.estimate, one.difference.low, one.difference.high)]
    return f": {points[0]} points ({points[1]} to {points[2]})"
