"""What is wrong with the metric files beside a prompt: how they are written, and what fails when it is tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from promptpex.core.errors import PromptFileError
from promptpex.core.records import Language, Metric, Problem
from promptpex.promptfile import render
from promptpex.promptfile.metric_files import (
    OTHER_NAMES,
    VARIABLES,
    examine_beside,
    examine_metric,
    metric_files,
    name_of,
)
from promptpex.workflow.metrics.metric_code import code_problem


def problems_beside(prompt: Path) -> list[Problem]:
    """The problems of all metric files in a prompt's folder, by file and line."""
    metrics, problems = examine_beside(prompt)
    files = {name_of(file): file for file in reversed(metric_files(prompt))}
    for metric in metrics:
        problems += _when_tried(metric, files[metric.name])
    return sorted(problems, key=lambda problem: (problem.path, problem.line or 0))


def problems_of(file: Path) -> list[Problem]:
    """The problems of one metric's file, by line."""
    metric, problems = examine_metric(file)
    tried = _when_tried(metric, file) if metric is not None else []
    return sorted([*problems, *tried], key=lambda problem: problem.line or 0)


def _when_tried(metric: Metric, file: Path) -> list[Problem]:
    """Code that does not parse, and criteria that cannot be filled in, within the limits of every run."""
    failures = _of_code(metric.code, metric.language) if metric.code else _of_criteria(metric)
    return [Problem(path=str(file), message=message) for message in failures]


def _of_code(code: str, language: Language) -> Iterator[str]:
    problem = code_problem(code, language)
    if problem is not None:
        yield problem


def _of_criteria(metric: Metric) -> Iterator[str]:
    if metric.criteria is None:
        return
    try:
        render(metric.criteria, dict.fromkeys((*VARIABLES, *OTHER_NAMES), "x"))
    except PromptFileError as failure:
        yield failure.message
