"""A run with a judge that lets things pass, and people who graded a random part of its outputs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from random import Random

from promptpex.codecs import json_text
from promptpex.core.records import Case, Grade, Manifest, Output, Rule, Run, Spec, Suite, Verdict, output_key
from promptpex.documents.human_grades import append_grades
from promptpex.grading.random_sample import in_order
from promptpex.promptfile import read
from promptpex.report import runs
from promptpex.specs.file import write_spec

FINGERPRINT = "0123456789abcdef"
JUDGE = "openai/judge"
RULE = Rule(id="r1", rule="The answer is polite.", origin="added")
CODE = Rule(id="r2", rule="The answer is short.", origin="added")


def is_rude(text: str) -> bool:
    """What people find."""
    return "rude" in text


def made(folder: Path, *, cases: int = 80, models: Collection[str] = ("a", "b"), seen: float = 0.5) -> Run:
    """A run whose judge fails a share ``seen`` of the rude answers and no others; 30% of a's are rude, 10% of b's."""
    (folder / "prompt.md").write_text("Answer {{question}} politely.", encoding="utf-8")
    write_spec(folder / "prompt.spec.yaml", Spec(prompt="prompt.md", rules=(RULE,)))
    random = Random(1)
    suite = Suite(prompt="prompt.md", cases=tuple(_case(number) for number in range(cases)))
    outputs, verdicts = [], []
    for model in models:
        for case in suite.cases:
            rude = random.random() < (0.3 if model == "a" else 0.1)
            text = f"{model} says {'rude ' if rude else ''}words to {case.id}"
            output = Output(case=case.id, model=model, text=text)
            status = "fail" if rude and random.random() < seen else "pass"
            outputs.append(output)
            source = f"judge:{JUDGE}"
            verdicts.append(Verdict.of(output.key, "r1", status, source, fingerprint=FINGERPRINT))  # type: ignore[arg-type]
    prompt = read(folder / "prompt.md")
    manifest = Manifest(
        run="0123456789",
        prompt=prompt.name,
        prompt_fingerprint=prompt.fingerprint,
        spec_digest="x",
        suite_digest="y",
        models=tuple(models),
        judges=(JUDGE,),
    )
    spec = Spec(prompt="prompt.md", rules=(RULE,))
    return Run(
        manifest=manifest, prompt=prompt, spec=spec, suite=suite, outputs=tuple(outputs), verdicts=tuple(verdicts)
    )


def _case(number: int) -> Case:
    return Case(id=f"c{number}", inputs={"question": f"question {number}"}, origin="added")


def kept(run: Run, folder: Path) -> Path:
    """The run's folder under ``results``."""
    place = runs.folder_for(folder / "results", run.prompt.name, run.manifest.run)
    runs.finish(place, run)
    return place


def graded(run: Run, folder: Path, share: float, *, subject: str = "output", policy: str = "random") -> list[Grade]:
    """People's grades on the first outputs in the order of the random sample, appended to the prompt's file."""
    inputs = {case.id: case.inputs for case in run.suite.cases}
    by_key = {output_key(inputs[output.case], output.text or ""): output for output in run.outputs}
    order = in_order(by_key)
    grades = [
        Grade.of(
            inputs=inputs[by_key[key].case],
            output=by_key[key].text or "",
            time="2026-03-01T09:30:00+00:00",
            grader="ada",
            case=by_key[key].case,
            model=by_key[key].model,
            value="bad" if is_rude(by_key[key].text or "") else "good",
            policy=policy,
            subject=subject,
            subject_text="" if subject == "output" else RULE.rule,
        )
        for key in order[: round(share * len(order))]
    ]
    append_grades(folder / "prompt.grades.jsonl", grades)
    return grades


def lines_of(path: Path) -> list[dict[str, object]]:
    """The records of a file of JSON lines."""
    return [json_text.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
