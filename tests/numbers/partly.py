"""A run by two rules, one of which code decides in part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import promptpex
from promptpex.core.records import Check, Request, Rule, Run, Spec, Suite
from tests.numbers.world import cases, material, verdict_on
from tests.samples import asked


def partly(folder: Path, *, broken: int, **settings: Any) -> Run:
    """60 cases by two rules, one of which code decides in part; the judge is asked of the prompt as a whole or not."""
    made = cases(60, 1)
    prompt, _, suite = material(made, 1, judge=False)
    half = Rule(id="r1", rule="Keeps 1.", checks=(Check(kind="not-contains", value="BREAKS"),), decides="partly")
    whole = Rule(id="r2", rule="Is short.", checks=(Check(kind="word-count", value={"max": 9}),))
    return promptpex.run(
        prompt,
        Spec(prompt="p.md", intent="Say something.", rules=(half, whole)),
        Suite(prompt="p.md", cases=suite.cases),
        models=["fake/a", "fake/b"],
        client=promptpex.FakeClient(lambda request: _half(request, broken)),
        store=str(folder / "store.db"),
        **settings,
    )


def _half(request: Request, broken: int) -> str | Exception:
    text = asked(request)
    if request.model.startswith("fake/judge"):
        return '{"broken": []}' if "compl" in text.lower() else verdict_on(text)
    number = int(text.split("<c")[1].split(">")[0])
    return f"number {number} BREAKS" if request.model == "fake/b" and number < broken else f"number {number}"
