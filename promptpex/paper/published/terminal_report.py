"""The published recordings on a terminal: the paper's tables, then what the data allow to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from promptpex.llm.paths_in_names import as_in_name

if TYPE_CHECKING:
    from rich.table import Table

    from promptpex.paper.published.dataset import Benchmark
    from promptpex.paper.published.measures import Ours, Share, Tables


def print_all(benchmarks: Sequence[Benchmark], tables: Tables, averages: Mapping[str, Any]) -> None:
    """Tables 2 and 3 with their ``averages``, validity and groundedness, then our figures for the same data."""
    from rich.console import Console

    from promptpex.paper.published.averages import differing, sentences
    from promptpex.paper.published.measures import misprints, ours

    console = Console(soft_wrap=False)
    console.print(_table2(tables, averages))
    console.print(_table3(tables, averages))
    for sentence in (*misprints(tables), *differing(averages)):
        console.print(f"* {sentence}.", markup=False, highlight=False)
    console.print(_validity(tables))
    for sentence in sentences(benchmarks):
        console.print(sentence, markup=False, highlight=False)
    console.print("Share of outputs that break the prompt, with exact 95% intervals", style="bold")
    figures = {benchmark.name: ours(benchmark) for benchmark in benchmarks}
    for name, one in figures.items():
        console.print(_ours_table(name, one))
    for line in _notes(figures):
        console.print(line, markup=False, highlight=False)


def lines_written(
    out: Path, benchmarks: Sequence[Benchmark], recordings: Mapping[str, Sequence[Path]]
) -> tuple[str, ...]:
    """Where things are, and the line that asks the recordings again."""
    where = ("", f"A run per benchmark and tables.json in {out}")
    first = next((benchmark for benchmark in benchmarks if recordings.get(benchmark.name)), None)
    if first is None:
        return where
    models = ",".join(f"replay/{as_in_name(path)}" for path in recordings[first.name])
    prompt = next(iter(sorted((out / first.name).glob("prompt.*[dn]"))))
    command = f"  promptpex run {prompt} --judge none --models {models}"
    return (*where, "To judge the answers again by code, asking no model:", command)


def _table2(tables: Tables, averages: Mapping[str, Any]) -> Table:
    table = _new("Table 2: non-compliance, generated / baseline tests (a lost verdict counts as non-compliant)")
    _rows(table, tables["table2"], ("promptpex", "baseline"), averages.get("table2", {}))
    return table


def _table3(tables: Tables, averages: Mapping[str, Any]) -> Table:
    table = _new("Table 3: non-compliance, tests of rules / of inverse rules")
    _rows(table, tables["table3"], ("rules", "inverse"), averages.get("table3", {}))
    return table


def _rows(table: Table, cells: Mapping[str, Any], parts: tuple[str, str], averages: Mapping[str, Any]) -> None:
    from promptpex.paper.published.measures import misprinted
    from promptpex.report.terminal import clean

    models = list(dict.fromkeys(model for by_model in cells.values() for model in by_model))
    table.add_column("benchmark", overflow="fold")
    for model in models:
        table.add_column(clean(model, 30), justify="right", no_wrap=True)
    for benchmark, by_model in cells.items():
        texts = []
        for model in models:
            if model not in by_model:
                texts.append("–")
                continue
            pair = [_percent(by_model[model][part]) for part in parts]
            marked = any(misprinted(benchmark, model, part, by_model[model][part]) for part in parts)
            texts.append(" / ".join(pair) + ("%*" if marked else "%"))
        table.add_row(clean(benchmark, 40), *texts)
    table.add_section()
    table.add_row(f"average of {len(cells)}", *(_average(averages.get(model, {}), parts) for model in models))


def _average(cells: Mapping[str, Any], parts: tuple[str, str]) -> str:
    from promptpex.paper.published.averages import differs

    cell_texts = [f"{cells[part]['percent']:.0f}" if part in cells else "–" for part in parts]
    return " / ".join(cell_texts) + ("%*" if any(map(differs, cells.values())) else "%")


def _percent(cell: Mapping[str, Any]) -> str:
    from promptpex.paper.published.measures import paper_percent

    share = paper_percent(cell["non_compliant"], cell["n"])
    return "–" if share is None else str(share)


def _validity(tables: Tables) -> Table:
    from promptpex.report.terminal import clean

    table = _new("Valid tests, and rules that the prompt states")
    for name in ("benchmark", "tests", "valid", "rules", "grounded"):
        table.add_column(name, justify="left" if name == "benchmark" else "right")
    for name, valid in tables["validity"].items():
        grounded = tables["groundedness"][name]
        counts = (valid["tests"], valid["valid"], grounded["rules"], grounded["grounded"])
        table.add_row(clean(name, 40), *map(str, counts))
    return table


def _ours_table(name: str, figures: Ours) -> Table:
    from promptpex.report.terminal import clean

    table = _new(clean(name, 60))
    for column in ("model", "broken", "share", "lost", "baseline", "decision"):
        justify: Literal["left", "right"] = "left" if column in ("model", "decision") else "right"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=column != "model")
    by_share = sorted(figures.places.models, key=lambda model: figures.shares[model].share or 0.0)
    for model in by_share:
        table.add_row(*_ours_row(model, figures))
    return table


def _ours_row(model: str, figures: Ours) -> list[str]:
    from promptpex.report.terminal import clean

    share, place = figures.shares[model], figures.places.models[model]
    unscored = str(sum(figures.unscored[model].values()))
    cell_texts = [_interval(share), unscored, _interval(figures.baseline[model]), place.outcome]
    return [clean(model, 30), f"{share.broken}/{share.scored}", *cell_texts]


def _interval(one: Share) -> str:
    if one.share is None:
        return "–"
    return f"{'≥' if one.at_least else ''}{100 * one.share:.0f}% ({100 * one.low:.0f}–{100 * one.high:.0f})"


def _notes(figures: Mapping[str, Ours]) -> list[str]:
    pairs = [pair for one in figures.values() for pair in one.pairs]
    open_ = sum(pair.adjusted > 0.05 for pair in pairs)
    lines = [
        *(_sets(name, one) for name, one in figures.items()),
        "Decisions: exact sign flips of the differences on the same cases for every pair of models, corrected by Holm "
        "within a benchmark; with one answer to a case this is McNemar's exact test. best: every other model is shown "
        "to be worse; tied: shown to be less than 5 points worse than the best; worse: shown to break its prompt more "
        "often than another; undecided: these data cannot tell; "
        "lost: unscored, without a verdict or an answer.",
    ]
    if any(share.at_least for one in figures.values() for share in (*one.shares.values(), *one.baseline.values())):
        lines.append(
            "≥: a lost verdict may have gone either way, so the share is of all usable answers, a lower bound; the "
            "interval holds whatever was lost."
        )
    return [
        *lines,
        f"{open_} of {len(pairs)} pairs of models are not shown to differ.",
        "All verdicts here are the published judge's, of each output as a whole; it passes many violations that code "
        "proves (docs/judge-reliability.md).",
    ]


def _sets(name: str, figures: Ours) -> str:
    """Who is best or tied, who may be the best for all that the data say, and what lost verdicts keep open."""
    from promptpex.report.terminal import clean

    def listed(models: Sequence[str]) -> str:
        return ", ".join(clean(model, 30) for model in models) or "none"

    places = figures.places
    ranking = f"shown to be best: {listed(places.having('best'))}; tied with the best: {listed(places.having('tied'))}"
    because = sorted({place.because for place in places.models.values() if place.because})
    left = f" ({clean('; '.join(because), 200)})" if because else ""
    return f"{clean(name, 40)}: {ranking}; not shown to be worse: {listed(figures.candidates)}{left}."


def _new(title: str) -> Table:
    from rich import box
    from rich.table import Table

    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
