"""What a reader of the table of models has to know: what is unscored, unjudged or missing, and what its marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promptpex.codecs.wording import plural
from promptpex.core.records import RUNNING
from promptpex.report.caveats_in_words import FEW
from promptpex.report.metrics_in_words import mean
from promptpex.report.secondary_tables import DAGGER
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
        why = "it was ended before its report" if why == RUNNING else clean(why)
        without = " without --fresh" if summary.run.manifest.settings.get("fresh") else ""
        yield f"This run is not complete ({why}): the same command{without} goes on with it."


def gaps(summary: Summary) -> list[str]:
    """What could not be scored, model by model, or judged, and why."""
    lines = []
    for model, reasons in summary.gaps.unscored.items():
        counts = ", ".join(f"{count} {clean(reason)}" for reason, count in reasons.items())
        lines.append(f"Unscored, {clean(model)}: {counts}.")
        lines += [f"  {clean(reason)}: {clean(why, WHY)}" for reason, why in _why(summary, model, reasons)]
    return [*lines, *_without_judge(summary)]


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
        lines.append(
            f"Unscored: {sum(models.values())} {clean(reason)} ({of_each}).{f' {clean(why, WHY)}' if why else ''}"
        )
    return [*lines, *_without_judge(summary)]


def means(summary: Summary) -> Iterator[str]:
    """What each metric of the owner's comes to, model by model; the one that models are ranked by is in their table."""
    rows = [row for row in records(summary.metrics) if row["counts"]]
    for metric in dict.fromkeys(row["metric"] for row in rows):
        if metric != summary.rankings.options.rank_by:
            of_each = (row for row in rows if row["metric"] == metric)
            shown = (f"{named(row['model'])} {mean(row)}" for row in of_each)
            yield f"Metric {clean(metric)}: {', '.join(shown)}."


def _without_judge(summary: Summary) -> Iterator[str]:
    """The rules that nobody judged, or only in part."""
    total = plural(len(summary.run.spec.rules), "rule")
    unjudged, half_judged = summary.gaps.unjudged_rules, summary.gaps.half_judged_rules
    if unjudged:
        verb = "has" if len(unjudged) == 1 else "have"
        yield f"Not judged: {len(unjudged)} of {total} ({_ids(unjudged)}) {verb} no check and no judge."
    if half_judged:
        verb = "has" if len(half_judged) == 1 else "have"
        yield (
            f"Judged in part: {len(half_judged)} of {total} ({_ids(half_judged)}) {verb} checks that find only "
            "some failures, and no judge: an output that passes them is unscored."
        )


def _ids(rules: Iterable[str]) -> str:
    """Ids of rules as a list for a line of a terminal."""
    return ", ".join(map(named, rules))


def _why(summary: Summary, model: str, reasons: Iterable[str]) -> list[tuple[str, str]]:
    """For each reason that was an error with a message, the first message: what was wrong, and what to do."""
    rows = summary.outputs
    failed = rows[rows["model"].isin([model]) & rows["error"].notna() & rows["message"].fillna("").ne("")]
    first = failed.drop_duplicates("error")
    messages = dict(zip(first["error"].tolist(), first["message"].tolist(), strict=True))
    return [(reason, messages[reason]) for reason in reasons if reason in messages]


def marks(summary: Summary) -> Iterator[str]:
    """How the table of models is weighted and what its marks mean, as far as it has them, in few words each."""
    rows = records(summary.models)
    weights = summary.rankings.options.weights
    if weights:
        yield f"weighted by {', '.join(f'{clean(name)} {times:g}' for name, times in weights.items())}"
    if any(0 < row["scored"] < FEW for row in rows):
        yield f"* fewer than {FEW} scored outputs, a rough guide"
    if any(row["at_least"] or row["accuracy_at_least"] for row in rows):
        yield "≥ at least: some outputs have no verdict"
    if any(row["holds_sampled"] is False for row in rows):
        yield f"{DAGGER} would not hold if the rules were a sample"
