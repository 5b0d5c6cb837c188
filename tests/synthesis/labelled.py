"""A run of a small prompt, and grades of its outputs, that several tests share."""

from __future__ import annotations

from typing import Any

from promptpex.core.records import Case, Grade, Manifest, Output, Prompt, Run, Suite
from tests import samples

INPUTS = {"c1": {"thing": "sky", "place": "here"}, "c2": {"thing": "grass", "place": "here"}}


def run_of(*outputs: Output, prompt: Prompt | None = None) -> Run:
    """A run of the small prompt that gave these outputs."""
    prompt = prompt or samples.prompt()
    cases = tuple(Case(id=name, inputs=inputs, origin="added") for name, inputs in INPUTS.items())
    manifest = Manifest(
        run="r", prompt=prompt.name, prompt_fingerprint=prompt.fingerprint, spec_digest="", suite_digest="", models=()
    )
    return Run(
        manifest=manifest,
        prompt=prompt,
        spec=samples.spec(),
        suite=Suite(prompt="prompt.md", cases=cases),
        outputs=outputs,
    )


def output(case: str, text: str | None, model: str = "m", repeat: int = 0, error: str | None = None) -> Output:
    """An output of the run."""
    return Output(case=case, model=model, repeat=repeat, text=text, error=error)


def grade(
    value: str, text: str = "BLUE", *, case: str = "c1", grader: str = "ada", minute: int = 0, **more: Any
) -> Grade:
    """A grade on an output of the run."""
    return Grade.of(
        inputs=INPUTS[case],
        output=text,
        time=f"2026-03-01T09:{minute:02}:00+00:00",
        grader=grader,
        case=case,
        model="m",
        value=value,
        **more,
    )
