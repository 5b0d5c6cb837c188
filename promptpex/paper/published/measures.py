"""The paper's measures of the published recordings, counted again, and what we say of the same data.

Tables 2 and 3 of arXiv 2503.05070v1 count a lost verdict as non-compliant. Our figures are those of any run's report: a
lost verdict may have gone either way, so the share is a lower bound and its model is neither best nor tied; every share
has its interval; models are compared on the same cases by exact sign flips, corrected by Holm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from promptpex.paper.published.dataset import Benchmark
from promptpex.paper.published.results import Result
from promptpex.stats import DEFAULT_TOLERANCE, corrected_worse, pair_tests
from promptpex.tables import Counted, Decision, RankingOptions, Rankings, counted, outputs, rankings
from promptpex.tables.summary import Figures

if TYPE_CHECKING:
    from promptpex.stats import Grid

Tables = dict[str, dict[str, Any]]

_MISPRINTS = {
    ("extract-names", "qwen2.5:3b", "rules", 6, 18): 12,
    ("sentence-rewrite", "llama3.2:1b", "rules", 9, 24): 38,
}
"""The misprints of Table 3 (arXiv 2503.05070v1): by benchmark, model, part, non-compliant and all outputs of its own
recordings, the percentage that it prints instead: 12 where they give 33.3, and 38 where they give 37.5, which
Table 2 would round to 37. A cell counts as one only while its counts are these."""


@dataclass(frozen=True, slots=True)
class Share:
    """How often a model breaks its prompt.

    Attributes:
        broken, scored: outputs.
        share: the mean over the cases, from 0 to 1; None where there is none.
        low, high: the ends of its interval.
        at_least: whether a usable output lost its verdict, so that the share is of all usable outputs, a lower bound.
    """

    broken: int
    scored: int
    share: float | None = None
    low: float = 0.0
    high: float = 1.0
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models, the p-value that the first breaks the prompt more often, and the same corrected by Holm."""

    first: str
    second: str
    p: float
    adjusted: float


@dataclass(frozen=True, slots=True)
class Ours:
    """What we say of a benchmark's tests.

    Attributes:
        shares: per model, on the generated tests.
        baseline: the same on the baseline's tests.
        unscored: per model, how many outputs of generated tests are unscored, per reason.
        places: where the models stand, by the generated tests.
        pairs: every pair of models, the one that breaks its prompt more often first.
    """

    shares: Mapping[str, Share]
    baseline: Mapping[str, Share]
    unscored: Mapping[str, Mapping[str, int]]
    places: Rankings
    pairs: tuple[ModelPair, ...]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The models that are not shown to be worse than another."""
        return self.places.having("only model", "best", "tied", "undecided")


def tables(benchmarks: Sequence[Benchmark]) -> Tables:
    """``table2``, ``table3``, ``validity`` and ``groundedness``, under folder and model names as published.

    Percentages of Table 2 are whole numbers as the paper makes them, 100 less the compliant share rounded half up;
    those of Table 3 are not rounded. None where there is nothing to count.
    """
    return {
        "table2": {benchmark.name: _table2(benchmark) for benchmark in benchmarks},
        "table3": {benchmark.name: _table3(benchmark) for benchmark in benchmarks},
        "validity": {benchmark.name: _validity(benchmark) for benchmark in benchmarks},
        "groundedness": {benchmark.name: _groundedness(benchmark) for benchmark in benchmarks},
    }


def paper_percent(non_compliant: int, n: int) -> int | None:
    """100 less the compliant share, that rounded half up: so Table 2 rounds."""
    return 100 - (200 * (n - non_compliant) + n) // (2 * n) if n else None


def misprints(tables: Tables) -> list[str]:
    """The cells in which the paper's print differs from its data, a sentence each."""
    sentences: list[str] = []
    for (benchmark, model, part, broken, n), printed in _MISPRINTS.items():
        cell = tables["table3"].get(benchmark, {}).get(model, {}).get(part, {})
        if (cell.get("non_compliant"), cell.get("n")) == (broken, n):
            sentences.append(
                f"Table 3, {benchmark}, {model}, {part}: the paper prints {printed}%; its data say {broken} of {n}, "
                f"{cell['percent']:.1f}%, or {paper_percent(broken, n)} by the rounding of Table 2"
            )
    return sentences


def misprinted(benchmark: str, model: str, part: str, cell: Mapping[str, Any]) -> bool:
    """Whether this is one of those cells."""
    return (benchmark, model, part, cell["non_compliant"], cell["n"]) in _MISPRINTS


def to_dict(benchmarks: Sequence[Benchmark]) -> dict[str, Any]:
    """``ours`` of each benchmark as JSON-ready data."""
    return {benchmark.name: _plain_one(ours(benchmark)) for benchmark in benchmarks}


def ours(benchmark: Benchmark, *, confidence: float = 0.95, tolerance: float = DEFAULT_TOLERANCE) -> Ours:
    """Shares with intervals, unscored outputs and places of the models; the places by the generated tests."""
    rows, question = outputs(benchmark.run), RankingOptions(tolerance=tolerance, confidence=confidence)
    baseline = rows["rule"].isna()
    generated = rows[~baseline]
    places = rankings(generated, benchmark.models, question)
    counts = counted(generated, benchmark.models)
    unscored: dict[str, dict[str, int]] = {model: {} for model in benchmark.models}
    unscored_rows = generated[generated["verdict"].eq("unscored")]
    for model, reason in zip(unscored_rows["model"], unscored_rows["unscored"], strict=True):
        unscored[model][reason] = unscored[model].get(reason, 0) + 1
    return Ours(
        shares=_shares(counts, places),
        baseline=_shares(counted(rows[baseline], benchmark.models), places),
        unscored=unscored,
        places=places,
        pairs=_pairs(counts.asked, tolerance),
    )


def _shares(counts: Counted, places: Rankings) -> dict[str, Share]:
    figures = Figures(counts, places)
    return {model: _share(figures.of_model(model)) for model in counts.asked.models}


def _share(cells: Mapping[str, Any]) -> Share:
    broken, scored = cells["non_compliant"], cells["scored"]
    if cells.get("non_compliance") is None:
        return Share(broken, scored)
    ends = cells["ci_low"], cells["ci_high"]
    return Share(broken, scored, cells["non_compliance"], *ends, cells["at_least"])


def _pairs(grid: Grid, tolerance: float) -> tuple[ModelPair, ...]:
    p_values = pair_tests(grid, tolerance).worse
    adjusted = corrected_worse(p_values)
    ways = [
        min([(a, b), (b, a)], key=p_values.__getitem__) for a, b in combinations(grid.models, 2) if (a, b) in p_values
    ]
    return tuple(ModelPair(*way, p_values[way], adjusted[way]) for way in ways)


def _plain_one(figures: Ours) -> dict[str, Any]:
    models = {
        model: {
            **_plain_share(figures.shares[model]),
            "baseline": _plain_share(figures.baseline[model]),
            "unscored": dict(figures.unscored[model]),
            **_plain_place(place),
        }
        for model, place in figures.places.models.items()
    }
    pairs = [{"first": one.first, "second": one.second, "p": one.p, "adjusted": one.adjusted} for one in figures.pairs]
    tied = list(figures.places.having("best", "tied"))
    return {"models": models, "pairs": pairs, "tied": tied, "candidates": list(figures.candidates)}


def _plain_share(one: Share) -> dict[str, Any]:
    return {"share": one.share, "interval": [one.low, one.high], "scored": one.scored, "at_least": one.at_least}


def _plain_place(place: Decision) -> dict[str, Any]:
    return {
        "decision": place.outcome,
        "because": place.because,
        "p": place.p,
        "beaten_by": place.beaten_by,
    }


def _table2(benchmark: Benchmark) -> dict[str, Any]:
    return {
        model: {
            "promptpex": _cell((row for row in rows if not row.baseline), rounded=True),
            "baseline": _cell((row for row in rows if row.baseline), rounded=True),
        }
        for model, rows in _by_model(benchmark).items()
    }


def _table3(benchmark: Benchmark) -> dict[str, Any]:
    return {
        model: {
            "rules": _cell((row for row in rows if not row.baseline and not row.inverse), rounded=False),
            "inverse": _cell((row for row in rows if not row.baseline and row.inverse), rounded=False),
        }
        for model, rows in _by_model(benchmark).items()
    }


def _by_model(benchmark: Benchmark) -> dict[str, list[Result]]:
    return {model: [row for row in benchmark.results if row.model == model] for model in benchmark.models}


def _cell(rows: Iterable[Result], *, rounded: bool) -> dict[str, Any]:
    verdicts = [row.compliance for row in rows]
    n = len(verdicts)
    broken = sum(verdict != "ok" for verdict in verdicts)
    exact = broken / n * 100 if n else None
    return {"non_compliant": broken, "n": n, "percent": paper_percent(broken, n) if rounded else exact}


def _validity(benchmark: Benchmark) -> dict[str, int]:
    return {"tests": len(benchmark.validity), "valid": sum(valid is True for valid in benchmark.validity.values())}


def _groundedness(benchmark: Benchmark) -> dict[str, int]:
    answers = benchmark.groundedness.values()
    return {"rules": len(answers), "grounded": sum(answer is True for answer in answers)}
