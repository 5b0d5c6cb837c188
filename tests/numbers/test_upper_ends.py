"""A model with fewer failures never has a higher upper end on the same cases: none included, at any number of rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from promptpex.tables import records
from tests.numbers.server import gate_code
from tests.numbers.world import Cells, Fates, by, cases, first, ran, simulated, summed, table
from tests.stats.references import wilson

FAILURES = (0, 1, 2, 3, 4, 5, 8, 13)


def counting(failures: Sequence[int]) -> tuple[list[str], Fates]:
    """Models named by how many of the cases they break, spread over the rules."""
    names = [f"m{count}" for count in failures]
    return names, lambda model, case, repeat: "broken" if case < int(model[1:]) else "kept"


def rising(ends: Sequence[float]) -> bool:
    return all(low < high for low, high in pairwise(ends))


@pytest.mark.parametrize("count", [304, 96])
def test_upper_ends_rise_with_the_failures(count: int) -> None:
    names, fates = counting(range(5))
    run = simulated(names, cases(count, 16), fates, judge=False)
    _, rows = summed(run)
    assert [rows[name]["non_compliant"] for name in names] == [0, 1, 2, 3, 4]
    assert rising([rows[name]["ci_high"] for name in names])
    for row in rows.values():
        assert row["ci_high"] - row["ci_low"] <= 1.3 * width(row["non_compliant"], count)


def width(failed: int, count: int) -> float:
    interval = wilson(failed, count)
    return interval.high - interval.low


@pytest.mark.parametrize("judge", [False, True])
def test_upper_ends_rise_with_repeats_on_the_same_cases(judge: bool) -> None:
    """20 cases ten times; the failures lie in one case first, or each in another case."""
    names = [f"m{count}" for count in FAILURES]
    for per_case, per_repeat in ((10, 1), (1, 20)):
        fates: Cells = {
            (f"m{count}", case, repeat): "broken" if per_case * case + per_repeat * repeat < count else "kept"
            for count in FAILURES
            for case in range(20)
            for repeat in range(10)
        }
        _, rows = summed(simulated(names, cases(20, 16), table(fates), judge=judge, repeats=10))
        ends = [rows[name]["ci_high"] for name in names]
        assert ends == sorted(ends)
        assert ends[0] < ends[-1] or per_case == 1


def test_repeats_that_are_alike_make_no_interval_narrower_whoever_is_beside() -> None:
    """Each case of ``steady`` comes out the same five times, which tells as much as once; ``flaky`` throws coins."""
    fates = by(
        {"steady": first(12), "flaky": lambda case, repeat: "broken" if (case * 7 + repeat * 3) % 5 == 0 else "kept"}
    )
    _, once = summed(simulated(["steady"], cases(60, 4), fates, judge=False))
    _, often = summed(simulated(["steady", "flaky"], cases(60, 4), fates, judge=False, repeats=5))
    for column in ("ci_low", "ci_high"):
        assert often["steady"][column] == pytest.approx(once["steady"][column])
        alone = summed(simulated(["flaky"], cases(60, 4), fates, judge=False, repeats=5))[1]["flaky"]
        assert alone[column] == often["flaky"][column]
    coins = summed(simulated(["flaky"], cases(60, 4), fates, judge=False))[1]["flaky"]
    assert alone["ci_high"] - alone["ci_low"] < 0.8 * (coins["ci_high"] - coins["ci_low"])


@pytest.mark.parametrize("repeats", [1, 3])
def test_nothing_jumps_between_nine_and_ten_rules(repeats: int) -> None:
    """The same failures, the cases spread over more rules: the interval of fixed rules does not change at all."""
    ends = []
    for aims in (2, 8, 9, 10, 11, 12, 45):
        made = simulated(["a"], cases(180, aims), by({"a": first(40)}), aims=aims, repeats=repeats)
        row = summed(made)[1]["a"]
        ends.append((row["ci_low"], row["ci_high"], row["interval"]))
    assert len(set(ends)) == 1


def test_upper_ends_rise_by_kind_and_by_rule() -> None:
    """Of 304 cases, rules and inverses in turn, each model breaks the first so many of each rule and each inverse."""
    made = cases(304, 4, inverses=True)
    aims = [(case.rule, case.inverse) for case in made]
    place = {case.id: aims[:number].count(aims[number]) for number, case in enumerate(made)}
    names = [f"m{count}" for count in FAILURES]
    run = simulated(
        names,
        made,
        lambda model, case, repeat: "broken" if place[made[case].id] < int(model[1:]) else "kept",
        aims=4,
        judge=False,
    )
    summary, _ = summed(run)
    for group in ("rule", "inverse"):
        assert rising([row["ci_high"] for row in records(summary.details.by_case_type) if row["case_type"] == group])
    for rule in ("r1", "r2", "r3", "r4"):
        rule_rows = [row for row in records(summary.rules) if row["rule"] == rule]
        assert [row["broken"] for row in rule_rows] == [2 * count for count in FAILURES]
        assert rising([row["ci_high"] for row in rule_rows])


def test_a_gate_passes_who_never_fails_before_who_fails_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each model in a run of its own, of 304 cases."""
    monkeypatch.chdir(tmp_path)

    def code(failed: int, limit: str) -> int:
        run = simulated(["a"], cases(304, 16), by({"a": first(failed)}), judge=False)
        return gate_code(run, f"failed-{failed}", "--max-non-compliance", limit, "--bound", "high")

    assert [code(failed, "10%") for failed in (0, 1, 20, 31)] == [0, 0, 0, 1]
    assert [code(failed, "1.5%") for failed in (0, 1, 2)] == [0, 1, 1]


def test_cases_without_a_rule_have_the_same_intervals() -> None:
    fates = by({"a": first(7)})
    ends = {
        baseline: summed(simulated(["a"], cases(96, 16, baseline=baseline), fates, judge=False))[1]["a"]
        for baseline in (False, True)
    }
    assert ends[True]["ci_high"] == ends[False]["ci_high"]


def test_the_same_answers_pass_the_same_gate_whoever_else_was_in_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``a`` throws coins; ``b`` breaks the same cases in every repeat, so its repeats tell nothing. Where the likeness
    of all repeats was taken for that of each model's, ``a`` had 16–46% beside ``b``, and 23–37% alone."""
    monkeypatch.chdir(tmp_path)
    coins = np.random.default_rng(3).random((40, 8)) < 0.29
    fates = by({"a": lambda case, repeat: "broken" if coins[case, repeat] else "kept", "b": first(12)})
    ends, codes = [], []
    for models in (["a"], ["a", "b"]):
        run = ran(tmp_path, models, cases(40, 4), fates, aims=4, judge=False, repeats=8)
        row = summed(run)[1]["a"]
        ends.append((row["ci_low"], row["ci_high"]))
        limit = ("--max-non-compliance", "fake/a=40%", "--bound", "high")
        codes.append(gate_code(run, "-".join(models), *limit))
    assert ends[0] == ends[1]
    assert codes == [0, 0]
