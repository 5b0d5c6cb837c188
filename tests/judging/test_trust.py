"""Judges that are not known to agree with people: their verdicts are kept and do not count."""

from __future__ import annotations

from typing import Any

import pytest

from promptpex.core.outcomes import outcome_of
from promptpex.core.records import UNTRUSTED, JudgeCalibration, MeasuredShare, Rule, Spec, Verdict
from promptpex.judging.judge import family, self_preference_warnings
from promptpex.judging.verdict_precedence import Trust, weigh
from tests.samples import spec

MARK = "0123456789abcdef"


def calibration(rule: Rule, judge: str = "a", kappa: float | None = 0.7, **changes: Any) -> JudgeCalibration:
    share = MeasuredShare(low=0.0, high=1.0)
    values: dict[str, Any] = {
        "judge": judge,
        "fingerprint": MARK,
        "rule_digest": rule.digest,
        "date": "2026-03-01",
        "outputs": 10,
        "bad": 4,
        "good": 6,
        "sensitivity": share,
        "specificity": share,
        "kappa": MeasuredShare(estimate=None if kappa is None else 1.0, low=-1.0 if kappa is None else kappa, high=1.0),
    }
    return JudgeCalibration(**{**values, **changes})


def calibrated(*calibrations: JudgeCalibration, rule: str = "r2") -> Spec:
    rules = tuple(one.replace(judge=calibrations) if one.id == rule else one for one in spec().rules)
    return spec().replace(rules=rules)


def verdict(status: str, rule: str = "r2", judge: str = "a", unscored: str | None = None, mark: str = MARK) -> Verdict:
    data = {"case": "c1", "model": "m", "rule": rule, "status": status, "source": f"judge:{judge}"}
    return Verdict.model_validate({**data, "unscored": unscored, "fingerprint": mark})


R2 = spec().rules[1]


def test_a_judge_counts_under_a_name_that_it_was_given_since() -> None:
    (one,) = weigh(calibrated(calibration(R2)), [], [[verdict("fail", judge="strict")]], min_agreement=0.7)
    assert (one.status, one.counts) == ("fail", True)


@pytest.mark.parametrize(
    ("calibrations", "why"),
    [
        ((), "nobody has graded"),
        ((calibration(R2, kappa=0.69),), "it agrees too little"),
        ((calibration(R2, kappa=None),), "kappa is not defined"),
        ((calibration(R2, fingerprint="f" * 16),), "another judge"),
        ((calibration(R2, rule_digest="f" * 32),), "other words"),
        ((calibration(R2, judge="b", fingerprint="f" * 16),), "of another model"),
    ],
)
@pytest.mark.parametrize("status", ["pass", "fail", "not_concerned"])
def test_one_that_is_not_known_to_agree_does_not_count(
    calibrations: tuple[JudgeCalibration, ...], why: str, status: str
) -> None:
    weighed = weigh(calibrated(*calibrations), [], [[verdict(status)]], min_agreement=0.7)
    assert [(one.status, one.unscored, one.source, one.counts) for one in weighed] == [
        (status, None, "judge:a", False),
        ("unscored", UNTRUSTED, "none", True),
    ], why
    assert "kappa of 0.7 or more" in weighed[1].reason
    assert outcome_of(weighed).code == UNTRUSTED
    assert weigh(calibrated(*calibrations), [], [[verdict(status)]]) == [verdict(status)]


def test_a_failure_by_code_stays_one_and_what_code_leaves_open_is_unscored() -> None:
    partly = spec().replace(rules=(spec().rules[0].replace(decides="partly"), spec().rules[1]))
    rows = {}
    for status in ("pass", "fail"):
        code = verdict(status, "r1").replace(source="check:word-count")
        outcome = outcome_of(weigh(partly, [code], [[verdict("pass", "r1")]], min_agreement=0.5))
        rows[status] = outcome.status, outcome.code
    assert rows == {"pass": ("unscored", UNTRUSTED), "fail": ("fail", "")}


def test_why_a_judge_gave_no_verdict_stays_and_rules_of_code_are_left_alone() -> None:
    lost = verdict("unscored", unscored="judge-budget")
    beside_code = verdict("pass", "r1")
    weighed = weigh(spec(), [], [[lost, beside_code, verdict("pass").replace(turn=1)]], min_agreement=0.5)
    assert [(one.rule, one.unscored, one.counts) for one in weighed] == [
        ("r2", "judge-budget", True),
        ("r1", None, False),
        ("r2", None, False),
    ]


def test_of_several_judges_those_that_agree_with_people_decide() -> None:
    kappas = {"a": 0.7, "b": 0.2, "c": 0.9}
    marks = {judge: judge * 16 for judge in kappas}
    known = calibrated(*(calibration(R2, judge, kappa, fingerprint=marks[judge]) for judge, kappa in kappas.items()))
    statuses = {"a": "pass", "b": "fail", "c": "pass"}
    votes = [[verdict(status, judge=judge, mark=marks[judge])] for judge, status in statuses.items()]
    *single, joint = weigh(known, [], votes, quorum="unanimous", min_agreement=0.6)
    assert [one.counts for one in single] == [False, False, False]
    assert (joint.status, joint.source, joint.reason) == (
        "pass",
        "judges:unanimous",
        "2 of 2 judges pass it, 0 fail it",
    )
    *_, none = weigh(known, [], votes, min_agreement=0.95)
    assert (none.status, none.unscored, none.source, none.counts) == ("unscored", UNTRUSTED, "none", True)
    *_, alone = weigh(known, [], votes, min_agreement=0.8)
    assert (alone.status, alone.reason) == ("pass", "1 of 1 judges pass it, 0 fail it")


def test_by_whose_labels_a_judge_may_decide_is_known() -> None:
    rule = Rule(id="r2", rule="Short.")
    usual, other = calibration(rule), calibration(rule, graders="ada")
    for one, ids in ((usual, {}), (other, {"--graders ada": ["r2"]})):
        own = rule.replace(judge=(one,))
        trust = Trust(Spec(prompt="p.md", rules=(own,)), 0.6)
        assert trust.by_other_labels([own], one.judge, one.fingerprint) == ids
        assert trust.by_other_labels([own], one.judge, "f" * 16) == {}, "a stale one is not accepted"


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("gpt-4o-mini?temperature=0", "OpenAI"),
        ("azure/gpt-4.1", "OpenAI"),
        ("o3-mini", "OpenAI"),
        ("llama3.2:1b", "Meta"),
        ("openrouter/meta-llama/llama-3.1-8b", "Meta"),
        ("ollama/gemma2:9b", "Google"),
        ("gemini/gemini-2.5-flash", "Google"),
        ("qwen2.5:3b", "Qwen"),
        ("embedded/smollm2-135m", "SmolLM"),
        ("groq/mixtral-8x7b-32768", "Mistral"),
        ("openai/gpt-5-mini", "OpenAI"),
        ("openai/any", "any"),
        ("openai/qwen2.5-7b", "Qwen"),
        ("my-model:7b", "my-model"),
    ],
)
def test_the_name_of_a_model_tells_its_vendor(name: str, vendor: str) -> None:
    assert family(name) == vendor


def test_a_judge_from_the_vendor_of_a_model_or_author_is_warned_about() -> None:
    (warning,) = self_preference_warnings(["gpt-4o"], ["gpt-4o-mini", "llama3.2:1b"])
    assert "gpt-4o-mini" in warning
    assert "llama" not in warning
    assert self_preference_warnings(["gpt-4o"], ["llama3.2:1b"]) == []
    assert len(self_preference_warnings(["gpt-4o"], ["gpt-4o-mini"], author="o3")) == 2
