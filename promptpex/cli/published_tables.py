"""The published recordings on a terminal: the paper's tables, and beside them what the data allow to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from promptpex.interchange.published import Benchmark
    from promptpex.interchange.published_measures import Ours, Tables
    from promptpex.stats import Interval, ModelPlace


def print_all(benchmarks: Sequence[Benchmark], found: Tables) -> None:
    """Tables 2 and 3, validity and groundedness, then our figures for the same data."""
    from rich.console import Console

    from promptpex.interchange.published_measures import misprints

    console = Console(soft_wrap=False)
    console.print(_table2(found))
    console.print(_table3(found))
    for told in misprints(found):
        console.print(f"* {told}.", markup=False, highlight=False)
    console.print(_validity(found))
    console.print("Share of outputs that break the prompt, 95 % intervals, lost verdicts unscored", style="bold")
    for benchmark in benchmarks:
        console.print(_ours_table(benchmark))
    for line in _notes(benchmarks):
        console.print(line, markup=False, highlight=False)


def print_written(out: Path, benchmarks: Sequence[Benchmark], recordings: Mapping[str, Sequence[Path]]) -> None:
    """Where things are, and the line that asks the recordings again."""
    from rich.console import Console

    console = Console(soft_wrap=True)
    _plain(console, f"\nA run per benchmark and tables.json in {out}")
    first = next((one for one in benchmarks if recordings.get(one.name)), None)
    if first is not None:
        models = ",".join(f"replay/{path}" for path in recordings[first.name])
        prompt = next(iter(sorted((out / first.name).glob("prompt.*[dn]"))))
        _plain(console, "To judge the answers again by code, asking no model:")
        _plain(console, f"  promptpex run {prompt} --judge none --models {models}")


def _plain(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False)


def _table2(found: Tables) -> Table:
    table = _new("Table 2: non-compliance, generated / baseline tests (a lost verdict counts as non-compliant)")
    _rows(table, found["table2"], ("promptpex", "baseline"))
    return table


def _table3(found: Tables) -> Table:
    table = _new("Table 3: non-compliance, tests of rules / of inverse rules")
    _rows(table, found["table3"], ("rules", "inverse"))
    return table


def _rows(table: Table, cells: Mapping[str, Any], parts: tuple[str, str]) -> None:
    from promptpex.interchange.published_measures import misprinted
    from promptpex.report.terminal import clean

    models = list(dict.fromkeys(model for by_model in cells.values() for model in by_model))
    table.add_column("benchmark", overflow="fold")
    for model in models:
        table.add_column(clean(model, 30), justify="right", no_wrap=True)
    for benchmark, by_model in cells.items():
        texts = []
        for model in models:
            pair = [_percent(by_model[model][part]) for part in parts] if model in by_model else ["–"]
            marked = model in by_model and any(misprinted(benchmark, model, p, by_model[model][p]) for p in parts)
            texts.append(" / ".join(pair) + (" %*" if marked else " %"))
        table.add_row(clean(benchmark, 40), *texts)


def _percent(cell: Mapping[str, Any]) -> str:
    from promptpex.interchange.published_measures import paper_percent

    share = paper_percent(cell["non_compliant"], cell["n"])
    return "–" if share is None else str(share)


def _validity(found: Tables) -> Table:
    from promptpex.report.terminal import clean

    table = _new("Valid tests, and rules that the prompt states")
    for name in ("benchmark", "tests", "valid", "rules", "grounded"):
        table.add_column(name, justify="left" if name == "benchmark" else "right")
    for name, valid in found["validity"].items():
        grounded = found["groundedness"][name]
        counts = (valid["tests"], valid["valid"], grounded["rules"], grounded["grounded"])
        table.add_row(clean(name, 40), *map(str, counts))
    return table


def _ours_table(benchmark: Benchmark) -> Table:
    from promptpex.interchange.published_measures import ours
    from promptpex.report.terminal import clean

    table = _new(clean(benchmark.name, 60))
    for name in ("model", "broken", "share", "lost", "baseline", "place", "more"):
        justify: Literal["left", "right"] = "left" if name in ("model", "place") else "right"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name != "model")
    figures = ours(benchmark)
    for place in figures.places.models:
        table.add_row(*_ours_row(figures, place))
    return table


def _ours_row(figures: Ours, place: ModelPlace) -> list[str]:
    from promptpex.report.terminal import clean

    share = figures.shares[place.model]
    broken = round((share.estimate or 0.0) * share.n)
    unscored = sum(figures.unscored[place.model].values())
    more = "" if place.more_cases is None else str(place.more_cases)
    shown = [_interval(share), str(unscored), _interval(figures.baseline[place.model])]
    return [clean(place.model, 30), f"{broken}/{share.n}", *shown, place.place, more]


def _interval(share: Interval) -> str:
    if not share.n:
        return "–"
    return f"{100 * (share.estimate or 0):.0f} % ({100 * share.low:.0f}–{100 * share.high:.0f})"


def _notes(benchmarks: Sequence[Benchmark]) -> list[str]:
    from promptpex.interchange.published_measures import ours

    pairs = [pair for benchmark in benchmarks for pair in ours(benchmark).places.pairs]
    open_ = sum(pair.adjusted > 0.05 for pair in pairs)
    return [
        *map(_sets, benchmarks),
        "Places: McNemar's exact test on the same cases for every pair of models, corrected by Holm within a benchmark;"
        " tied: shown to be less than 5 points worse than the best; undecided: these data cannot tell;"
        " more: how many more cases would decide, if what was seen is true; lost: without a verdict, unscored.",
        f"{open_} of {len(pairs)} pairs of models are not distinguishable.",
        "All verdicts here are the published judge's, of each output as a whole; it passes many violations that code "
        "proves (docs/judge-reliability.md).",
    ]


def _sets(benchmark: Benchmark) -> str:
    """Who is tied with the best, and who may be the best for all that the data say."""
    from promptpex.interchange.published_measures import ours
    from promptpex.report.terminal import clean

    places = ours(benchmark).places
    tied = ", ".join(clean(model, 30) for model in places.at("tied")) or "none"
    candidates = ", ".join(clean(model, 30) for model in places.candidates) or "none"
    return f"{clean(benchmark.name, 40)}: shown to be tied with the best: {tied}; not certainly worse: {candidates}."


def _new(title: str) -> Table:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
