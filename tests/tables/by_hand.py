"""Runs made by hand: a few models, rules and cases with chosen outputs and verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from promptpex.core.records import Case, Manifest, Output, Rule, Run, Score, Suite, Verdict
from tests.samples import prompt, spec, suite


def output(case: str = "c1", model: str = "m", text: str | None = "RED", **more: Any) -> Output:
    return Output(case=case, model=model, text=text, **more)


def verdict(status: str = "pass", rule: str = "r1", case: str = "c1", model: str = "m", **more: Any) -> Verdict:
    data = {"case": case, "model": model, "rule": rule, "status": status, "source": "check:x", **more}
    return Verdict.model_validate(data)


def score(value: float | None = 1.0, case: str = "c1", model: str = "m", **more: Any) -> Score:
    data = {"case": case, "model": model, "name": "expected", "value": value, "source": "match:normalised", **more}
    return Score.model_validate(data)


def run(
    outputs: Iterable[Output] = (),
    verdicts: Iterable[Verdict] = (),
    *,
    scores: Iterable[Score] = (),
    models: tuple[str, ...] = ("m",),
    rules: tuple[Rule, ...] | None = None,
    cases: tuple[Case, ...] | None = None,
    name: str = "colours",
    **manifest: Any,
) -> Run:
    known: dict[str, Any] = {
        "run": "run-1",
        "prompt": name,
        "prompt_fingerprint": "f1",
        "spec_digest": "d1",
        "suite_digest": "d2",
        "models": models,
        "created": "2026-01-02T03:04:05Z",
    }
    return Run(
        manifest=Manifest.model_validate({**known, **manifest}),
        prompt=prompt().replace(name=name),
        spec=spec() if rules is None else spec().replace(rules=rules),
        suite=suite() if cases is None else Suite(prompt="prompt.md", cases=cases),
        outputs=tuple(outputs),
        verdicts=tuple(verdicts),
        scores=tuple(scores),
    )


def colours() -> Run:
    """Two models, four cases, two rules: ``a`` breaks r1 once, ``b`` r2 always but in one cut output."""
    outputs = [output(f"c{n}", model, latency_ms=100.0 * n, cost_usd=0.01) for model in "ab" for n in (1, 2, 3)]
    cut = output("c4", "b", text=None, error="truncated", message="cut at 5 tokens", latency_ms=50.0)
    judged = [verdict("fail" if n == 1 else "pass", "r1", f"c{n}", "a", reason="two words") for n in (1, 2, 3)]
    judged += [verdict("fail", "r2", f"c{n}", "b", reason="no colour") for n in (1, 2, 3)]
    open_ = [verdict("unscored", rule, "c4", "b", unscored="truncated", source="none") for rule in ("r1", "r2")]
    beside = verdict("fail", "r1", "c2", "a", source="judge:j", counts=False)
    return run([*outputs, cut], [*judged, *open_, beside], models=("a", "b"))
