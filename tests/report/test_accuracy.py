"""What reports and gates say of accuracy: beside non-compliance, and never left out where it is known."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from promptpex.cli.run_ending import silent_scorers
from promptpex.core.errors import InputError
from promptpex.core.records import Run
from promptpex.report.gate import Decide, Decided, Limits, decided, stated
from promptpex.report.html_page import html
from promptpex.report.run_comparison import compare_runs, to_dict
from promptpex.report.summary import summarise
from promptpex.report.summary import to_dict as summary_dict
from promptpex.report.terminal import show_comparison
from promptpex.tables import records
from tests.report.printed import printed
from tests.tables.test_accuracy import Right, answered


def answer(run: Run, **how: object) -> str:
    text = summarise(run, **how).answer  # type: ignore[arg-type]
    assert text is not None
    return text


def gated(limits: Limits, right: Right) -> Decided:
    return decided(records(summarise(answered(20, a=right)).models), limits)["a"]


def test_the_answer_names_both_figures_of_a_model() -> None:
    text = answer(answered(30, 20, a=lambda n: n < 3))
    assert text.startswith(
        "a broke at least one rule in 0 of 30 scored outputs (0%, 95% CI 0–12%), "
        "and was right in 3 of 20 outputs (15%, 95% CI 3.2–38%)."
    )


def test_no_model_is_called_best_or_good_enough_without_its_accuracy() -> None:
    right = {"a": lambda n: n < 3, "b": lambda n: n < 20, "c": lambda n: n < 5}
    made = answered(60, **right)
    failing = tuple(one.replace(status="fail") if one.model == "c" else one for one in made.verdicts)
    text = answer(made.replace(verdicts=failing), tolerance=0.2)
    for shown in ("accuracy 5%", "accuracy 33%", "accuracy 8.3%"):
        assert shown in text
    assert "worse than the best at keeping the rules" in text
    by_accuracy = answer(made, rank_by="accuracy")
    assert "b is clearly the most accurate: it was right in 20 of 60 outputs" in by_accuracy
    assert "a is clearly less accurate than b: accuracy 5%" in by_accuracy
    assert "good enough" not in by_accuracy


def test_where_nothing_was_scored_by_the_rules_the_accuracy_is_still_shown() -> None:
    made = answered(20, a=lambda n: n < 19)
    text = answer(made.replace(verdicts=()))
    assert "no model can be assessed" in text
    assert "a was right in 19 of 20 outputs" in text


def test_few_compared_outputs_of_several_models_are_one_sentence() -> None:
    text = answer(answered(10, a=lambda n: n < 9, b=lambda n: n < 8))
    assert "The accuracy of a (10) and b (10) rests on fewer than 20 outputs each." in text


def test_caveats_name_few_outputs_and_what_is_left_open() -> None:
    text = answer(answered(10, a=lambda n: None if n < 2 else True))
    assert "was right in at least 8 of 10 outputs (at least 80%" in text
    assert "a's accuracy rests on only 8 outputs." in text
    assert "The outputs that could not be compared leave a's accuracy between 80% and 100%." in text


def test_generated_expected_outputs_are_distinguished_from_those_of_people() -> None:
    made = answered(20, a=lambda n: True)
    from_model = [case.replace(expected_from="gpt-4o (0.90)") for case in made.suite.cases]
    whole = made.replace(suite=made.suite.replace(cases=tuple(from_model)))
    assert "Accuracy is against answers of gpt-4o, not against people's." in answer(whole)
    part = made.replace(suite=made.suite.replace(cases=(*from_model[:7], *made.suite.cases[7:])))
    assert "Of the 20 expected outputs that accuracy is measured by, models gave some: 7 of gpt-4o." in answer(part)
    assert "gpt-4o" not in answer(made)
    assert summary_dict(summarise(part))["expected_from"] == {"gpt-4o": 7, "": 13}


def test_terminal_and_page_show_accuracy_and_each_comparison() -> None:
    made = answered(30, 20, a=lambda n: n < 3, b=lambda n: True)
    summary = summarise(made)
    for shown in (printed(summary), html(summary)):
        assert "3 of 20" in shown
        assert "15% (3.2–38%)" in shown
        assert "of 20 cases with an expected output" in " ".join(shown.split())
    page = html(summary)
    assert page.count('<span class="mark fail">wrong</span>') == 17
    assert page.count('<span class="mark pass">right</span>') == 23
    narrow = printed(summary, width=80)
    assert max(map(len, narrow.splitlines())) <= 80
    assert "15% (3.2–38%)" in narrow


def test_a_run_without_expected_outputs_says_nothing_of_accuracy() -> None:
    summary = summarise(answered(30, 0, a=lambda n: True))
    assert "accuracy" not in printed(summary) + (summary.answer or "")
    assert 'data-label="accuracy"' not in html(summary)


def test_a_stored_run_that_never_compared_says_how_it_is_done() -> None:
    old = answered(30, 20, a=lambda n: True).replace(scores=())
    assert "20 cases with an expected output, which this run did not compare: `promptpex judge` does." in printed(
        summarise(old), width=200
    )
    with pytest.raises(InputError, match="no output was compared"):
        summarise(old, rank_by="accuracy")


@pytest.mark.parametrize(
    ("limit", "decide", "outcome"),
    [
        (0.5, "point", "pass"),
        (0.79, "point", "cannot tell"),
        (0.81, "point", "fail"),
        (0.9, "low", "cannot tell"),
        (0.95, "low", "fail"),
        (0.5, "high", "pass"),
        (0.6, "high", "fail"),
    ],
)
def test_the_gate_holds_accuracy_against_a_limit(limit: float, decide: Decide, outcome: str) -> None:
    made = gated(Limits(min_accuracy=limit, decide=decide), lambda n: n < 16)
    assert ("fail" if made.exceeded else "cannot tell" if made.untold else "pass") == outcome


def test_the_gate_passes_only_what_would_pass_if_all_that_is_open_were_wrong() -> None:
    assert gated(Limits(min_accuracy=0.5), lambda n: n < 16 or None) == Decided()
    assert gated(Limits(min_accuracy=0.81), lambda n: n < 16 or None).exceeded == ("accuracy is 80%, below 81%",)
    made = answered(20, a=lambda n: n < 16 or None)
    cut = tuple(one.replace(text=None, error="truncated") if int(one.case[1:]) > 15 else one for one in made.outputs)
    (why,) = decided(records(summarise(made.replace(outputs=cut)).models), Limits(min_accuracy=0.81))["a"].untold
    assert why == "4 of 20 outputs with an expected one are unscored; had they been wrong, accuracy is 80%, below 81%"


def test_the_gate_knows_limits_of_single_models_and_runs_without_accuracy() -> None:
    assert gated(Limits(accuracy_of_model={"a": 0.5}), lambda n: n < 9).exceeded == ("accuracy is 45%, below 50%",)
    with pytest.raises(InputError, match="z is not a model"):
        gated(Limits(accuracy_of_model={"z": 0.5}), lambda n: True)
    none = records(summarise(answered(20, 0, a=lambda n: True)).models)
    assert decided(none, Limits(min_accuracy=0.1))["a"].exceeded == ("no output was compared with an expected one",)
    assert "accuracy is 80% (CI 56–94%), 20 outputs" in stated(
        records(summarise(answered(20, a=lambda n: n < 16)).models)[0]
    )


def test_a_regression_in_accuracy_is_one_where_it_is_asked_for() -> None:
    before, after = answered(40, a=lambda n: n < 35), answered(40, a=lambda n: n < 10)
    both = compare_runs(before, after)
    assert both.regressions == ()
    assert "Its accuracy is clearly lower: 88% before, 25% after (40 cases with an expected output)." in both.answer
    assert compare_runs(before, after, rank_by="accuracy").regressions == ("a",)
    assert compare_runs(after, before, rank_by="accuracy").regressions == ()
    assert json.loads(json.dumps(to_dict(both)))["models"][0]["accuracy_decision"] == "worse"
    with pytest.raises(InputError, match="both runs need it"):
        compare_runs(before, answered(40, 0, a=lambda n: True), rank_by="accuracy")


def test_a_model_without_a_difference_in_accuracy_has_no_p() -> None:
    before = answered(20, a=lambda n: True, b=lambda n: True)
    lost = [one.replace(text=None, error="truncated") if one.model == "b" else one for one in before.outputs]
    gone = [
        one.replace(value=None, unscored="truncated", source="none") if one.model == "b" else one
        for one in before.scores
    ]
    both = compare_runs(before, before.replace(outputs=tuple(lost), scores=tuple(gone)))
    assert both.models["accuracy_p"].isna().tolist() == [False, True]
    file = io.StringIO()
    show_comparison(both, Console(file=file, width=140))
    table = file.getvalue().partition("Right outputs")[2].partition("Cases that changed")[0]
    rows = {line.split()[0]: line.split() for line in table.splitlines() if line[:3] in (" a ", " b ")}
    assert rows["a"][-1] == "1"
    assert "b" not in rows


def test_another_way_of_comparing_is_reported() -> None:
    before = answered(40, a=lambda n: True)
    judged = before.replace(scores=tuple(one.replace(source="judge:j") for one in before.scores))
    note = "Expected outputs were compared by match:normalised before, by judge:j after."
    assert note in compare_runs(before, judged).notes
    assert not [one for one in compare_runs(before, before).notes if "were compared by" in one]


def test_beside_a_named_model_the_words_say_what_is_compared() -> None:
    made = answered(60, a=lambda n: n < 50, b=lambda n: n < 20)
    text = answer(made, against="b", rank_by="accuracy")
    assert "clearly more accurate: a (accuracy 83%" in text
    assert "Compared with b (accuracy 33%" in text


def test_cases_whose_expected_output_has_changed_are_not_compared_in_accuracy() -> None:
    before, after = answered(40, a=lambda n: True), answered(40, a=lambda n: False)
    cases = [case.replace(expected="y") if n < 30 else case for n, case in enumerate(after.suite.cases)]
    changed = after.replace(suite=after.suite.replace(cases=tuple(cases)))
    assert compare_runs(before, changed).models["accuracy_cases"].tolist() == [10]


def test_a_judge_that_gave_not_one_comparison_is_named() -> None:
    made = answered(3, a=lambda n: True)

    def silent(*codes: str | None) -> list[str]:
        scores = [
            one.replace(value=None if code else 1.0, unscored=code, source="judge:j", reason="no JSON")
            for one, code in zip(made.scores, codes, strict=True)
        ]
        return list(silent_scorers(summarise(made.replace(scores=tuple(scores)))))

    assert silent("judge-malformed", "judge-malformed", "judge-budget") == [
        "the judge j gave no score of expected (2 outputs: 2 judge-malformed): no JSON"
    ]
    assert silent("judge-malformed", "judge-unclear", "judge-malformed") == []
    assert silent("judge-malformed", None, None) == []
    assert silent("judge-budget", "judge-budget", "judge-budget") == []


def test_a_script_that_scored_no_output_is_named() -> None:
    made = answered(2, a=lambda n: True)

    def silent(*values: float | None) -> list[str]:
        scores = [
            one.replace(
                name="short",
                value=value,
                unscored="script-error" if value is None else None,
                source="javascript",
                reason="the script threw x",
            )
            for one, value in zip(made.scores, values, strict=True)
        ]
        return list(silent_scorers(summarise(made.replace(scores=tuple(scores)))))

    assert silent(None, None) == [
        "the script of the metric short scored no output (2 outputs: 2 script-error): the script threw x"
    ]
    assert silent(0.0, None) == []
