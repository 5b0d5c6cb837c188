"""Models and judges that were asked and gave nothing that could be used: one sentence each, for stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptpex.core.records import CUT, NOT_ASKED, UNCLEAR
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.translated_values import counted_reasons

if TYPE_CHECKING:
    from promptpex.report import Summary

LONGEST = 320
CODE = ("javascript", "python")
"""The sources of scores by a metric's code."""


def silent_models(summary: Summary, *, allowed: bool = False) -> Iterator[str]:
    """What is said of the models that were asked and gave not one usable answer; nothing where all gave one.

    Args:
        allowed: whether such models are accepted; they are as long as another model answered.
    """
    from promptpex.report.terminal import clean

    rows = summary.rows
    if not rows["error"].notna().any():
        return
    answered = set(rows.loc[rows["error"].isna(), "model"])
    ended = {*NOT_ASKED, *CUT.values()}
    failed = rows[rows["error"].notna() & ~rows["error"].isin(ended) & ~rows["model"].isin(answered)]
    silent = [
        f"{clean(model)} ({_counted(Counter(errors))})"
        for model, errors in failed.groupby("model", sort=False, observed=True)["error"]
    ]
    if not silent or (allowed and answered):
        return
    models = tr(" or ").join(silent)
    if answered:
        yield tr("not one usable answer came from {models}; --allow-missing-models accepts that", models=models)
    else:
        yield tr("not one usable answer came from {models}", models=models)


def silent_judges(summary: Summary) -> Iterator[str]:
    """What is said of each judge that failed on all of what it was asked."""
    from promptpex.report.terminal import clean
    from promptpex.tables import records

    for row in records(summary.details.judges):
        if row["asked"] and row["failed"] == row["asked"]:
            yield tr_n(
                "the judge {judge} failed on its one request ({reasons}): {why}",
                "the judge {judge} failed on all of its {count} requests ({reasons}): {why}",
                row["asked"],
                judge=clean(row["judge"]),
                reasons=counted_reasons(row["reasons"]),
                why=clean(row["example"], LONGEST),
            )


def silent_answerers(summary: Summary) -> Iterator[str]:
    """What is said of a judge that was asked the questions of checks, and gave not one answer."""
    from promptpex.report.terminal import clean
    from promptpex.tables.frames import marked

    rows = summary.verdicts
    rows = rows[marked(rows["source"], lambda source: source.startswith("check:") and "@" in source)]
    if rows.empty:
        return
    asked_rows = rows[~rows["unscored"].isin(NOT_ASKED).fillna(False)]
    judges = asked_rows["source"].astype(str).map(lambda source: source.partition("@")[2])
    for judge, group in asked_rows.groupby(judges, sort=False, observed=True):
        if group["unscored"].astype("string").str.startswith("judge-").fillna(False).all():
            why = clean(from_data(group["reason"].iloc[0]), LONGEST)
            counts = _counted(Counter(group["unscored"]))
            judge = clean(str(judge))
            yield tr("the judge {judge} answered no question ({counts}): {why}", judge=judge, counts=counts, why=why)


def silent_scorers(summary: Summary) -> Iterator[str]:
    """What is said of each judge that was asked for scores under a name, and each script that was run for them, and
    gave not one."""
    from promptpex.report.terminal import clean
    from promptpex.tables.frames import is_from

    by_code = summary.scores["source"].isin(CODE).fillna(False)
    scores = summary.scores[is_from(summary.scores, "judge") | by_code]
    if scores.empty:
        return
    asked_rows = scores[~scores["unscored"].isin(NOT_ASKED).fillna(False)]
    for (judge, name), group in asked_rows.groupby(["source", "name"], sort=False, observed=True):
        failed = group["unscored"].notna() & group["unscored"].ne(UNCLEAR)
        if failed.all():
            label, why = clean(str(judge).removeprefix("judge:")), clean(from_data(group["reason"].iloc[0]), LONGEST)
            counts = _counted(Counter(group["unscored"]))
            if judge in CODE:
                who = tr("the script of the metric {metric} scored no output", metric=clean(name))
            else:
                who = tr("the judge {judge} gave no score of {metric}", judge=label, metric=clean(name))
            yield f"{who} ({counts}): {why}"


def _counted(reasons: Counter[str]) -> str:
    outputs = tr_n("{count} output", "{count} outputs", reasons.total())
    return f"{outputs}: " + ", ".join(f"{count} {from_data(reason)}" for reason, count in reasons.most_common())
