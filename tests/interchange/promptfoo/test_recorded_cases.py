"""Every recorded case of promptfoo, as a test of a configuration: read, and its rules decide as the assertions do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptpex.assertions import check
from promptpex.core.errors import CheckError, InputError
from promptpex.interchange.notes import Log
from promptpex.interchange.promptfoo.files import ConfigFiles
from promptpex.interchange.promptfoo.read import read_config
from promptpex.interchange.reading.foreign_files import At

CASES = Path(__file__).resolve().parents[4] / "shared" / "assertions" / "cases.jsonl"
needs_cases = pytest.mark.skipif(not CASES.is_file(), reason="the recorded cases are not beside the repository")


def _test(case: dict[str, Any]) -> dict[str, Any]:
    asserts = case["assertion"] if isinstance(case["assertion"], list) else [case["assertion"]]
    test = {"vars": case["vars"], "assert": asserts, "options": {"disableVarExpansion": True}}
    return test if case["test_threshold"] is None else {**test, "threshold": case["test_threshold"]}


def _imported(case: dict[str, Any]) -> list[str] | None:
    """The statuses of the rules on the case's output; None where something was left out, or is for a judge."""
    log = Log()
    config = {"prompts": ["x"], "tests": [_test(case)]}
    made = read_config(ConfigFiles(Path(), log), config, At(Path("config.yaml"))).imported
    if log.notes or made.spec is None or made.suite is None or not all(rule.checks for rule in made.spec.rules):
        return None
    measured = {key: case[key] for key in ("cost", "latency_ms", "logprobs", "finish_reason")}
    (of_case,) = made.suite.cases
    statuses: list[str] = []
    for rule in made.spec.rules:
        assert not rule.when
        report = check(case["output"], rule.checks, vars=of_case.inputs, expected=of_case.expected, **measured)
        statuses.append(report.status)
    return statuses


@needs_cases
@pytest.mark.slow
def test_every_recorded_case_is_read_and_its_rules_decide_as_its_assertions() -> None:
    compared, refused, different = 0, 0, []
    for line in CASES.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if case["tier"] != "combined" and not case["id"].endswith(("1", "2.not")):  # a third says the same
            continue
        try:
            statuses = _imported(case)
        except (InputError, CheckError):
            refused += 1
            assert case["expected"]["error"], case["id"]
            continue
        if statuses is None or case["expected"].get("error_stage") == "config":
            continue
        compared += 1
        measured = {key: case[key] for key in ("cost", "latency_ms", "logprobs", "finish_reason")}
        test = _test(case)
        whole = check(
            case["output"], test["assert"], vars=case["vars"], threshold=test.get("threshold"),
            expected=case["vars"].get("expected"), **measured,
        )  # fmt: skip
        ours = "fail" if "fail" in statuses else "unscored" if "unscored" in statuses else "pass"
        if ours != whole.status:
            different.append((case["id"], ours, whole.status))
    assert not different, different
    assert compared > 500
    assert refused < 50
