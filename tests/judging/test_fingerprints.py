"""What the fingerprints of judges are made of: verdicts and scores of earlier runs carry them, so they stay."""

from __future__ import annotations

from dataclasses import asdict

from promptpex.core.ids import digest
from promptpex.core.records import Metric, ModelName, Params
from promptpex.core.stage_templates import fingerprint
from promptpex.judging.judge import Judge, Judging
from promptpex.judging.metric_judge import MetricJudge
from promptpex.judging.questions import QuestionJudge
from promptpex.judging.same_as_expected import MatchJudge
from promptpex.llm.fake import FakeClient
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.structured import Structured
from tests.samples import prompt, spec

ANSWERER = RoleModel(
    Structured(FakeClient(lambda request: "")),
    ModelName(
        name="openai/judge",
        label="judge?top_p=0.5",
        api_base="http://127.0.0.1:9/v1",
        backend="weights",
        params=Params(top_p=0.5),
    ),
    Params(temperature=0.0, max_tokens=9),
)
WHO = ["judge?top_p=0.5", "http://127.0.0.1:9/v1", "weights", {"top_p": 0.5}]
DEFAULTS = {"temperature": 0.0, "max_tokens": 9}


def test_a_judge_of_rules() -> None:
    options = Judging()
    rules = [rule.to_dict() for rule in spec().rules if rule.id in {each.id for each in options.rules(spec())}]
    parts = [fingerprint("judging/rules"), [*WHO, DEFAULTS], asdict(options), spec().intent, rules]
    assert rules
    assert Judge(ANSWERER, prompt(), spec(), options).fingerprint() == digest(parts, 16)


def test_a_judge_of_expected_outputs() -> None:
    parts = [fingerprint("judging/match"), WHO, DEFAULTS, "Name a colour.", "Shades count as one."]
    assert MatchJudge(ANSWERER, "Name a colour.", "Shades count as one.").fingerprint() == digest(parts, 16)


def test_a_judge_of_questions() -> None:
    parts = [fingerprint("judging/question"), WHO, [DEFAULTS, "Shades count as one."]]
    assert QuestionJudge(ANSWERER, "Shades count as one.").fingerprint() == digest(parts, 16)


def test_a_judge_of_a_metric() -> None:
    metric = Metric(name="tone", criteria=prompt())
    parts = [fingerprint("judging/metric"), WHO, [DEFAULTS, "Be strict."], metric.fingerprint()]
    assert MetricJudge(ANSWERER, metric, "Be strict.").fingerprint() == digest(parts, 16)
