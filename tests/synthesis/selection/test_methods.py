"""The methods that need no search, what people decided, weights, limits at their edges, and examples of one kind."""

from __future__ import annotations

from fractions import Fraction

import pytest

from promptpex.core.errors import InputError
from promptpex.core.shares import share
from promptpex.synthesis.selection.methods import METHODS, Method, select
from promptpex.synthesis.selection.problem import SelectionLimits, SelectionProblem


def graph(edges: str) -> SelectionProblem:
    """Six candidates, a to f, without examples; ``ab`` is: a implies b."""
    pairs = [("abcdef".index(edge[0]), "abcdef".index(edge[1])) for edge in edges.split()]
    return SelectionProblem.from_rows("", [], 6, pairs)


def test_topological_takes_what_nothing_else_implies() -> None:
    selection = select(graph("ab ac bd cd ef"), "topological")
    assert ["abcdef"[number] for number in selection.chosen or ()] == ["a", "e"]
    assert selection.state == "no-examples"
    assert (selection.to_dict()["coverage"], selection.to_dict()["ffr"]) == (None, None)


def test_topological_takes_one_of_each_cycle_by_the_order_that_is_given() -> None:
    problem = graph("ab bc ca cd de ed ff")
    assert select(problem, "topological").chosen == (0, 5)
    assert select(problem, "topological", order=lambda number: (-number,)).chosen == (2, 5)


def test_topological_passes_over_what_fails_everything_and_what_people_refused() -> None:
    problem = SelectionProblem.from_rows("10", ["011", "010"], 3, [(0, 1), (1, 2)])
    assert select(problem, "topological").chosen == (0,)
    assert select(problem, "topological", screened=True).chosen == (1,)
    refused = SelectionProblem.from_rows("10", ["011", "010"], 3, [(0, 1), (1, 2)], must=[2], must_not=[0])
    assert select(refused, "topological").chosen == (1, 2)


@pytest.mark.parametrize("method", METHODS)
def test_people_s_choices_hold_in_every_method(method: Method) -> None:
    rows = ["1110", "0111", "1011", "1111", "1101"]
    problem = SelectionProblem.from_rows("01110", rows, 4, must=[1], must_not=[3])
    chosen = select(problem, method, SelectionLimits(Fraction(0), Fraction(1))).chosen
    assert chosen is not None
    assert 1 in chosen
    assert 3 not in chosen


def test_limits_are_inclusive_and_exact_where_binary_fractions_are_not() -> None:
    """29 of 100 is .29, though .29 * 100 is below 29 in floating point, and .07 * 100 above 7."""
    rows = ["0" if number < 29 or 100 <= number < 107 else "1" for number in range(200)]
    problem = SelectionProblem.from_rows("1" * 100 + "0" * 100, rows, 1)
    at_both_edges = SelectionLimits(share(".07"), share("29%"))
    assert select(problem, "cov", at_both_edges).chosen == (0,)
    assert select(problem, "cov", SelectionLimits(share(".07"), share(".28999"))).state == "infeasible"
    assert select(problem, "cov", SelectionLimits(share(".0701"), share("29%"))).state == "infeasible"
    assert select(problem, "baseline", at_both_edges).chosen == (0,)


def test_weights_count_in_place_of_the_number() -> None:
    rows = ["011", "010", "001"]
    weights = [Fraction(5), Fraction("0.1"), Fraction("0.2")]
    problem = SelectionProblem.from_rows("000" + "1", [*rows, "111"], 3, weights=weights)
    cheap = SelectionProblem.from_rows("0001", ["001", "010", "000", "111"], 3, weights=weights)
    assert select(problem, "cov", SelectionLimits(Fraction(1), Fraction(0))).objective == 5
    assert select(cheap, "cov", SelectionLimits(Fraction(1), Fraction(0))).chosen == (1, 2)
    assert select(cheap, "cov", SelectionLimits(Fraction(1), Fraction(0))).to_dict()["objective"] == 0.3


@pytest.mark.parametrize(
    ("labels", "state"), [("11", "no-bad-examples"), ("00", "no-good-examples"), ("", "no-examples")]
)
def test_a_share_of_nothing_is_a_state(labels: str, state: str) -> None:
    problem = SelectionProblem.from_rows(labels, ["01"] * len(labels), 2)
    for method in ("cov", "sub"):
        selection = select(problem, "cov" if method == "cov" else "sub")
        assert (selection.state, selection.chosen, selection.to_dict()["feasible"]) == (state, None, False)
    everything = select(problem, "all").to_dict()
    assert (everything["state"], everything["selection"], everything["within_limits"]) == (state, [0, 1], None)


def test_both_ways_to_count_what_is_left_out() -> None:
    """b is implied by a; c is not, and would pass the limit; d is not, and would keep it."""
    rows = ["1111", "1100", "1101", "0011", "0011"]
    problem = SelectionProblem.from_rows("11100", rows, 4, [(0, 1)], must=[0], must_not=[1, 2, 3])
    selection = select(problem, "cov", SelectionLimits(Fraction(1), Fraction(1, 3)))
    assert selection.figures is not None
    assert (selection.figures.not_subsumed, selection.figures.not_subsumed_within_ffr) == (2, 1)


def test_implications_count_as_they_stand_unless_they_are_closed() -> None:
    problem = SelectionProblem.from_rows("10", ["111", "000"], 3, [(0, 1), (1, 2)])
    as_given, closed = select(problem, "sub"), select(problem.transitive(), "sub")
    assert (as_given.objective, closed.objective) == (Fraction(2), Fraction(1))
    assert closed.chosen == (0,)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("M has 1 row for 2 labels", {"rows": ["1"]}),
        ("row 1 of M has 2 values", {"rows": ["1", "11"]}),
        ("row 0 of M has values other", {"rows": ["2", "1"]}),
        ("y has values other", {"labels": "0x"}),
        ("K names candidate 1; the candidates are 0 to 0", {"implications": [(0, 1)]}),
        ("must names candidate -1", {"must": [-1]}),
        ("is in must and in must_not", {"must": [0], "must_not": [0]}),
        ("there are 2 names for 1 candidates", {"names": ["a", "b"]}),
        ("a weight is negative", {"weights": [Fraction(-1)]}),
    ],
)
def test_a_problem_that_contradicts_itself_is_refused(message: str, arguments: dict[str, object]) -> None:
    given: dict[str, object] = {"labels": "01", "rows": ["1", "0"], "candidates": 1, **arguments}
    with pytest.raises(InputError, match=message):
        SelectionProblem.from_rows(**given)  # type: ignore[arg-type]
