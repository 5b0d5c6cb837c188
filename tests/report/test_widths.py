"""The table of models on terminals of any width: what decides is always there, and whole."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from promptpex.core.records import Run
from promptpex.report import Summary, summarise
from promptpex.report.html_page import html
from promptpex.report.quantities import quantities
from promptpex.report.terminal.fitted_table import Column, least_width, table_of
from promptpex.report.view_model import page
from tests.report.printed import printed
from tests.tables.by_hand import score
from tests.tables.test_accuracy import answered

SHORT = "m{}"
LONG = "a-provider/a-family-of-models-with-a-long-name-instruct-2026-01-01-{}"


def made(models: int, label: str, *, metrics: bool, compared: bool = True) -> Run:
    """A run in which the first model is right in 19 of 20 outputs, and each further one a little less often."""

    def right(wrong: int) -> object:
        return lambda n: n >= wrong

    names = {label.format(number): right(number + 1) for number in range(models)}
    run = answered(20, 20 if compared else 0, **names)  # type: ignore[arg-type]
    tone = tuple(score(0.5, one.case, one.model, name="tone", source="judge:j") for one in run.outputs)
    return run.replace(scores=(*run.scores, *tone)) if metrics else run


@cache
def summary(models: int, label: str, metrics: bool, rank_by: str) -> Summary:
    return summarise(made(models, label, metrics=metrics), rank_by=rank_by)


def table(text: str) -> list[str]:
    """The lines of the table of models: from its title up to the blank line below it."""
    lines = text.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("colours: "))
    rule = next(at for at in range(start, len(lines)) if "────" in lines[at])
    end = next(at for at in range(rule, len(lines)) if not lines[at].strip())
    return lines[start:end]


@pytest.mark.parametrize("rank_by", ["accuracy", "non-compliance"])
@pytest.mark.parametrize("metrics", [False, True])
@pytest.mark.parametrize("label", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("models", [1, 2, 5])
def test_what_models_are_ranked_by_is_whole_at_every_width(
    models: int, label: str, metrics: bool, rank_by: str
) -> None:
    ranked = summary(models, label, metrics, rank_by)
    estimates = [one.text() for one in quantities(ranked)[0].estimates.values()]
    decisions = ranked.models["decision"].astype(str).tolist()
    for width in (40, 60, 80, 120):
        text = printed(ranked, width=width)
        assert max(map(len, text.splitlines())) <= width
        shown = "\n".join(table(text))
        assert rank_by in shown.lower()
        for estimate, decision in zip(estimates, decisions, strict=True):
            assert estimate in shown
            assert (decision in shown) == (models > 1)
        head = label.format("").rstrip("-")[:8]
        assert shown.count(head) >= models, f"every name is there at {width}"


def test_columns_give_way_in_the_order_of_what_they_decide() -> None:
    ranked = summary(4, LONG, False, "accuracy")
    hidden = {}
    for width in (40, 56, 64, 72, 80, 88, 96, 104, 112, 160):
        text = " ".join(printed(ranked, width=width).split())
        left_out = text.partition("Hidden at this width: ")[2].partition(" (see report.html)")[0].split(", ")
        hidden[width] = [name.partition(" ")[0] for name in reversed(left_out) if name]
    order = ["p50", "cost", "unscored", "failures", "non-compliance", "right"]
    assert all(set(names) == set(order[: len(names)]) for names in hidden.values())
    assert sorted(map(len, hidden.values()), reverse=True) == [len(names) for names in hidden.values()]
    assert {len(names) for names in hidden.values()} >= {0, 6}


def test_the_bars_of_the_page_are_of_what_models_are_ranked_by() -> None:
    by_accuracy, by_rules = (page(summary(2, SHORT, False, how)) for how in ("accuracy", "non-compliance"))
    assert [round(row.bar.point) for row in by_accuracy.models if row.bar] == [95, 90]
    assert [round(row.bar.point) for row in by_rules.models if row.bar] == [0, 0]
    assert (by_accuracy.axis, by_rules.axis) == (1.0, 0.25)
    shown = html(summary(2, SHORT, False, "accuracy"))
    assert 'aria-label="accuracy 95% (75–99.9%), n = 20"' in shown
    assert 'aria-label="non-compliance' not in shown


def test_a_metric_that_models_are_ranked_by_takes_the_first_place() -> None:
    by_tone = summary(2, SHORT, True, "tone")
    assert [one.name for one in quantities(by_tone)] == ["tone", "non-compliance", "accuracy"]
    shown = "\n".join(table(printed(by_tone, width=60)))
    assert "tone" in shown
    assert "50% (" in shown
    assert 'aria-label="tone 50% (' in html(by_tone)


def test_figures_of_an_axis_do_not_run_into_each_other() -> None:
    shown = html(summary(2, SHORT, True, "accuracy"))
    ticks = [part.split("</text>")[0].rpartition(">")[2] for part in shown.split('<text class="tick"')[1:]]
    assert ticks == ["0", "50", "100", "0", "50", "100"]


WORDS = st.text(st.sampled_from("aB1 -%(é語"), max_size=12)


@given(
    st.integers(0, 3).flatmap(
        lambda rows: st.lists(st.lists(WORDS, min_size=rows + 1, max_size=rows + 1), min_size=1, max_size=4)
    ),
    st.integers(0, 14),
    st.booleans(),
)
def test_the_least_width_is_what_rich_measures(texts: list[list[str]], name: int, narrow: bool) -> None:
    first, *others = [Column(header, cells) for header, *cells in texts]
    folded = first._replace(cells=[cell[:name] for cell in first.cells])
    measured = Console(width=4096).measure(table_of("", [folded, *others], name, narrow=narrow)).minimum
    assert least_width([first, *others], name, narrow=narrow) == measured
