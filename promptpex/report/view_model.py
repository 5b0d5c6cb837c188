"""What the report's page shows, as plain values in the order of the page, without HTML."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from promptpex.report.caveats_in_words import FEW
from promptpex.report.corrections_in_words import state_in_words
from promptpex.report.page.asked import Inputs, SentMessages
from promptpex.report.page.cases import VERDICTS, CaseGroup, case_groups, only, with_targets
from promptpex.report.page.cost_plot import CostPlot, cost_plot
from promptpex.report.page.quoted_prompt import QuotedMessage, quoted_messages
from promptpex.report.quantities import Estimate, Quantity, quantities
from promptpex.report.run_tables import ChosenOutputs
from promptpex.report.summary import ByPeople, Summary
from promptpex.report.wrong_answers import WrongAnswers, wrong_answers
from promptpex.tables import records

MOST_ROWS = 10_000
"""Outputs on the page at most, so that browsers stay fast: failing ones first, and the page says what it leaves out."""
OPEN_ROWS = 200
"""Up to so many outputs, a few screens, the cases are unfolded from the start."""
AXES = (0.1, 0.25, 0.5, 1.0)
"""Ends of the common axis: the first that all intervals fit in."""
HEAT = (0.0, 0.05, 0.2, 0.4, 0.7, 1.0)
"""Upper ends of the heatmap's six colours."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval on the common axis: positions in percent of its width."""

    low: float
    point: float
    high: float

    @classmethod
    def of(cls, low: float | None, point: float | None, high: float | None, axis: float = 1.0) -> Bar | None:
        """The bar of a share with its interval, on an axis that ends at ``axis``; None where one is not known."""
        if low is None or point is None or high is None:
            return None
        return cls(*(round(100 * share / axis, 2) for share in (low, point, high)))


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A row of the models table: its figures under ``MODEL_COLUMNS``, the estimates of the page's quantities, and how
    the first of them, what models are ranked by, is drawn."""

    row: Mapping[str, Any]
    estimates: tuple[Estimate, ...]
    reported: tuple[str, ...]
    bar: Bar | None
    few: bool


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A row of the metrics table: its figures under ``METRIC_COLUMNS``, and its interval from 0 to 1."""

    row: Mapping[str, Any]
    bar: Bar | None
    few: bool


@dataclass(frozen=True, slots=True)
class ShownMetric:
    """A metric with its rows, and the outputs that it scores lowest, under ``LOWEST_COLUMNS``."""

    name: str
    description: str
    scale: str
    rows: tuple[MetricRow, ...]
    lowest: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class HeatmapCell:
    """How often one model breaks one rule; ``heat`` is the colour, None without a scored output."""

    model: str
    row: Mapping[str, Any] | None
    heat: int | None
    few: bool


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A row of the heatmap; ``untried``: why its judges are not known to agree with people, empty where they are tried
    or nobody has graded."""

    id: str
    text: str
    inverse: str | None
    source: str | None
    judged: bool
    half_judged: bool
    untried: str
    cells: tuple[HeatmapCell, ...]


class ShownSetting(NamedTuple):
    """A setting of the run, and where it came from."""

    name: str
    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything on the page that the summary does not have.

    Attributes:
        addresses: fragments that lead to an output.
        without_messages: cases whose messages are not on the page, where those of others are.
        prompt: its messages with the words that rules rest on.
        settings, defaults: what somebody set, and what nobody did.
        only: what else outputs can be filtered by, where there are some: its name in addresses, and in words.
    """

    names: tuple[str, ...]
    axis: float
    at_least: bool
    quantities: tuple[Quantity, ...]
    models: tuple[ModelRow, ...]
    costs: CostPlot | None
    reasons: tuple[str, ...]
    rules: tuple[RuleRow, ...]
    metrics: tuple[ShownMetric, ...]
    wrong_answers: tuple[WrongAnswers, ...]
    cases: tuple[CaseGroup, ...]
    addresses: frozenset[str]
    only: tuple[tuple[str, str], ...]
    verdicts: Mapping[str, int]
    per_model: tuple[int, ...]
    total: int
    left_out: int
    without_messages: int
    prompt: tuple[QuotedMessage, ...]
    settings: tuple[ShownSetting, ...]
    defaults: tuple[ShownSetting, ...]
    unfold: bool

    @property
    def sources(self) -> frozenset[str]:
        """The rules whose words are marked in the prompt."""
        return frozenset(rule for message in self.prompt for part in message.parts for rule in part.named)

    @property
    def inputs(self) -> Mapping[str, Inputs]:
        """The inputs of the cases on the page, by their ids."""
        return {case.id: case.asked.inputs for case in self.cases}

    @property
    def case_ids(self) -> frozenset[str]:
        """The cases that links lead to."""
        return frozenset(case.id for case in self.cases)

    @property
    def rule_ids(self) -> frozenset[str]:
        """The rules that links lead to."""
        return frozenset(rule.id for rule in self.rules)


def page(summary: Summary, sent: SentMessages | None = None) -> Page:
    """What the page shows of a run; ``sent`` says what models were sent, where that is known."""
    names = _names(summary)
    rules = tuple(_rules(summary, names))
    page_values = _shown(summary)
    cases, addresses = with_targets(case_groups(summary, page_values, names, [rule.id for rule in rules], sent))
    shown_quantities = quantities(summary)
    axis = _axis(shown_quantities[0])
    manifest = summary.run.manifest
    settings = [ShownSetting(name, value, manifest.origins.get(name, "")) for name, value in manifest.settings.items()]
    verdict_counts = Counter(dict(summary.made.rows.query("t.verdict, count(*)", "GROUP BY 1")))
    model_counts, total = summary.made.cells.sizes(), len(summary.made.rows)
    return Page(
        names=names,
        axis=axis,
        at_least=any(row["at_least"] for row in (*summary.model_rows, *summary.rule_rows)),
        quantities=shown_quantities,
        models=tuple(_model(row, summary, shown_quantities, axis) for row in summary.model_rows),
        costs=cost_plot(summary.model_rows, next(end for end in AXES if _widest(summary) <= end)),
        reasons=tuple(dict.fromkeys(reason for reasons in summary.gaps.unscored.values() for reason in reasons)),
        rules=rules,
        metrics=tuple(_metrics(summary)),
        wrong_answers=wrong_answers(summary),
        cases=cases,
        addresses=addresses,
        only=tuple(only(cases)),
        verdicts={name: verdict_counts[name] for name in VERDICTS},
        per_model=tuple(model_counts.get(name, 0) for name in names),
        total=total,
        left_out=total - len(page_values.outputs),
        without_messages=sum(not case.asked.sent for case in cases) if sent is not None else 0,
        prompt=quoted_messages(summary.run.prompt.messages, summary.run.spec.rules),
        settings=tuple(one for one in settings if one.origin != "default"),
        defaults=tuple(one for one in settings if one.origin == "default"),
        unfold=len(page_values.outputs) <= OPEN_ROWS,
    )


def heat(share: float) -> int:
    """The colour of a share, from 0 (never broken) to 5."""
    return next(index for index, end in enumerate(HEAT) if share <= end)


def _names(summary: Summary) -> tuple[str, ...]:
    """All models: those asked for, and any other that left an output or a verdict."""
    of_rules = (row["model"] for row in summary.rule_rows)
    return tuple(dict.fromkeys([*summary.models.column("model"), *summary.made.rows.models, *of_rules]))


def _axis(ranked_by: Quantity) -> float:
    return next(end for end in AXES if ranked_by.highest <= end)


def _widest(summary: Summary) -> float:
    """The greatest upper end of an interval of non-compliance."""
    return max((row["ci_high"] for row in summary.model_rows if row["ci_high"] is not None), default=0.0)


def _model(row: Mapping[str, Any], summary: Summary, shown: Sequence[Quantity], axis: float) -> ModelRow:
    estimates = tuple(quantity.estimates[row["model"]] for quantity in shown)
    first = estimates[0]
    return ModelRow(
        row=row,
        estimates=estimates,
        reported=summary.run.manifest.reported.get(row["model"], ()),
        bar=Bar.of(first.low, first.point, first.high, axis),
        few=0 < first.cases < FEW,
    )


def _metrics(summary: Summary) -> Iterable[ShownMetric]:
    """The metrics of the table, with what the run knows of their files."""
    files = {metric.name: metric for metric in summary.run.metrics}
    rows, lowest = records(summary.metrics), records(summary.lowest)
    for name in dict.fromkeys(row["metric"] for row in rows):
        file = files.get(name)
        yield ShownMetric(
            name=name,
            description=file.description if file else "",
            scale=file.scale if file else "",
            rows=tuple(
                MetricRow(row, Bar.of(row["ci_low"], row["mean"], row["ci_high"]), 0 < row["scored"] < FEW)
                for row in rows
                if row["metric"] == name
            ),
            lowest=tuple(row for row in lowest if row["metric"] == name),
        )


def _rules(summary: Summary, names: Iterable[str]) -> Iterable[RuleRow]:
    cells = {(row["rule"], row["model"]): row for row in summary.rule_rows}
    spec = {rule.id: rule for rule in summary.run.spec.rules}
    counted = [rule for rule, _ in cells]
    of_mode, untried = summary.run.manifest.mode_rules, untried_judges(summary.by_people)
    for rule_id in dict.fromkeys([*(rule for rule in of_mode if rule in counted), *spec, *counted]):
        rule = spec.get(rule_id)
        yield RuleRow(
            id=rule_id,
            text=rule.rule if rule else of_mode.get(rule_id, ""),
            inverse=rule.inverse if rule else None,
            source=rule.source if rule else None,
            judged=rule_id not in summary.gaps.unjudged_rules,
            half_judged=rule_id in summary.gaps.half_judged_rules,
            untried=untried.get(rule_id, ""),
            cells=tuple(_cell(name, cells.get((rule_id, name))) for name in names),
        )


def untried_judges(by_people: ByPeople | None) -> dict[str, str]:
    """By rule, which of its judges are not calibrated on it, and why."""
    by_rule: defaultdict[str, list[str]] = defaultdict(list)
    for row in records(by_people.calibrations) if by_people is not None else ():
        if why := state_in_words(row["state"]):
            by_rule[row["rule"]].append(f"{row['judge']} {why}")
    return {rule: "; ".join(judges) for rule, judges in by_rule.items()}


def _cell(model: str, row: Mapping[str, Any] | None) -> HeatmapCell:
    if row is None or row["share"] is None:
        return HeatmapCell(model=model, row=row, heat=None, few=False)
    return HeatmapCell(model=model, row=row, heat=heat(row["share"]), few=row["scored"] < FEW)


def _shown(summary: Summary) -> ChosenOutputs:
    """The outputs on the page, and what is said of them, and of others too."""
    ranks = " ".join(f"WHEN '{verdict}' THEN {rank}" for rank, verdict in enumerate(VERDICTS))
    order = f"ORDER BY CASE t.verdict {ranks} END, t.place LIMIT {MOST_ROWS}"
    return summary.made.chosen([place for (place,) in summary.made.rows.query("t.place", order)])
