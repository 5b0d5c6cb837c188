"""What `align` measures of judges stands in the spec: it is kept, it changes no promise, and bad values are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptpex.core.errors import SpecError
from promptpex.core.ids import digest
from promptpex.core.records import JudgeCalibration, MeasuredShare, Rule, Spec
from promptpex.judging.judge import Judge, Judging
from promptpex.specs.file import read_spec, write_spec
from promptpex.workflow.validation.validate import validate
from tests.samples import output, prompt, role_model
from tests.samples import spec as sample_spec

SPEC = """\
# hands off
prompt: prompt.md
rules:
  - id: r1
    rule: "One tag."   # of mine
  - id: r2
    rule: Two words.
    origin: extracted
    content: HASH
"""


def calibration(judge: str = "gpt-4o", words: str = "One tag.") -> JudgeCalibration:
    return JudgeCalibration(
        judge=judge,
        fingerprint="0123456789012345",
        rule_digest=Rule(id="x", rule=words).digest,
        date="2026-03-01",
        outputs=40,
        bad=10,
        good=30,
        sensitivity=MeasuredShare(estimate=0.9, low=0.6, high=0.99),
        specificity=MeasuredShare(estimate=1.0, low=0.9, high=1.0),
        kappa=MeasuredShare(estimate=0.9, low=0.7, high=1.0),
    )


def calibrated(spec: Spec) -> Spec:
    return spec.replace(rules=tuple(rule.replace(judge=(calibration(words=rule.rule),)) for rule in spec.rules))


def test_a_calibration_is_added_to_peoples_rules_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "prompt.spec.yaml"
    path.write_text(SPEC, encoding="utf-8")
    bare = read_spec(path)
    write_spec(path, calibrated(bare))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# hands off\n")
    assert '"One tag."   # of mine' in text
    assert read_spec(path).rules[0].judge == (calibration(),)
    write_spec(path, bare)
    write_spec(path, bare, by_hand=True)
    assert path.read_text(encoding="utf-8") == text


def test_a_calibration_changes_no_promise_and_no_request() -> None:
    bare, measured = sample_spec(), calibrated(sample_spec())
    assert measured != bare
    assert measured.digest == bare.digest == digest(bare.to_dict())
    assert [rule.content_hash() for rule in measured.rules] == [rule.content_hash() for rule in bare.rules]
    judges = [_judge(each) for each in (bare, measured)]
    assert judges[0].fingerprint() == judges[1].fingerprint()
    ids = [[judge.request(output(), question).id for question in judge.questions({})] for judge in judges]
    assert ids[0]
    assert ids[0] == ids[1]


def _judge(spec: Spec) -> Judge:
    return Judge(role_model(lambda request: "")[0], prompt(), spec, Judging(all_rules=True))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("estimate: 0.9", "estimate: .nan", "sensitivity.estimate"),
        ("high: 0.99", "high: 1.5", "sensitivity.high"),
        ("low: 0.6", "low: -0.2", "a share, from 0 to 1"),
        ("low: 0.6", "low: 0.95", "not in this order"),
        ("bad: 10", "bad: 11", "bad and good are 11 . 30, but outputs are 40"),
        ("bad: 10", "bad: -1", "bad"),
        ("2026-03-01", "soon", "is not a day"),
        ("'0123456789012345'", "x", "not a digest"),
    ],
)
def test_values_that_no_measurement_gives_are_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = tmp_path / "prompt.spec.yaml"
    write_spec(path, calibrated(Spec(prompt="prompt.md", rules=sample_spec().rules[:1])))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError, match=reason) as caught:
        read_spec(path)
    assert caught.value.line


def test_validate_names_a_calibration_of_other_words(tmp_path: Path) -> None:
    path = tmp_path / "prompt.spec.yaml"
    (tmp_path / "prompt.md").write_text("One tag. {{word}}", encoding="utf-8")
    path.write_text(SPEC, encoding="utf-8")
    write_spec(path, calibrated(read_spec(path)))
    path.write_text(path.read_text(encoding="utf-8").replace('"One tag."', "One short tag."), encoding="utf-8")
    old = [problem for problem in validate([path]) if "calibration" in problem.message]
    assert [(problem.line, problem.severity) for problem in old] == [(4, "info")]
    assert "gpt-4o on the rule 'r1' was measured on other words" in old[0].message
