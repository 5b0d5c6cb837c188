"""Metrics that an import brings: as files beside the prompt, of which a run of imported outputs keeps what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from promptpex.core.records import Metric
from promptpex.core.translation import stored
from promptpex.interchange.format import Imported, ImportedMetric
from promptpex.interchange.notes import Note
from promptpex.promptfile.metric_files import MOST, examine_metric


def metric_file(prompt: Path, metric: ImportedMetric) -> Path:
    """Where a metric of a prompt goes."""
    return prompt.with_name(f"{metric.name}.metric.prompty")


def metrics_of_run(prompt: Path, metrics: Iterable[ImportedMetric]) -> tuple[Metric, ...]:
    """The metrics that a prompt's outputs are scored by, by name."""
    examined = (examine_metric(metric_file(prompt, metric), metric.text)[0] for metric in metrics)
    return tuple(sorted((metric for metric in examined if metric is not None), key=lambda metric: metric.name))


def with_usable_metrics(part: Imported) -> tuple[Imported, tuple[Note, ...]]:
    """The part with those of its metrics that can be used, and what is to be said of the others."""
    notes: list[Note] = []
    usable_metrics = [metric for metric in part.metrics if _is_usable(metric, notes)]
    for metric in usable_metrics[MOST:]:
        notes.append(Note("left out", metric.place[0], stored("a prompt has {limit} metrics at most", limit=MOST),
                          *metric.place[1:]))  # fmt: skip
    over = {key: count for key, count in part.over.items() if key != "metrics"}
    if usable_metrics:
        over["metrics"] = len(usable_metrics[:MOST])
    return replace(part, metrics=tuple(usable_metrics[:MOST]), over=over), tuple(notes)


def _is_usable(metric: ImportedMetric, notes: list[Note]) -> bool:
    examined, problems = examine_metric(Path(f"{metric.name}.metric.prompty"), metric.text)
    why = next((_sentence(problem.line, problem.message) for problem in problems if problem.severity == "error"), None)
    if examined is None and why is None:
        why = stored("it is tagged experimental, and PromptPex does not use it either")
    if examined is None:
        notes.append(Note("left out", metric.place[0], why or "", *metric.place[1:]))
    return examined is not None


def _sentence(line: int | None, message: str) -> str:
    return message if line is None else stored("line {line} of its text: {reason}", line=line, reason=message)
