"""Six pipelines of the paper: its figures, and optima proven by other solvers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.synthesis.selection.methods import Method, Selection, select
from promptpex.synthesis.selection.problem_file import read_problem

PIPELINES = ("codereviews", "emails", "lecturesummaries", "negotiation", "sportroutine", "statsbot")

IMPLIED_THERE = {"statsbot": 1}
"""Left out candidates that the published implications spare and that the paper's count of its cov row does not."""


@pytest.fixture(scope="session")
def spade(shared: Path) -> Path:
    folder = shared / "spade"
    if not folder.is_dir():
        pytest.skip("the published matrices are not beside the repository")
    return folder


def published(spade: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The entry of a pipeline with its optima, and its rows of the paper's Table 4."""
    entry = json.loads((spade / "matrices.json").read_text(encoding="utf-8"))["pipelines"][name]
    return entry, json.loads((spade / "table4.json").read_text(encoding="utf-8"))["pipelines"][name]


def chosen(spade: Path, name: str, method: Method) -> Selection:
    return select(read_problem(spade / "matrices.json", name), method)


def row(selection: Selection) -> list[float]:
    """A row of Table 4: FFR, coverage, how many are chosen, how many are left out that fit the limit."""
    figures = selection.figures
    assert figures is not None
    assert figures.ffr is not None
    assert figures.coverage is not None
    assert selection.chosen is not None
    return [round(figures.ffr, 3), round(figures.coverage, 3), len(selection.chosen), figures.not_subsumed_within_ffr]


@pytest.mark.parametrize("name", PIPELINES)
def test_baseline_and_cov_reach_the_figures_of_the_paper(spade: Path, name: str) -> None:
    entry, table = published(spade, name)
    assert row(chosen(spade, name, "baseline")) == table["paper"]["baseline"]
    assert list(chosen(spade, name, "baseline").chosen or ()) == entry["baseline"]
    cov, paper = row(chosen(spade, name, "cov")), table["paper"]["cov"]
    assert cov[:3] == paper[:3]
    assert cov[3] == paper[3] - IMPLIED_THERE.get(name, 0)


@pytest.mark.parametrize("name", PIPELINES)
def test_cov_and_sub_reach_the_proven_optima_within_both_limits(spade: Path, name: str) -> None:
    entry, table = published(spade, name)
    cov, sub = chosen(spade, name, "cov"), chosen(spade, name, "sub")
    assert (cov.objective, cov.optimal, cov.gap, cov.within_limits) == (entry["cov_min"], True, 0.0, True)
    assert (sub.objective, sub.optimal, sub.gap, sub.within_limits) == (entry["sub_min_sum"], True, 0.0, True)
    assert sub.figures is not None
    assert sub.figures.not_subsumed == entry["sub_min_G"]
    assert row(sub) == table["reached"]["sub"]


@pytest.mark.parametrize("name", PIPELINES)
def test_topological_has_its_list_and_all_flags_everything(spade: Path, name: str) -> None:
    entry, _ = published(spade, name)
    assert list(chosen(spade, name, "topological").chosen or ()) == entry["topo_selection"]
    everything = chosen(spade, name, "all")
    assert everything.figures is not None
    assert (everything.figures.coverage, everything.figures.ffr) == (1.0, 1.0)
    assert everything.chosen == tuple(range(entry["m"]))
