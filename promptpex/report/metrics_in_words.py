"""The owner's metrics as texts: the terminal, the page and the gate say the same."""

from __future__ import annotations

from promptpex.core.translation import Key, tr
from promptpex.report.percentages import TableRow, as_given, with_ends
from promptpex.report.secondary_tables import few
from promptpex.report.summary import Summary
from promptpex.report.text_table import Section
from promptpex.tables import AnyRun, records

NOTE = Key(
    "The mean over the cases of their scores, from 0 to 100% (of a pass-fail metric: the share of OK); its interval "
    "holds whatever the missing scores are. Decisions rest on one of these only where models are ranked by it."
)


def metric_section(summary: Summary) -> Section:
    """How each model does by each metric: by the scores that count, and by each judge of several."""
    level = as_given(summary.confidence)
    rows = records(summary.metrics)
    return Section(
        "metrics",
        tr("Own metrics"),
        NOTE.tr(),
        (Key("metric"), Key("model"), tr("mean ({level} CI)", level=level), Key("scored"), Key("by")),
        tuple((row["metric"], row["model"], mean(row), scored(row), row["source"]) for row in rows),
        file="metrics.csv",
    )


def mean(row: TableRow) -> str:
    """A mean with its interval, a dash where nothing was scored."""
    if row["mean"] is None:
        return "–"
    return f"{with_ends(row['mean'], row['ci_low'], row['ci_high'])}{few(row['scored'])}"


def scored(row: TableRow) -> str:
    """How many of the outputs that were asked for have a score."""
    outputs_asked = row["scored"] + row["unscored"]
    return str(outputs_asked) if not row["unscored"] else tr("{some} of {all}", some=row["scored"], all=outputs_asked)


def points(value: float, scale: str | None = None) -> str:
    """A single score; of a pass-fail metric what the judge said."""
    if scale == "pass-fail" and value in (0.0, 1.0):
        return "OK" if value else "ERR"
    return tr("{some} of {all}", some=f"{100 * value:.0f}", all=100)


def scales(run: AnyRun) -> dict[str, str]:
    """The scale of each metric that the run keeps, by its name."""
    return {metric.name: metric.scale for metric in run.metrics}
