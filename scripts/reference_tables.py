"""The tables of a kept evaluation, made again from its runs without asking anybody:
``python scripts/reference_tables.py [FOLDER]``.

Reads the runs that ``promptpex evaluate-paper`` left under FOLDER (``results/reference/evaluation``), writes
``table2.csv``, ``table3.csv``, ``agreement.csv`` and their averages there, and prints the tables as Markdown, as they
stand in ``docs/evaluation.md``. Which cases are valid and which rules grounded is not kept in the runs, so
``shares.csv`` stays as it is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.codecs.files.atomic import write_text
from promptpex.paper.evaluation import tabled
from promptpex.paper.prompt_evaluation import Evaluation
from promptpex.paper.prompt_spec_similarity import cosines
from promptpex.paper.result_tables import Tables
from promptpex.report import runs
from promptpex.report.files import csv_text
from promptpex.tables import records

FOLDER = Path("results/reference/evaluation")
NAMES = ("table2", "table3", "averages", "agreement", "spec_agreement")
DASH = "–"

Row = Mapping[str, Any]


def rebuilt(folder: Path) -> Tables:
    """The tables that rest on runs alone, from the folders of the runs."""
    evaluations = []
    for place in sorted(path.parent for path in folder.glob("*/prompt")):
        run = runs.read(place / "prompt")
        by_spec = runs.read(place / "spec") if (place / "spec").is_dir() else None
        evaluations.append((place.name, Evaluation(run, by_spec, (), (), cosines(run, by_spec))))
    made = tabled(evaluations)
    return {name: made[name] for name in NAMES}


def markdown(tables: Tables) -> str:
    """The tables as Markdown, a blank line between them."""
    averages = records(tables["averages"])
    sides = [
        _lines(
            ("benchmark", *names, "difference", "p"),
            [*map(_contrast, records(tables[name])), *_average(averages, name)],
        )
        for name, names in (("table2", ("generated", "baseline")), ("table3", ("rules", "inverse rules")))
    ]
    header = ("benchmark", "cases", "left out", "prompt", "spec", "difference", "cosine")
    return "\n".join([*sides, _lines(header, [_agreement(row) for row in records(tables["agreement"])])])


def _lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
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
    cells = (f"{100 * row['share']:.0f}% ({100 * row['low']:.0f}–{100 * row['high']:.0f}%)" for row in some)
    return [(f"average of {some[0]['benchmarks']}", *cells, DASH, DASH)] if some else []


def _agreement(row: Row) -> tuple[str, ...]:
    counts = (str(row[name]) for name in ("cases", "unscored", "prompt_broken", "spec_broken"))
    cosine = DASH if row["cosine"] is None else f"{row['cosine']:z.2f}"
    return row["benchmark"], *counts, _gap(row), cosine


def _side(row: Row, side: str) -> str:
    broken, n, low, high = (row[f"{side}_{name}"] for name in ("broken", "n", "low", "high"))
    return f"{broken} of {n} ({100 * low:.0f}–{100 * high:.0f}%)" if n else f"{DASH} of 0"


def _gap(row: Row) -> str:
    if row["difference"] is None:
        return DASH
    ends = f"{100 * row['difference_low']:+z.0f} to {100 * row['difference_high']:+z.0f}"
    return f"{100 * row['difference']:+z.0f} ({ends})"


def main(folder: Path) -> int:
    """Writes and prints the tables; 1 where the folder holds no run of ``promptpex evaluate-paper``."""
    if not any(folder.glob("*/prompt")):
        print(f"{folder} holds no run of promptpex evaluate-paper: name its folder, such as {FOLDER}", file=sys.stderr)
        return 1
    tables = rebuilt(folder)
    for name, table in tables.items():
        write_text(folder / f"{name}.csv", csv_text(table))
    print(markdown(tables), end="")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The tables of a kept evaluation, made again from its runs.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help=f"of the runs [{FOLDER}]")
    sys.exit(main(parser.parse_args().folder))
