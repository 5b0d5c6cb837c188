"""Agreement with promptfoo 0.123.1 on its recorded verdicts; where we differ stands here as data, with the reason."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from promptpex.assertions import KIND_NAMES, CheckReport, check

CASES = Path(__file__).resolve().parents[3] / "shared" / "assertions" / "cases.jsonl"
needs_cases = pytest.mark.skipif(not CASES.is_file(), reason="the recorded cases are not beside the repository")

Case = dict[str, Any]

OPTIONAL = ("is-refusal", "is-html", "contains-html", "is-sql", "contains-sql", "rouge-n")
"""Kinds that hang on other packages' word lists, parsers and tokenisers."""

HOST_OBJECTS = re.compile(r"\b(?:process|fetch|Buffer|callApi)\b")


def base(case: Case) -> str:
    return str(case["type"]).removeprefix("not-")


def script(case: Case) -> str:
    assertion = case["assertion"]
    return str(assertion.get("value")) if base(case) == "javascript" else ""


MEANT: dict[str, Callable[[Case], bool]] = {
    "a quirk, decided in docs/assertions.md": lambda case: any(tag.startswith("quirk") for tag in case["tags"]),
    "a script that asks for Node's own objects": lambda case: HOST_OBJECTS.search(script(case)) is not None,
    "a kind that we have": lambda case: "unknown-type" in case["tags"] and base(case) in KIND_NAMES,
    "a $ref inside a schema is resolved": lambda case: "config" in case["tags"] and "$ref" in str(case["assertion"]),
}


@cache
def cases() -> list[Case]:
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def asserts(case: Case) -> list[Any]:
    return case["assertion"] if isinstance(case["assertion"], list) else [case["assertion"]]


def judged(case: Case) -> CheckReport:
    limit = case["test_threshold"]
    return check(
        case["output"],
        asserts(case),
        vars=case["vars"],
        cost=case["cost"],
        latency_ms=case["latency_ms"],
        logprobs=case["logprobs"],
        finish_reason=case["finish_reason"],
        threshold=None if isinstance(limit, str) else limit,
        prompt="p",  # what the recording ran with
    )


def agrees(case: Case, report: CheckReport) -> bool:
    """As the issue defines it: a script that throws or a pattern that is none is unscored here and a fail there; a
    neighbour's fail is not hidden by an error."""
    expected = case["expected"]
    if expected["error"]:
        return report.status == "unscored" or (report.status == "fail" and len(report.results) > 1)
    if report.status == "unscored":
        return not expected["pass"] and report.unscored in ("script-error", "bad-pattern")
    return report.status == ("pass" if expected["pass"] else "fail")


def scores_agree(case: Case, report: CheckReport) -> bool:
    expected = case["expected"]["score"]
    if expected is None or report.status == "unscored":
        return True
    return report.score is not None and report.score == pytest.approx(expected, abs=1e-9)


def why_not(case: Case) -> str | None:
    return next((reason for reason, meant in MEANT.items() if meant(case)), None)


@needs_cases
def test_agrees_on_every_case_but_those_meant() -> None:
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    for case in cases():
        reason = why_not(case)
        report = judged(case)
        if agrees(case, report) and scores_agree(case, report):
            tally["agrees"] += 1
        elif reason is not None:
            tally[reason] += 1
        elif base(case) in OPTIONAL:
            tally[f"{base(case)}, agreement optional"] += 1
        else:
            wrong.append(f"{case['id']}: {report.status} {report.score} ({report.reason}), not {case['expected']}")
    print("\n".join(f"{count:5} {what}" for what, count in tally.most_common()))
    assert wrong == []
    assert tally["agrees"] >= 4000


@needs_cases
def test_each_reason_to_differ_is_needed() -> None:
    """A reason that no case needs any more has to go."""
    needed = {why_not(case) for case in cases() if why_not(case) and not agrees(case, judged(case))}
    assert needed == set(MEANT)


@needs_cases
def test_optional_kinds_agree_nearly_everywhere() -> None:
    optional = [case for case in cases() if base(case) in OPTIONAL]
    share = sum(agrees(case, judged(case)) for case in optional) / len(optional)
    assert share > 0.98
