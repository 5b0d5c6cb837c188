"""A number in a sentence is the number in the table beside it, and a sentence says what happened."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from promptpex.report.gate import Limits, decided
from promptpex.report.html_page import html
from promptpex.report.secondary_tables import footnotes
from tests.numbers.world import by, cases, first, ran, simulated, summed
from tests.report.printed import printed


@pytest.mark.parametrize(("broken", "count"), [(10, 300), (19, 200), (1, 400), (1, 2000)])
def test_the_share_in_the_sentence_is_printed_in_the_table(broken: int, count: int) -> None:
    summary, _ = summed(simulated(["a"], cases(count, 4), by({"a": first(broken)}), judge=False))
    share = re.search(r"\((<?[\d.]+%), 95% CI (<?[\d.]+–<?[\d.]+%)\)", summary.answer or "")
    assert share is not None
    table = printed(summary).partition("outputs that break a rule")[2]
    assert f"{share[1]} ({share[2]})" in table
    assert f"{share[1]} ({share[2]})" in unescape(html(summary)).partition("<main>")[2]


@pytest.mark.parametrize(("broken", "count", "never"), [(1, 400, "0% ("), (1, 2000, "0–0%"), (399, 400, "100% (")])
def test_who_fails_once_is_not_shown_as_one_that_never_does(broken: int, count: int, never: str) -> None:
    """And who passes once not as one that never does."""
    summary, _ = summed(simulated(["a"], cases(count, 4), by({"a": first(broken)}), judge=False))
    assert not re.search(rf"(?<![\d.]){re.escape(never)}", printed(summary).partition("outputs that break a rule")[2])
    assert not re.search(rf"(?<![\d.]){re.escape(never.rstrip('('))}[,)]", summary.answer or "")


def test_a_judge_asked_twice_of_each_output_failed_on_as_many_outputs_as_there_are(tmp_path: Path) -> None:
    run = ran(tmp_path, ["a"], cases(30, 3), by({"a": first(10, fate="open")}), aims=3, judge_repeat=2)
    summary, _ = summed(run)
    assert summary.answer is not None
    stated = re.match(r"The judge fake/judge failed on (\d+) of (\d+) (\w+)", summary.answer)
    assert stated is not None
    assert (stated[1], stated[2], stated[3]) in (("10", "30", "outputs"), ("20", "60", "requests"))


def test_the_median_is_of_as_many_as_were_measured() -> None:
    run = simulated(["a", "b"], cases(300, 4), by({"a": first(2), "b": first(2)}), judge=False)
    waits = {"fake/a": 1200.0, "fake/b": 2500.0}
    timed = [
        one.replace(cost_usd=0.001, latency_ms=None if number % 3 else waits[one.model])
        for number, one in enumerate(run.outputs)
    ]
    summary, rows = summed(run.replace(outputs=tuple(timed)))
    assert rows["a"]["fastest"]
    assert "(median 1.20 s of 100)" in (summary.answer or "")


def test_a_model_whose_judge_was_not_asked_is_not_called_unasked() -> None:
    fates = by({"a": first(0), "b": first(60, fate="unjudged")})
    summary, rows = summed(simulated(["a", "b"], cases(60, 4), fates))
    assert [row["decision"] for row in rows.values()] == ["undecided", "unscored"]
    assert "fake/b was not asked" not in (rows["a"]["undecided_because"] or "")
    assert "Not asked: fake/b" not in (summary.answer or "")


def test_what_was_saved_leaves_out_what_a_budget_cut(tmp_path: Path) -> None:
    fates = by({"a": first(0), "b": first(0)})
    settings: Any = {"drop_worse": True, "max_requests": 30, "concurrency": 1}
    summary, _ = summed(ran(tmp_path, ["a", "b"], cases(100, 4), fates, aims=4, judge=False, **settings))
    assert summary.run.manifest.partial == "budget"
    assert summary.saved is None or summary.saved.asked == 30
    assert not any(note.startswith("Stopped when decided") for note in footnotes(summary))


@pytest.mark.parametrize(("broken", "limit"), [(201, 0.1), (661, 0.33)])
def test_a_gate_tells_apart_what_it_holds_against_each_other(broken: int, limit: float) -> None:
    _, rows = summed(simulated(["a"], cases(2000, 4), by({"a": first(broken)}), judge=False))
    (reason,) = decided(list(rows.values()), Limits(max_non_compliance=limit))["fake/a"].exceeded
    percentages = re.fullmatch(r"non-compliance is ([\d.]+)%, above ([\d.]+)%", reason)
    assert percentages is not None
    assert float(percentages[1]) > float(percentages[2])


@pytest.mark.parametrize(
    ("broken", "limit", "expected"),
    [(668, 0.333, "33.4%, above 33.3%"), (67, 0.0333, "3.4%, above 3.33%"), (201, 0.1, "10.1%, above 10%")],
)
def test_a_limit_is_shown_as_it_was_given(broken: int, limit: float, expected: str) -> None:
    _, rows = summed(simulated(["a"], cases(2000, 4), by({"a": first(broken)}), judge=False))
    (reason,) = decided(list(rows.values()), Limits(max_non_compliance=limit))["fake/a"].exceeded
    assert reason == f"non-compliance is {expected}"


def test_a_gate_says_of_one_output_that_it_is_unscored() -> None:
    fates = by({"a": lambda case, repeat: "cut" if case == 99 else "kept"})
    _, rows = summed(simulated(["a"], cases(100, 4), fates, judge=False))
    (reason,) = decided(list(rows.values()), Limits(max_non_compliance=0.005))["fake/a"].untold
    assert reason == "1 of 100 outputs is unscored; had it failed, non-compliance is 1%, above 0.5%"


def test_percentages_have_no_blank_before_their_sign() -> None:
    fates = by({"a": first(2), "b": lambda case, repeat: "broken" if (case + repeat) % 3 == 0 else "kept"})
    summary, _ = summed(simulated(["a", "b"], cases(60, 4, inverses=True), fates, repeats=2))
    for shown in (printed(summary), unescape(html(summary)).partition("<body>")[2]):
        assert "%" in shown
        assert not re.search(r"\d %", shown)


def test_one_output_is_unscored() -> None:
    """One of a hundred keeps b from being called worse."""
    fates = by({"a": lambda case, repeat: "cut" if case == 99 else "kept", "b": first(6)})
    summary, rows = summed(simulated(["a", "b"], cases(100, 4), fates, judge=False))
    assert rows["b"]["decision"] == "undecided"
    assert "1 of 100 outputs of fake/a is unscored" in (summary.answer or "")


def test_one_share_is_not_many_at_once() -> None:
    summary, _ = summed(simulated(["a"], cases(60, 1), by({"a": first(3)}), aims=1, judge=False))
    assert "1 shares at once" not in printed(summary)
