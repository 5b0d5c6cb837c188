"""``promptpex-published``: the recordings published with PromptPex, as the paper's tables, runs and recordings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpex.core.records import Case, ModelName, Params, Prompt, Request
from promptpex.interchange.format import Format, Imported, Mapped

if TYPE_CHECKING:
    import pandas as pd

    from promptpex.paper.published.dataset import Benchmark


_FILES = ("rules.txt", "inverse_rules.txt", "intent.txt", "input_spec.txt", "baseline_tests.txt", "test_results.csv",
          "test_evals.csv", "rule_evals.csv", "overview.csv")  # fmt: skip


class PublishedTables:
    """The paper's tables counted again, with what the data allow to say."""

    def __init__(self, benchmarks: Sequence[Benchmark]) -> None:
        from promptpex.paper.published import measures

        self._benchmarks = list(benchmarks)
        self._tables = measures.tables(self._benchmarks)

    @cached_property
    def _frames(self) -> dict[str, pd.DataFrame]:
        from promptpex.paper.published import averages

        return averages.frames(self._tables)

    @cached_property
    def _averages(self) -> dict[str, Any]:
        from promptpex.paper.published import averages

        return averages.average_cells(self._frames["averages"], self._tables)

    def show(self) -> None:
        """Prints the tables."""
        from promptpex.paper.published import terminal_report

        terminal_report.print_all(self._benchmarks, self._tables, self._averages)

    def write(self, folder: Path, params: Params) -> tuple[str, ...]:
        """Writes ``tables.json``, pictures, runs and recordings; gives the lines that say where."""
        from promptpex.paper.figures import figures
        from promptpex.paper.published import project_files, terminal_report
        from promptpex.workflow.execution.collect import Cell, request_for

        def ask(prompt: Prompt, case: Case, model: str) -> Request:
            return request_for(prompt, Cell(case, ModelName(name=model, label=model), 0), params)

        tables = {**self._tables, "averages": self._averages}
        recordings = project_files.write(folder, self._benchmarks, tables, figures(self._frames), ask)
        return terminal_report.lines_written(folder, self._benchmarks, recordings)

    def to_dict(self) -> dict[str, Any]:
        """The tables, our figures, and what is odd about the data."""
        from promptpex.paper.published import averages, dataset, measures

        return {
            **self._tables,
            "averages": self._averages,
            "sentences": averages.sentences(self._benchmarks),
            "ours": measures.to_dict(self._benchmarks),
            "misprints": measures.misprints(self._tables),
            "averages_that_differ": averages.differing(self._averages),
            "problems": [problem.to_dict() for problem in dataset.problems_of(self._benchmarks)],
        }


def read(path: Path) -> Imported:
    """The recordings in a clone of microsoft/promptpex, or its folder ``evals/v7``.

    Raises:
        InputError: it is neither, or a file is damaged.
    """
    from promptpex.paper.published import dataset

    benchmarks = dataset.read(path)
    return Imported(report=PublishedTables(benchmarks), problems=tuple(dataset.problems_of(benchmarks)))


FORMAT = Format(
    name="promptpex-published",
    summary="evals/v7 of a clone of microsoft/promptpex: the paper's tables counted again, with intervals and tests",
    import_note="--out DIR writes runs, tables.json, pictures and recordings",
    reads="run",
    read=read,
    recognise=lambda path: (
        (path / "evals" / "v7").is_dir() or any((*path.glob("test_evals.csv"), *path.glob("*/test_evals.csv")))
    ),
    members=frozenset(_FILES),
    maps=(
        Mapped("`rules.txt`, `inverse_rules.txt`", "the spec's rules with their inverses", "in"),
        Mapped("`tests.csv`, `baseline_tests.txt`", "the cases, and the baseline's", "in"),
        Mapped("`test_results.csv`", "a run's outputs and verdicts, and recordings that answer a run", "in"),
        Mapped("`test_evals.csv`, `rule_evals.csv`", "validity and groundedness in the tables", "in"),
    ),
)
