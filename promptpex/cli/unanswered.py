"""Models and judges that were asked and gave nothing that could be used: one sentence each, for stderr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from promptpex.codecs.wording import plural
from promptpex.core.records import NOT_ASKED, UNCLEAR

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

    rows = summary.outputs
    answered = set(rows.loc[rows["error"].isna(), "model"])
    lost = rows[rows["error"].notna() & ~rows["error"].isin(NOT_ASKED) & ~rows["model"].isin(answered)]
    silent = [
        f"{clean(model)} ({_counted(Counter(errors))})"
        for model, errors in lost.groupby("model", sort=False, observed=True)["error"]
    ]
    if not silent or (allowed and answered):
        return
    more = "; --allow-missing-models accepts that" if answered else ""
    yield f"not one usable answer came from {' or '.join(silent)}{more}"


def silent_judges(summary: Summary) -> Iterator[str]:
    """What is said of each judge that failed on all of what it was asked."""
    from promptpex.report.terminal import clean
    from promptpex.tables import records

    for row in records(summary.details.judges):
        if row["asked"] and row["failed"] == row["asked"]:
            requests = "its one request" if row["asked"] == 1 else f"all of its {row['asked']} requests"
            why = clean(row["example"], LONGEST)
            yield f"the judge {clean(row['judge'])} failed on {requests} ({row['reasons']}): {why}"


def silent_answerers(summary: Summary) -> Iterator[str]:
    """What is said of a judge that was asked the questions of checks, and gave not one answer."""
    from promptpex.report.terminal import clean

    rows = summary.verdicts
    source = rows["source"].astype("string")
    rows = rows[source.str.startswith("check:").fillna(False) & source.str.contains("@", regex=False).fillna(False)]
    asked = rows[~rows["unscored"].isin(NOT_ASKED).fillna(False)]
    judges = asked["source"].astype(str).map(lambda source: source.partition("@")[2])
    for judge, group in asked.groupby(judges, sort=False, observed=True):
        if group["unscored"].astype("string").str.startswith("judge-").fillna(False).all():
            why = clean(group["reason"].iloc[0], LONGEST)
            yield f"the judge {clean(str(judge))} answered no question ({_counted(Counter(group['unscored']))}): {why}"


def silent_scorers(summary: Summary) -> Iterator[str]:
    """What is said of each judge that was asked for scores under a name, and each script that was run for them, and
    gave not one."""
    from promptpex.report.terminal import clean
    from promptpex.tables.frames import is_from

    by_code = summary.scores["source"].isin(CODE).fillna(False)
    scores = summary.scores[is_from(summary.scores, "judge") | by_code]
    asked = scores[~scores["unscored"].isin(NOT_ASKED).fillna(False)]
    for (judge, name), group in asked.groupby(["source", "name"], sort=False, observed=True):
        failed = group["unscored"].notna() & group["unscored"].ne(UNCLEAR)
        if failed.all():
            label, why = clean(str(judge).removeprefix("judge:")), clean(group["reason"].iloc[0], LONGEST)
            who = f"the script of the metric {clean(name)} scored no output"
            who = who if judge in CODE else f"the judge {label} gave no score of {clean(name)}"
            yield f"{who} ({_counted(Counter(group['unscored']))}): {why}"


def _counted(reasons: Counter[str]) -> str:
    return f"{plural(reasons.total(), 'output')}: " + ", ".join(
        f"{count} {reason}" for reason, count in reasons.most_common()
    )
