"""What a batch says, computed once for every form of its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from promptpex.core.records import BatchManifest, BatchPart
from promptpex.report.batches.batch_in_words import about_decisions, batch_answer, incomplete_notes
from promptpex.report.headline import by_these_judges
from promptpex.report.percentages import TableRow
from promptpex.report.summary import Summary
from promptpex.tables import Table, over_prompts, prompt_models, records


@dataclass(frozen=True, slots=True)
class ReportedPart:
    """A prompt of a batch with the figures of its run; without them where it has none, or its run is gone."""

    part: BatchPart
    summary: Summary | None = None


@dataclass(frozen=True)
class BatchReport:
    """A batch's figures.

    Attributes:
        batch: its manifest. folder: where it is kept.
        parts: its prompts.
    """

    batch: BatchManifest
    folder: Path
    parts: tuple[ReportedPart, ...]

    @cached_property
    def by_prompt(self) -> Table:
        """A row per prompt and model, columns ``tables.PROMPT_MODEL_COLUMNS``."""
        return prompt_models([(_about(one), one.summary.models) for one in self.parts if one.summary is not None])

    @cached_property
    def by_model(self) -> Table:
        """A row per model, columns ``tables.OVER_PROMPTS_COLUMNS``."""
        return over_prompts(self.by_prompt)

    @cached_property
    def models(self) -> list[str]:
        """The labels of all models, the lowest mean first."""
        return [row["model"] for row in records(self.by_model)]

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What each prompt is called, by its file: its name, or its file where several have the name."""
        name_counts = Counter(one.part.prompt for one in self.parts)
        parts = [one.part for one in self.parts]
        return {part.file: part.prompt if name_counts[part.prompt] == 1 else part.file for part in parts}

    @cached_property
    def cells(self) -> Mapping[tuple[str, str], TableRow]:
        """The figures of each model, by the prompt's file and the model's label."""
        return {(row["file"], row["model"]): row for row in records(self.by_prompt)}

    @property
    def confidence(self) -> float:
        """The confidence level of the intervals."""
        return next((one.summary.confidence for one in self.parts if one.summary is not None), 0.95)

    @cached_property
    def answer(self) -> str:
        """What the batch says of its models, in one paragraph of plain words."""
        unchecked = max((one.summary.unchecked for one in self.parts if one.summary is not None), default=0)
        return " ".join([batch_answer(records(self.by_model)), *by_these_judges(unchecked)])

    @cached_property
    def incomplete(self) -> list[str]:
        """What is missing in the runs, a sentence each."""
        manifests = [one.summary.run.manifest for one in self.parts if one.summary is not None]
        partial = Counter(manifest.partial for manifest in manifests if manifest.partial)
        return incomplete_notes(partial, sum(manifest.subset is not None for manifest in manifests))

    @property
    def notes(self) -> list[str]:
        """What a reader has to know about the figures."""
        return [*self.incomplete, *([about_decisions(self.confidence)] if len(self.models) > 1 else [])]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-ready data, for machines."""
        by_prompt: dict[str, list[TableRow]] = {}
        for (file, _), row in self.cells.items():
            by_prompt.setdefault(file, []).append(row)
        return {
            "batch": self.batch.batch,
            "name": self.batch.name,
            "folder": str(self.folder),
            "created": self.batch.created or None,
            "prompts": [self._part(one, by_prompt.get(one.part.file, ())) for one in self.parts],
            "models": records(self.by_model),
            "answer": self.answer,
            "notes": self.notes,
        }

    def _part(self, one: ReportedPart, rows: Sequence[TableRow]) -> dict[str, Any]:
        summary = one.summary
        folder = None if summary is None or summary.folder is None else str(summary.folder)
        answer = None if summary is None else summary.answer
        return {
            **_about(one),
            "problem": one.part.problem,
            "folder": folder,
            "answer": answer,
            "models": list(rows),
        }


def _about(one: ReportedPart) -> dict[str, str | None]:
    partial = one.summary.run.manifest.partial if one.summary is not None else None
    return {"prompt": one.part.prompt, "file": one.part.file, "run": one.part.run, "partial": partial}
