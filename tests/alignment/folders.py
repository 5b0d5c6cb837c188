"""A prompt with a synthesis folder of a known confusion, on disk, for tests of choices and report cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.codecs import jsonl
from promptpex.core.records import (
    Candidate,
    Case,
    Check,
    Criterion,
    Example,
    Grade,
    Manifest,
    Output,
    Prompt,
    Run,
    Score,
    Spec,
    Suite,
    Synthesis,
    Verdict,
    output_key,
)
from promptpex.documents.human_grades import append_grades
from promptpex.promptfile import read, sibling
from promptpex.report import runs
from promptpex.specs.file import write_spec
from promptpex.synthesis.folder import SynthesisFolder, write_candidates
from promptpex.synthesis.results.matrix import Matrix, MatrixCell, MatrixFile

STATUS = {"p": "pass", "f": "fail", "e": "error"}
LABELS = {"g": "good", "b": "bad", "-": None}


class AlignedFolder:
    """A prompt ``trip.md`` whose outputs, one a case, are what the letters of ``labels`` say.

    Args:
        columns: a sign per output, for each candidate: pass, fail or error.
        criteria: of the candidates, by their ids; those that are not there have none.
    """

    def __init__(self, folder: Path, labels: str, columns: Mapping[str, str], criteria: Mapping[str, str]) -> None:
        self.prompt = folder / "trip.md"
        self.prompt.write_text("Name the city {{city}}. Stay calm.", encoding="utf-8")
        self.folder = SynthesisFolder.of(self.prompt)
        self.columns, self.criteria_of = columns, criteria
        fingerprint = read(self.prompt).fingerprint
        self.examples = [
            Example(
                id=output_key({"city": f"Hue {n}"}, f"text {n}"),
                inputs={"city": f"Hue {n}"},
                prompt=f"Name the city Hue {n}. Stay calm.",
                output=f"text {n}",
                case=f"c{n}",
                model="m",
                label=LABELS[sign],
                from_table=LABELS[sign] is not None,
                version=fingerprint,
            )
            for n, sign in enumerate(labels)
        ]
        self.candidates: tuple[Candidate, ...] = tuple(self.candidate(name) for name in columns)

    def candidate(self, name: str, **more: Any) -> Candidate:
        """A candidate; those whose name begins with ``ask`` ask a judge."""
        kind = "question" if name.startswith("ask") else "contains"
        fields = {"id": name, "check": Check(kind=kind, value=f"{name}?"), **more}
        if name in self.criteria_of:
            fields.setdefault("criteria", (self.criteria_of[name],))
        return Candidate.model_validate(fields)

    def write(
        self, criteria: Sequence[Criterion] = (), *, spec: Spec | None = None, candidates: Sequence[Candidate] = ()
    ) -> AlignedFolder:
        """Writes the folder, and the spec where there is one."""
        named = dict.fromkeys(self.criteria_of.values())
        self.candidates = tuple(candidates) or self.candidates
        known = {one.id: one for one in criteria}
        made = tuple(known.get(name, Criterion(id=name, text=f"It is {name}.")) for name in named)
        made += tuple(one for one in criteria if one.id not in named)
        self.folder.path.mkdir(exist_ok=True)
        self.folder.write_examples(self.examples)
        synthesis = Synthesis(prompt=self.prompt.name, criteria=made, candidates=self.candidates)
        write_candidates(self.folder.candidates, synthesis)
        if spec is not None:
            write_spec(sibling(self.prompt, "spec"), spec)
        matrix = Matrix(self.candidates, self.examples)
        cells = [
            MatrixCell(column, row, STATUS[sign])  # type: ignore[arg-type]
            for column, signs in enumerate(self.columns.values())
            for row, sign in enumerate(signs)
        ]
        MatrixFile(self.folder.matrix).add("".join(jsonl.dump_record(matrix.record(cell)) for cell in cells))
        return self

    def run(
        self,
        verdicts: Mapping[tuple[str, str], str],
        spec: Spec,
        *,
        name: str = "r1",
        prompt: Prompt | None = None,
        texts: Mapping[int, str] | None = None,
        scores: Mapping[str, Sequence[float]] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        """Writes a run whose outputs are the examples, and gives its folder.

        Args:
            verdicts: a sign per output, by rule and source, such as ``("r1", "judge:gpt")``: ``p``, ``f``, ``u`` for
                unscored, ``-`` for none.
            prompt: in other words than the file has now.
            texts: other outputs, by their numbers.
            scores: of metrics.
        """
        prompt = prompt or read(self.prompt).replace(path="trip.md")
        numbers = range(len(self.examples))
        cases = tuple(Case(id=f"c{n}", inputs=self.examples[n].inputs, origin="added") for n in numbers)
        outputs = tuple(
            Output(case=f"c{n}", model="m", text=(texts or {}).get(n, self.examples[n].output)) for n in numbers
        )
        statuses = {"p": "pass", "f": "fail", "u": "unscored"}
        made = tuple(
            Verdict.of((f"c{n}", "m", 0), rule, statuses[sign], source)  # type: ignore[arg-type]
            for (rule, source), signs in verdicts.items()
            for n, sign in enumerate(signs)
            if sign in statuses
        )
        values = tuple(
            Score.of((f"c{n}", "m", 0), metric, "judge:gpt", value=value)
            for metric, each in (scores or {}).items()
            for n, value in enumerate(each)
        )
        manifest = Manifest(
            run=name,
            prompt=prompt.name,
            prompt_fingerprint=prompt.fingerprint,
            spec_digest="",
            suite_digest="",
            models=(),
            settings=dict(settings or {}),
        )
        run = Run(
            manifest=manifest,
            prompt=prompt,
            spec=spec,
            suite=Suite(prompt="trip.md", cases=cases),
            outputs=outputs,
            verdicts=made,
            scores=values,
        )
        folder = self.prompt.parent / "results" / "trip" / name
        runs.finish(folder, run)
        return folder

    def renamed(self, texts: Mapping[int, str]) -> list[Example]:
        """The examples with other outputs, by their numbers."""
        return [
            one.replace(output=texts[n], id=output_key(one.inputs, texts[n])) if n in texts else one
            for n, one in enumerate(self.examples)
        ]

    def grade(self, signs: str, subject: str = "output", text: str = "", grader: str = "ada", **more: Any) -> None:
        """Grades on a subject, a letter per output: good, bad, unsure, or ``-`` for none."""
        values = {"g": "good", "b": "bad", "u": "unsure"}
        grades = [
            Grade.of(
                inputs=example.inputs,
                output=example.output,
                subject=subject,
                subject_text=text,
                time=f"2026-03-01T09:{number % 60:02}:00+00:00",
                grader=grader,
                case=example.case,
                model=example.model,
                value=values[sign],
                **more,
            )
            for number, (example, sign) in enumerate(zip(self.examples, signs, strict=False))
            if sign in values
        ]
        append_grades(sibling(self.prompt, "grades"), grades)
