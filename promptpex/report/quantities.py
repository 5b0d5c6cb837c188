"""The quantities that reports show of each model, first the one that the models are ranked by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from promptpex.core.translation import Key, tr
from promptpex.report.caveats_in_words import scored_cases
from promptpex.report.corrections_in_words import left_out
from promptpex.report.metrics_in_words import scored
from promptpex.report.percentages import TableRow, at_least, ends, marked
from promptpex.report.summary import Summary
from promptpex.tables import records

NON_COMPLIANCE = Key("non-compliance")
ACCURACY = Key("accuracy")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A model's share or mean, from 0 to 1, with the ends of its interval; all three None where nothing was scored.

    Attributes:
        count: what it was computed from, as text: ``3 of 60``.
        of: from how many outputs.
        at_least: whether the share is a lower bound.
        cases: from how many cases at most.
    """

    count: str
    of: int
    point: float | None = None
    low: float | None = None
    high: float | None = None
    at_least: bool = False
    cases: int = 0

    def text(self) -> str:
        """The share with its interval, after ``≥`` where it is a lower bound; a dash where nothing was scored."""
        if self.point is None or self.low is None or self.high is None:
            return "–"
        return f"{marked(self.point, self.at_least)} ({ends(self.low, self.high)})"

    @property
    def in_words(self) -> str:
        """The same with the words ``at least``."""
        if not self.at_least or self.point is None or self.low is None or self.high is None:
            return self.text()
        return f"{at_least(self.point, True)} ({ends(self.low, self.high)})"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure that models have, and can be ranked by.

    Attributes:
        name: as in ``--rank-by``.
        title: what its table shows.
        column, count_column: the headings of the estimates, and of what they were computed from; ``Key`` but for names.
        estimates: by model; one for every model.
    """

    name: str
    title: str
    column: str
    count_column: str
    estimates: Mapping[str, Estimate]

    @property
    def highest(self) -> float:
        """The greatest upper end of an interval; 0 where nothing was scored."""
        return max((one.high for one in self.estimates.values() if one.high is not None), default=0.0)


def quantities(summary: Summary) -> tuple[Quantity, ...]:
    """What the table of models shows: what they are ranked by, then non-compliance and, where there is any,
    accuracy."""
    rows, rank_by = summary.model_rows, summary.rankings.options.rank_by
    shown_quantities = [_non_compliance(rows)]
    if any(row["accuracy_scored"] is not None for row in rows):
        shown_quantities.append(_accuracy(rows))
    if rank_by == "corrected" and summary.by_people is not None:
        shown_quantities.append(_corrected(records(summary.by_people.corrections)))
    if rank_by not in {one.name for one in shown_quantities}:
        shown_quantities.append(_metric(rank_by, [row["model"] for row in rows], records(summary.metrics)))
    if len(shown_quantities) == 1:
        shown_quantities = [replace(shown_quantities[0], column=Key("share"))]
    return tuple(sorted(shown_quantities, key=lambda one: one.name != rank_by))


def counted(row: TableRow) -> int:
    """The outputs that a model's share is of."""
    return int(row["usable"] if row["at_least"] else row["scored"])


def _non_compliance(rows: Sequence[TableRow]) -> Quantity:
    estimates = {}
    for row in rows:
        count = tr("{some} of {all}", some=row["non_compliant"], all=counted(row))
        share = (row["non_compliance"], row["ci_low"], row["ci_high"], bool(row["at_least"]))
        estimates[row["model"]] = Estimate(count, counted(row), *share, cases=scored_cases(row))
    return Quantity(NON_COMPLIANCE, tr("outputs that break a rule"), NON_COMPLIANCE, Key("failures"), estimates)


def _accuracy(rows: Sequence[TableRow]) -> Quantity:
    estimates = {}
    for row in rows:
        compared, bound = row["accuracy_scored"] or 0, bool(row["accuracy_at_least"])
        of = compared + (row["accuracy_unscored"] if bound else 0)
        count = tr("{some} of {all}", some=row["accuracy_right"], all=of)
        share = (row["accuracy"], row["accuracy_ci_low"], row["accuracy_ci_high"], bound)
        cases = min(compared, row["cases"])
        estimates[row["model"]] = Estimate(count, of, *share, cases=cases) if compared else Estimate("–", 0)
    return Quantity(ACCURACY, tr("right outputs"), ACCURACY, Key("right"), estimates)


def _corrected(rows: Sequence[TableRow]) -> Quantity:
    estimates = {}
    for row in rows:
        share = (row["corrected"], row["corrected_low"], row["corrected_high"])
        estimates[row["model"]] = Estimate(f"{row['graded']}{left_out(row)}", row["graded"], *share)
    return Quantity("corrected", tr("corrected non-compliance"), Key("corrected"), Key("grades"), estimates)


def _metric(name: str, models: Sequence[str], rows: Sequence[TableRow]) -> Quantity:
    """An own metric: of several judges' scores those that count."""
    counting = {row["model"]: row for row in rows if row["metric"] == name and row["counts"]}
    estimates = {model: Estimate("–", 0) for model in models}
    for model, row in counting.items():
        ends = row["mean"], row["ci_low"], row["ci_high"]
        estimates[model] = Estimate(scored(row), row["scored"], *ends, cases=row["scored"])
    return Quantity(name, tr("the metric {name}", name=name), name, Key("scored"), estimates)
