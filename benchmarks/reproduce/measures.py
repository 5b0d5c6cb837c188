"""The paper's measures of the published recordings, counted again, and what we say of the same data.

Tables 2 and 3 of arXiv 2503.05070v1 count a lost verdict as non-compliant. Our figures are those of any run's report: a
lost verdict may have gone either way, so the share is a lower bound and its model is neither best nor tied; every share
has its interval; models are compared on the same cases by exact sign flips, corrected by Holm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean
from typing import TYPE_CHECKING, Any

from benchmarks.reproduce.dataset import Benchmark
from benchmarks.reproduce.results import Result
from promptpex.stats import DEFAULT_TOLERANCE, corrected_worse, pair_tests
from promptpex.tables import Counted, RankingOptions, Rankings, counted, outputs, rankings
from promptpex.tables.summary import Figures

if TYPE_CHECKING:
    from promptpex.stats import Grid

Tables = dict[str, dict[str, Any]]

PARTS = {"table2": ("promptpex", "baseline"), "table3": ("rules", "inverse")}
"""The two sides of each table."""

TITLES = {"table2": "Table 2", "table3": "Table 3"}

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


def averages(tables: Tables) -> dict[str, Any]:
    """The Average rows of Tables 2 and 3, in per cent, by table, model and part.

    ``percent`` is the mean of the shares, ``of_rounded`` that of the cells as the paper rounds them, which it averages;
    both over the benchmarks in which every model has an answer to every part.
    """
    return {name: _averages(tables[name], parts) for name, parts in PARTS.items()}


def _averages(cells: Mapping[str, Any], parts: tuple[str, str]) -> dict[str, Any]:
    models = list(dict.fromkeys(model for by_model in cells.values() for model in by_model))
    sides = [(model, part) for model in models for part in parts]
    common = [one for one in cells.values() if all(model in one and one[model][part]["n"] for model, part in sides)]
    if not common:
        return {}
    return {model: {part: _average([by_model[model][part] for by_model in common]) for part in parts}
            for model in models}  # fmt: skip


def _average(cells: Sequence[Mapping[str, int]]) -> dict[str, float]:
    return {
        "percent": mean(100 * cell["non_compliant"] / cell["n"] for cell in cells),
        "of_rounded": mean(paper_percent(cell["non_compliant"], cell["n"]) or 0 for cell in cells),
        "benchmarks": len(cells),
    }


def differs(average: Mapping[str, Any]) -> bool:
    """Whether the mean of the rounded cells is another whole number than that of the shares."""
    return f"{average['percent']:.0f}" != f"{average['of_rounded']:.0f}"


def differing(cells: Mapping[str, Any]) -> list[str]:
    """The averages that the paper gives otherwise, since it averages rounded cells; a sentence each."""
    return [
        f"{TITLES[table]}, average, {model}, {part}: the mean of the shares is {one['percent']:.2f}%; the paper "
        f"averages rounded cells, which gives {one['of_rounded']:.2f}%, so {one['of_rounded']:.0f}%"
        for table, by_model in cells.items()
        for model, parts in by_model.items()
        for part, one in parts.items()
        if differs(one)
    ]


def sentences(benchmarks: Sequence[Benchmark]) -> list[str]:
    """What the recordings say to two sentences of the paper: what can be counted again, and what cannot."""
    broken = [
        benchmark.validity.get(row.case) is True
        for benchmark in benchmarks
        for row in benchmark.results
        if not row.baseline and row.compliance != "ok"
    ]
    agreed = [answer for benchmark in benchmarks for answer in benchmark.agreement.values()]
    lines = []
    if broken:
        share = f"{sum(broken)} of {len(broken)}, {100 * sum(broken) / len(broken):.0f}%"
        lines.append(
            f"Non-compliant answers to generated tests whose test was judged valid: {share}, over the "
            f"{len(benchmarks)} benchmarks here; the paper says 73%."
        )
    if agreed:
        share = f"{sum(answer is True for answer in agreed)} of {len(agreed)}"
        lines.append(
            "Spec agreement: the paper's 96.8% compares models on the baseline's tests under the spec, and the "
            "recordings do not hold those answers, so it cannot be counted again. They do hold the author's own "
            f"answers to generated tests under the spec: {share} were judged to comply with the prompt."
        )
    return lines


def misprinted(benchmark: str, model: str, part: str, cell: Mapping[str, Any]) -> bool:
    """Whether this is one of those cells."""
    return (benchmark, model, part, cell["non_compliant"], cell["n"]) in _MISPRINTS


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
