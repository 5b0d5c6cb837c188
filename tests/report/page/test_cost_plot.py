from __future__ import annotations

from typing import Any

import pytest

from promptpex.report import summarise
from promptpex.report.html_page import html
from promptpex.report.page.cost_plot import HEIGHT, LINE, WIDTH, CostPlot, cost_plot
from tests.report.test_html_page import Reader
from tests.tables.by_hand import output, run, verdict


def row(model: str, cost: float | None, share: float | None = 0.5, scored: int = 100) -> dict[str, Any]:
    ends = {"ci_low": share, "ci_high": share, "cases": 100}
    return {"model": model, "cost_usd": cost, "outputs": 100, "non_compliance": share, "scored": scored, **ends}


def drawn(*costs: float) -> CostPlot:
    plot = cost_plot([row(f"m{n}", cost, 0.1 * n) for n, cost in enumerate(costs)], 1.0)
    assert plot is not None
    return plot


@pytest.mark.parametrize("costs", [(0.01, 0.02, 0.03), (0.001, 0.5), (1e-6, 2e-6), (7.0, 9.9)])
def test_costs_and_shares_have_their_places(costs: tuple[float, ...]) -> None:
    plot = drawn(*costs)
    places = {point.model: point.x for point in plot.points}
    xs = [places[f"m{n}"] for n in range(len(costs))]
    assert sorted(xs) == xs
    assert 0 <= min(xs) < max(xs) <= WIDTH
    assert {point.model: point.y for point in plot.points} == {
        f"m{n}": pytest.approx(HEIGHT * (1 - 0.1 * n)) for n in range(len(costs))
    }
    ticks = [tick for tick, _ in plot.costs]
    assert 2 <= len(ticks) <= 8
    assert ticks[0] <= 10 * min(costs)
    assert ticks[-1] >= 10 * max(costs) * 0.999
    assert (plot.costs[0][1], plot.costs[-1][1]) == (0.0, WIDTH)


def test_costs_far_apart_are_on_a_logarithmic_axis() -> None:
    assert drawn(0.001, 0.5).logarithmic
    assert not drawn(0.1, 0.5).logarithmic


def test_names_do_not_stand_over_each_other() -> None:
    plot = cost_plot([row("a", 0.001), row("b", 0.0011), row("c", 0.1)], 1.0)
    assert plot is not None
    near = [point.name_y for point in plot.points if not point.leftward]
    assert len(near) == 2
    assert abs(near[0] - near[1]) >= LINE


@pytest.mark.parametrize(
    "rows", [[], [row("a", 0.1)], [row("a", 0.1), row("b", None)], [row("a", 0.1), row("b", 0.1)],
             [row("a", 0.1), row("b", 0.2, None)], [row("a", 0.0), row("b", 0.2)]]
)  # fmt: skip
def test_without_two_costs_there_is_no_plot(rows: list[dict[str, Any]]) -> None:
    assert cost_plot(rows, 1.0) is None


def test_the_page_has_the_plot_where_costs_differ() -> None:
    made = run(
        [output("c1", model, cost_usd=cost) for model, cost in (("a", 0.01), ("b", 0.02))],
        [verdict(case="c1", model=model) for model in "ab"],
        models=("a", "b"),
    )
    page = Reader(html(summarise(made)))
    assert "Non-compliance against cost" in page.text
    assert any("a 0%, $0.0100; b 0%, $0.0200" in label for label in page.having("aria-label"))
    assert "against cost" not in Reader(html(summarise(run([output()], [verdict()])))).text
