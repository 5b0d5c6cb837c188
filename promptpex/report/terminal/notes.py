"""What a reader of the table of models has to know: what is unscored, unjudged or missing, and what its marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptpex.core.records import KILLED
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.caveats_in_words import FEW, scored_cases, without_value
from promptpex.report.metrics_in_words import mean
from promptpex.report.summary import Summary
from promptpex.report.terminal.texts import clean, named
from promptpex.tables import records

WHY = 320
"""Characters of the message of an error."""


def notes(summary: Summary) -> list[str]:
    """What could not be scored or judged, and why; that the run is not complete."""
    return [*gaps(summary), *incomplete(summary)]


def incomplete(summary: Summary) -> Iterator[str]:
    """That the run is not complete, and why."""
    why = summary.run.manifest.partial
    if why:
        why = tr("it was ended before its report") if why == KILLED else clean(from_data(why))
        if summary.run.manifest.settings.get("fresh"):
            yield tr("This run is not complete ({why}): the same command without --fresh continues it.", why=why)
        else:
            yield tr("This run is not complete ({why}): the same command continues it.", why=why)


def gaps(summary: Summary) -> list[str]:
    """What could not be scored, model by model, or judged, and why."""
    lines = []
    for model, reasons in summary.gaps.unscored.items():
        counts = ", ".join(f"{count} {clean(from_data(reason))}" for reason, count in reasons.items())
        lines.append(tr("Unscored, {model}: {counts}.", model=clean(model), counts=counts))
        lines += [
            f"  {clean(from_data(reason))}: {clean(from_data(why), WHY)}"
            for reason, why in _why(summary, model, reasons)
        ]
    return [*lines, *_without_value(summary), *_without_judge(summary)]


def gaps_by_reason(summary: Summary) -> list[str]:
    """The same, reason by reason, with what the first model said of it."""
    counts: dict[str, dict[str, int]] = {}
    for model, reasons in summary.gaps.unscored.items():
        for reason, count in reasons.items():
            counts.setdefault(reason, {})[model] = count
    lines = []
    for reason, models in counts.items():
        several = len(models) > 1
        of_each = ", ".join(f"{named(model)} {count}" if several else named(model) for model, count in models.items())
        why = next((why for model in models for _, why in _why(summary, model, [reason])), "")
        line = tr(
            "Unscored: {count} {reason} ({models}).",
            count=sum(models.values()),
            reason=clean(from_data(reason)),
            models=of_each,
        )
        lines.append(f"{line} {clean(from_data(why), WHY)}" if why else line)
    return [*lines, *_without_value(summary), *_without_judge(summary)]


def means(summary: Summary) -> Iterator[str]:
    """What each metric of the owner's comes to, model by model; the one that models are ranked by is in their table."""
    rows = [row for row in records(summary.metrics) if row["counts"] and row["mean"] is not None]
    for metric in dict.fromkeys(row["metric"] for row in rows):
        if metric != summary.rankings.options.rank_by:
            of_each = (row for row in rows if row["metric"] == metric)
            mean_texts = (f"{named(row['model'])} {mean(row)}" for row in of_each)
            yield tr("Metric {metric}: {means}.", metric=clean(metric), means=", ".join(mean_texts))


def _without_value(summary: Summary) -> Iterator[str]:
    """The rules whose checks look at a value that some outputs lack."""
    for sentence in without_value(summary.run.spec.rules, summary.gaps.without_value):
        yield clean(sentence, WHY)


def _without_judge(summary: Summary) -> Iterator[str]:
    """The rules that nobody judged, or only in part."""
    rules = tr_n("{count} rule", "{count} rules", len(summary.run.spec.rules))
    unjudged, half_judged = summary.gaps.unjudged_rules, summary.gaps.half_judged_rules
    if unjudged:
        yield tr_n(
            "Not judged: {count} of {rules} ({ids}) has no check and no judge.",
            "Not judged: {count} of {rules} ({ids}) have no check and no judge.",
            len(unjudged),
            rules=rules,
            ids=_ids(unjudged),
        )
    if half_judged:
        yield tr_n(
            "Judged in part: {count} of {rules} ({ids}) has checks that find only some failures, and no judge: an "
            "output that passes them is unscored.",
            "Judged in part: {count} of {rules} ({ids}) have checks that find only some failures, and no judge: an "
            "output that passes them is unscored.",
            len(half_judged),
            rules=rules,
            ids=_ids(half_judged),
        )


def _ids(rules: Iterable[str]) -> str:
    """Ids of rules as a list for a line of a terminal."""
    return ", ".join(map(named, rules))


def _why(summary: Summary, model: str, reasons: Iterable[str]) -> list[tuple[str, str]]:
    """For each reason that was an error with a message, the first message: what was wrong, and what to do."""
    first = "WHERE m.name = CAST(? AS TEXT) AND o.error IS NOT NULL AND o.message <> '' ORDER BY t.place DESC"
    messages = dict(summary.made.rows.query("o.error, o.message", first, [model]))
    return [(reason, messages[reason]) for reason in reasons if reason in messages]


def marks(summary: Summary) -> Iterator[str]:
    """How the table of models is weighted and what its marks mean, as far as it has them, in few words each."""
    rows = summary.model_rows
    weights = summary.rankings.options.weights
    if weights:
        yield tr(
            "weighted by {weights}", weights=", ".join(f"{clean(name)} {times}" for name, times in weights.items())
        )
    if any(0 < scored_cases(row) < FEW and not row["chosen_by_outcome"] for row in rows):
        yield tr("* fewer than {few} scored cases, a rough guide", few=FEW)
    if any(row["at_least"] or row["accuracy_at_least"] for row in rows):
        yield tr("≥ at least: some outputs have no verdict")
