"""Where verdicts are missing or a judge was not asked, no figure is a share of failures alone, and none is unmarked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import promptpex
from promptpex.core.errors import DeadlinePassed
from promptpex.core.records import Completion, Request
from promptpex.report.html_page import html
from promptpex.report.run_comparison import compare_runs
from promptpex.report.terminal import notes
from promptpex.tables import records
from tests.numbers.partly import partly
from tests.numbers.world import Fate, World, by, cases, first, material, simulated, summed
from tests.report.printed import printed
from tests.samples import asked


def test_a_comparison_shows_no_share_of_failures_alone() -> None:
    """6 of 60 are known to break a rule in either run; the judge of the second gave nothing."""
    made = cases(60, 4)
    before, after = (
        simulated(["a"], made, by({"a": first(6)})),
        simulated(["a"], made, by({"a": first(6, else_="open")})),
    )
    comparison = compare_runs(before, after)
    row = comparison.models.iloc[0]
    assert row["non_compliance_before"] == pytest.approx(0.1)
    assert row["non_compliance_after"] == pytest.approx(0.1)
    assert "100%" not in comparison.answer
    assert "at least" in comparison.answer


def test_a_comparison_of_two_runs_without_a_judge_shows_none_either() -> None:
    made = cases(60, 4)
    comparison = compare_runs(*(simulated(["a"], made, by({"a": first(count, else_="open")})) for count in (6, 12)))
    row = comparison.models.iloc[0]
    assert (row["non_compliance_before"], row["non_compliance_after"]) == (pytest.approx(0.1), pytest.approx(0.2))
    assert "100%" not in comparison.answer


def test_passing_in_all_repeats_rests_on_what_was_judged() -> None:
    """Of 40 cases 10 are kept; the judge was not asked about the others, of which a check broke 15."""
    fates = by({"a": lambda case, repeat: "kept" if case < 10 else "unjudged broken" if case < 25 else "unjudged"})
    _, rows = summed(simulated(["a"], cases(40, 4), fates, repeats=2))
    assert rows["a"]["non_compliance"] == 0.0
    assert (rows["a"]["pass_at_k"], rows["a"]["pass_hat_k"], rows["a"]["flip_rate"]) == (1.0, 1.0, 0.0)


def test_passing_in_any_repeat_is_not_denied_for_want_of_verdicts() -> None:
    """One case in five breaks a check, and the judge talks nonsense of the rest: perhaps 80% pass."""
    fates = by({"a": lambda case, repeat: "broken" if case % 5 == 0 else "open"})
    summary, rows = summed(simulated(["a"], cases(60, 4), fates, repeats=2))
    assert rows["a"]["non_compliance"] == pytest.approx(0.2)
    for column in ("pass_at_k", "pass_hat_k"):
        assert rows["a"][column] is None or rows["a"][column] >= 0.8
    assert "0% (0–" not in printed(summary).partition("Repeats of the same case")[2].partition("flip rate:")[0]


def test_what_one_of_two_judges_was_not_asked_is_not_asked(tmp_path: Path) -> None:
    """Both judges have to pass it. The second was not asked about half of the outputs: no failure of anybody's."""
    prompt, spec, suite = material(cases(40, 4), 4, judge=True)
    world = World(suite, by({"a": first(0)}))

    def voices(request: Request) -> str | Completion | Exception:
        if request.model == "fake/judge-b" and int(re.findall(r"\bc(\d+)\b", asked(request))[-1]) % 2:
            return DeadlinePassed("the time of the run is over")
        return world(request)

    client, store = promptpex.FakeClient(voices), str(tmp_path / "s.db")
    judges = ["fake/judge-a", "fake/judge-b"]
    run = promptpex.run(
        prompt, spec, suite, models=["fake/a"], judge=judges, client=client, store=store, quorum="unanimous"
    )
    _, rows = summed(run)
    row = rows["a"]
    assert (row["scored"], row["not_asked"], row["at_least"], row["worst_case"]) == (20, 20, False, 0.0)


def test_cases_that_every_model_fails_are_not_counted_where_the_judge_was_not_asked() -> None:
    fates = by({name: first(10, else_="unjudged", fate="unjudged broken") for name in "ab"})
    summary, rows = summed(simulated(["a", "b"], cases(60, 4), fates))
    assert {row["scored"] for row in rows.values()} == {0}
    assert summary.details.discrimination.failed_by_all == ()


def test_cases_that_changed_are_those_that_the_comparison_counts() -> None:
    made = cases(60, 4)
    before = simulated(["a"], made, by({"a": first(0)}))
    fates = by({"a": lambda case, repeat: "kept" if case == 59 else "unjudged broken" if case < 10 else "unjudged"})
    comparison = compare_runs(before, simulated(["a"], made, fates))
    assert comparison.models["cases"].item() == 1
    assert len(comparison.changed) == 0


@pytest.mark.parametrize("lost", ["open", "unjudged"])
def test_the_page_counts_as_the_table_does(lost: Fate) -> None:
    broken: Fate = "unjudged broken" if lost == "unjudged" else "broken"
    fates = by({"a": lambda case, repeat: "kept" if case < 20 else broken if case < 32 else lost})
    summary, rows = summed(simulated(["a"], cases(60, 4), fates))
    head = " ".join(re.sub("<[^>]*>", "", html(summary).partition("</header>")[0]).split())
    row = rows["a"]
    assert f"{row['scored']} scored, of which {row['non_compliant']} break a rule; {row['unscored']} unscored." in head


def test_the_page_marks_a_lower_bound() -> None:
    summary, _ = summed(simulated(["a", "b"], cases(60, 4), by({"a": first(12, else_="open"), "b": first(12)})))
    cells = re.findall(r'data-label="share"><span class="whole">([^<]*)<', html(summary))
    assert len(cells) == 2
    assert "≥" in cells[0] or "at least" in cells[0]
    assert "≥" not in cells[1]
    assert "at least" not in cells[1]


def test_the_page_does_not_say_that_unscored_outputs_are_in_no_share_where_they_are() -> None:
    summary, _ = summed(simulated(["a"], cases(60, 4), by({"a": first(12, else_="open")})))
    head = " ".join(re.sub("<[^>]*>", "", html(summary).partition("</header>")[0]).split())
    assert "in no share" not in head
    assert "the share counts the known failures among all usable outputs" in head
    whole, _ = summed(simulated(["a"], cases(60, 4), by({"a": first(12, else_="cut")})))
    assert "Unscored outputs are in no share." in html(whole)


def test_the_table_of_rules_marks_a_lower_bound() -> None:
    """The judge's rule is open in half of the outputs, the others are decided by checks."""
    summary, _ = summed(simulated(["a"], cases(60, 4), by({"a": first(30, fate="open")})))
    cells = dict(re.findall(r'aria-label="(r1|taste), fake/a: fails in[^"]*">([^<]*)<', html(summary)))
    assert cells == {"r1": "0%", "taste": "0 known"}


def test_a_rule_decided_in_part_is_not_shown_as_broken_by_all(tmp_path: Path) -> None:
    """30 of 60 outputs are known to break it; nobody could judge the other 30."""
    summary, _ = summed(partly(tmp_path, broken=30, judge="none"))
    (of_rule,) = (row for row in records(summary.rules) if (row["rule"], row["model"]) == ("r1", "fake/b"))
    assert (of_rule["share"], of_rule["at_least"]) == (0.5, True)
    worst = html(summary).partition("Most frequent failures")[2]
    assert "broken in 30 of 30 (100%)" not in " ".join(worst.split())
    assert not re.search(r"broken in 30 of 30\b", printed(summary))
    by_rule = printed(summary).partition("Failures by rule")[2].partition("at once")[0]
    assert "30 of 30" not in by_rule


def test_the_reasons_add_up_to_the_unscored() -> None:
    """The judge was not asked about outputs that a check had broken already: these are unscored too."""
    fates = by({"a": lambda case, repeat: "unjudged broken" if case < 10 else "unjudged" if case < 25 else "kept"})
    summary, rows = summed(simulated(["a"], cases(60, 4), fates))
    assert rows["a"]["unscored"] == 25
    (line,) = (line for line in notes(summary) if line.startswith("Unscored, fake/a:"))
    assert sum(map(int, re.findall(r"\d+", line))) == 25
    assert sum(summary.gaps.unscored["fake/a"].values()) == 25


def test_a_rival_of_which_most_is_unscored_is_given_as_the_reason() -> None:
    """b, of which 61 of 66 are unscored, would be decided if they were scored; more cases alone would not help."""
    fates = by({"a": first(0), "b": first(61, fate="cut")})
    summary, rows = summed(simulated(["a", "b"], cases(66, 4), fates))
    assert rows["b"]["decision"] == "undecided"
    assert rows["b"]["undecided_because"] == "61 of 66 outputs of fake/b are unscored"
    assert "more cases" not in (summary.answer or "")


def test_all_wait_for_a_rival_of_which_most_is_unscored() -> None:
    fates = by({"a": first(20), "b": first(20), "c": first(299, fate="cut")})
    _, rows = summed(simulated(["a", "b", "c"], cases(300, 16), fates))
    assert [row["decision"] for row in rows.values()] == ["undecided"] * 3
    assert all("299 of 300 outputs of fake/c" in (row["undecided_because"] or "") for row in rows.values())
