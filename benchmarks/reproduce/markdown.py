"""The tables as Markdown: those of an evaluation, and the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reproduce import measures
from benchmarks.reproduce.dataset import Benchmark
from benchmarks.reproduce.evaluation import tabled
from benchmarks.reproduce.measures import Ours, Share
from benchmarks.reproduce.prompt_evaluation import Evaluation, cosines
from benchmarks.reproduce.tables import Tables
from promptpex.report import runs
from promptpex.tables import records

FROM_RUNS = ("table2", "table3", "averages", "agreement", "spec_agreement")
"""The tables that rest on runs alone. Which cases are valid and which rules grounded is not kept in them."""
DASH = "–"
NOTES = """\
Decisions: exact sign flips of the differences on the same cases for every pair of models, corrected by Holm within a
benchmark. `lost`: without a verdict or an answer. `≥`: a lost verdict may have gone either way, so the share is a lower
bound. All verdicts are the published judge's, which passes many violations that code
proves (README.md).
"""

Row = Mapping[str, Any]


def rebuilt(folder: Path) -> Tables:
    """The tables that rest on runs alone, from the runs that an evaluation left in a folder."""
    evaluations = []
    for place in sorted(path.parent for path in folder.glob("*/prompt")):
        run = runs.read(place / "prompt")
        by_spec = runs.read(place / "spec") if (place / "spec").is_dir() else None
        evaluations.append((place.name, Evaluation(run, by_spec, (), (), cosines(run, by_spec))))
    made = tabled(evaluations)
    return {name: made[name] for name in FROM_RUNS}


def of_evaluation(tables: Tables) -> str:
    """The tables of an evaluation, a blank line between them."""
    averages = records(tables["averages"])
    parts = [
        _lines(
            ("benchmark", *names, "difference", "p"),
            [*map(_contrast, records(tables[name])), *_average(averages, name)],
        )
        for name, names in (("table2", ("generated", "baseline")), ("table3", ("rules", "inverse rules")))
    ]
    header = ("benchmark", "cases", "left out", "prompt", "spec", "difference", "cosine")
    parts.append(_lines(header, map(_agreement, records(tables["agreement"]))))
    if len(tables.get("shares", ())):
        parts.append(_lines(("benchmark", "what", "share", "not known"), map(_share_row, records(tables["shares"]))))
    if len(tables.get("failed", ())):
        rows = [(row["benchmark"], row["reason"], row["message"]) for row in records(tables["failed"])]
        parts.append(_lines(("not evaluated", "reason", "what happened"), rows))
    return "\n".join(parts)


def of_recordings(benchmarks: Sequence[Benchmark]) -> str:
    """The paper's tables counted again, then what we say of the same data."""
    tables = measures.tables(benchmarks)
    averages = measures.averages(tables)
    parts = [_pairs(name, tables[name], averages[name]) for name in measures.PARTS]
    parts += [f"\\* {sentence}.\n" for sentence in (*measures.misprints(tables), *measures.differing(averages))]
    valid = [
        (name, f"{one['valid']} of {one['tests']}", "{grounded} of {rules}".format(**tables["groundedness"][name]))
        for name, one in tables["validity"].items()
    ]
    parts.append(_lines(("benchmark", "valid tests", "rules that the prompt states"), valid))
    parts += [f"{sentence}\n" for sentence in measures.sentences(benchmarks)]
    header = ("benchmark", "model", "broken", "share", "lost", "baseline", "decision")
    parts.append(_lines(header, (row for one in benchmarks for row in _ours(one.name, measures.ours(one)))))
    return "\n".join([*parts, NOTES])


def _lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = "|---|" + "--:|" * (len(header) - 1)
    return "\n".join([_line(header), rule, *map(_line, rows)]) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _contrast(row: Row) -> tuple[str, ...]:
    p = DASH if row["p"] is None else f"{row['p']:.2f}"
    return row["benchmark"], _side(row, "first"), _side(row, "second"), _gap(row), p


def _average(rows: Sequence[Row], table: str) -> list[tuple[str, ...]]:
    """The last row of a table: the mean of the benchmarks that have outputs scored on both sides."""
    some = [row for row in rows if row["table"] == table]
    cells = (f"{100 * row['share']:.0f}% {_ends(row['low'], row['high'])}" for row in some)
    return [(f"average of {some[0]['benchmarks']}", *cells, DASH, DASH)] if some else []


def _agreement(row: Row) -> tuple[str, ...]:
    counts = (str(row[name]) for name in ("cases", "unscored", "prompt_broken", "spec_broken"))
    cosine = DASH if row["cosine"] is None else f"{row['cosine']:z.2f}"
    return row["benchmark"], *counts, _gap(row), cosine


def _share_row(row: Row) -> tuple[str, ...]:
    return row["benchmark"], row["what"], _counts(row["yes"], row["n"], row["low"], row["high"]), str(row["unknown"])


def _side(row: Row, side: str) -> str:
    return _counts(*(row[f"{side}_{name}"] for name in ("broken", "n", "low", "high")))


def _counts(some: int, n: int, low: float, high: float) -> str:
    return f"{some} of {n} {_ends(low, high)}" if n else f"{DASH} of 0"


def _ends(low: float, high: float) -> str:
    return f"({100 * low:.0f}–{100 * high:.0f}%)"


def _gap(row: Row) -> str:
    if row["difference"] is None:
        return DASH
    ends = f"{100 * row['difference_low']:+z.0f} to {100 * row['difference_high']:+z.0f}"
    return f"{100 * row['difference']:+z.0f} ({ends})"


def _pairs(name: str, cells: Mapping[str, Any], averages: Mapping[str, Any]) -> str:
    """A table of the paper: both sides in each cell, ``*`` where the print is another."""
    parts = measures.PARTS[name]
    models = list(dict.fromkeys(model for by_model in cells.values() for model in by_model))
    rows = [(benchmark, *(_pair(benchmark, model, by_model, parts) for model in models))
            for benchmark, by_model in cells.items()]  # fmt: skip
    ends = [_average_pair(averages.get(model, {}), parts) for model in models]
    return _lines((f"{measures.TITLES[name]}: {' / '.join(parts)}", *models), [*rows, ("average", *ends)])


def _pair(benchmark: str, model: str, by_model: Mapping[str, Any], parts: tuple[str, str]) -> str:
    if model not in by_model:
        return DASH
    shares = [measures.paper_percent(by_model[model][part]["non_compliant"], by_model[model][part]["n"])
              for part in parts]  # fmt: skip
    marked = any(measures.misprinted(benchmark, model, part, by_model[model][part]) for part in parts)
    return " / ".join(DASH if share is None else str(share) for share in shares) + ("%*" if marked else "%")


def _average_pair(cells: Mapping[str, Any], parts: tuple[str, str]) -> str:
    shares = [f"{cells[part]['percent']:.0f}" if part in cells else DASH for part in parts]
    return " / ".join(shares) + ("%*" if any(map(measures.differs, cells.values())) else "%")


def _ours(name: str, figures: Ours) -> Iterable[tuple[str, ...]]:
    for model in sorted(figures.places.models, key=lambda model: figures.shares[model].share or 0.0):
        share, lost = figures.shares[model], sum(figures.unscored[model].values())
        place = figures.places.models[model].outcome
        counts = f"{share.broken} of {share.scored}"
        yield name, model, counts, _interval(share), str(lost), _interval(figures.baseline[model]), place


def _interval(one: Share) -> str:
    bound = "≥" if one.at_least else ""
    return DASH if one.share is None else f"{bound}{100 * one.share:.0f}% {_ends(one.low, one.high)}"
