"""The paper's measures of the published recordings, counted again, and what we say of the same data.

Tables 2 and 3 of arXiv 2503.05070v1 count a lost verdict as non-compliant; our figures leave it unscored, give every
share its interval, compare models on the same cases (McNemar's exact test, Holm) and say who is tied with the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from promptpex.interchange.published import Benchmark
from promptpex.interchange.published_results import Result
from promptpex.stats import DEFAULT_TOLERANCE, Interval, Suitability, suitability, wilson

Tables = dict[str, dict[str, Any]]

_PRINTED = {
    ("extract-names", "qwen2.5:3b", "rules", 6, 18): 12,
    ("sentence-rewrite", "llama3.2:1b", "rules", 9, 24): 38,
}
"""What Table 3 prints where its own data give something else: by benchmark, model, part, non-compliant, n."""


@dataclass(frozen=True, slots=True)
class Ours:
    """What we say of a benchmark's tests.

    Attributes:
        shares: per model, the non-compliance among scored outputs of generated tests, with Wilson's interval.
        baseline: the same for the baseline's tests.
        unscored: per model, how many outputs of generated tests are unscored, per reason.
        places: the models' places, by paired tests corrected by Holm within the benchmark.
    """

    shares: Mapping[str, Interval]
    baseline: Mapping[str, Interval]
    unscored: Mapping[str, Mapping[str, int]]
    places: Suitability


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


def misprints(found: Tables) -> list[str]:
    """The cells in which the paper's print differs from its data, a sentence each."""
    told: list[str] = []
    for (benchmark, model, part, broken, n), printed in _PRINTED.items():
        cell = found["table3"].get(benchmark, {}).get(model, {}).get(part, {})
        if (cell.get("non_compliant"), cell.get("n")) == (broken, n):
            told.append(
                f"Table 3, {benchmark}, {model}, {part}: the paper prints {printed} %; its data say {broken} of {n}, "
                f"{cell['percent']:.1f} %, or {paper_percent(broken, n)} by the rounding of Table 2"
            )
    return told


def misprinted(benchmark: str, model: str, part: str, cell: Mapping[str, Any]) -> bool:
    """Whether this is one of those cells."""
    return (benchmark, model, part, cell["non_compliant"], cell["n"]) in _PRINTED


def plain(benchmarks: Sequence[Benchmark]) -> dict[str, Any]:
    """``ours`` of each benchmark as JSON-ready data."""
    return {benchmark.name: _plain_one(ours(benchmark)) for benchmark in benchmarks}


def ours(benchmark: Benchmark, *, confidence: float = 0.95, tolerance: float = DEFAULT_TOLERANCE) -> Ours:
    """Intervals, unscored outputs and places of the models; the places by the generated tests."""
    baseline = {result.case for result in benchmark.results if result.baseline}
    answers: dict[str, dict[str, bool | None]] = {model: {} for model in benchmark.models}
    easy: dict[str, list[bool | None]] = {model: [] for model in benchmark.models}
    unscored: dict[str, dict[str, int]] = {model: {} for model in benchmark.models}
    for verdict in benchmark.run.verdicts:
        if not verdict.counts or verdict.repeat:
            continue
        passed = None if verdict.status == "unscored" else verdict.status == "pass"
        if verdict.case in baseline:
            easy[verdict.model].append(passed)
            continue
        answers[verdict.model][verdict.case] = passed
        if verdict.unscored:
            reasons = unscored[verdict.model]
            reasons[verdict.unscored] = reasons.get(verdict.unscored, 0) + 1
    shares = {model: _share(list(cases.values()), confidence) for model, cases in answers.items()}
    easy_shares = {model: _share(found, confidence) for model, found in easy.items()}
    return Ours(shares, easy_shares, unscored, suitability(answers, tolerance=tolerance, alpha=1 - confidence))


def _plain_one(figures: Ours) -> dict[str, Any]:
    models = {
        place.model: {
            **_plain_share(figures.shares[place.model]),
            "baseline": _plain_share(figures.baseline[place.model]),
            "unscored": dict(figures.unscored[place.model]),
            "place": place.place,
            "p": place.p,
            "beaten_by": place.beaten_by,
            "more_cases": place.more_cases,
        }
        for place in figures.places.models
    }
    pairs = [
        {"first": pair.first, "second": pair.second, "p": pair.p, "adjusted": pair.adjusted}
        for pair in figures.places.pairs
    ]
    return {
        "models": models,
        "pairs": pairs,
        "tied": list(figures.places.at("best", "tied")),
        "candidates": list(figures.places.candidates),
    }


def _plain_share(share: Interval) -> dict[str, Any]:
    return {"share": share.estimate, "interval": [share.low, share.high], "scored": share.n}


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
    return {"tests": len(benchmark.validity), "valid": sum(said is True for said in benchmark.validity.values())}


def _groundedness(benchmark: Benchmark) -> dict[str, int]:
    said = benchmark.groundedness.values()
    return {"rules": len(said), "grounded": sum(one is True for one in said)}


def _share(answers: Sequence[bool | None], confidence: float) -> Interval:
    scored = [answer for answer in answers if answer is not None]
    return wilson(scored.count(False), len(scored), confidence)
