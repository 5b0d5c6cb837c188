"""Metric files beside a prompt: ``tone.metric.md`` or ``tone.metric.prompty`` for judges, ``length.metric.js`` or
``length.metric.py`` as code.

The first two are prompt files (PromptPex's custom metrics): front matter with ``description`` and ``scale``
(``pass-fail`` or ``0-100``), then the criteria, a template over ``VARIABLES``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from promptpex.codecs.files.ordinary_files import read_text
from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import PromptFileError
from promptpex.core.records import EXPECTED, METRIC_NAME, Language, Metric, Problem, Prompt, Scale
from promptpex.promptfile.read import examine

VARIABLES = ("prompt", "intent", "input_spec", "rules", "input", "output", "expected", "output_format")
"""What criteria may show."""

OTHER_NAMES = {"inputSpec": "input_spec", "outputFormat": "output_format", "groundtruth": "expected"}
"""PromptPex's own names for some of them."""

KEYS = ("description", "scale")
"""Front matter keys of a metric."""

SUFFIXES = (".metric.md", ".metric.prompty", ".metric.js", ".metric.py")
LANGUAGES: Mapping[str, Language] = {".js": "javascript", ".py": "python"}
"""What code is written in, by the ending of its file."""
MOST = 50
"""Metrics of one folder: each costs a request for every output and judge."""

COLUMN_ENDS = ("_scored", "_ci_low", "_ci_high")
"""What the names of a metric's further columns end in, so that no metric's name may."""

SCALES: tuple[Scale, ...] = ("pass-fail", "0-100")
_HUNDRED = re.compile(r"\b0\s*(?:-|\u2013|to|and)\s*100\b|\"maximum\":\s*100\b", re.IGNORECASE)
"""A score from 0 to 100, in words or in a schema."""
_CODE_LIMIT = 100_000


def metrics_beside(prompt: Path) -> tuple[Metric, ...]:
    metrics, problems = examine_beside(prompt)
    for problem in problems:
        if problem.severity == "error":
            raise PromptFileError(problem.sentence(), path=problem.path, line=problem.line)
    return metrics


def examine_beside(prompt: Path) -> tuple[tuple[Metric, ...], list[Problem]]:
    """The metrics in a prompt's folder that can be used, by name, and all that is wrong or odd there."""
    files = metric_files(prompt)
    if len(files) > MOST:
        message = f"{len(files)} metrics are beside this prompt; {MOST} is the most"
        return (), [Problem(path=str(prompt), message=message)]
    metrics, problems, by_name = [], [], {name_of(file): file for file in reversed(files)}
    for file in files:
        metric, of_file = examine_metric(file)
        other = by_name[name_of(file)]
        if other != file:
            message = f"the metric of {other.name} has the same name"
            of_file.append(Problem(path=str(file), message=message, suggestion="rename one of the files"))
        elif metric is not None:
            metrics.append(metric)
        problems += of_file
    return tuple(metrics), problems


def metric_files(prompt: Path) -> list[Path]:
    """The metric files in a prompt's folder, by name; hidden ones are not metrics."""
    if not prompt.parent.is_dir():
        return []
    return sorted(file for file in prompt.parent.iterdir() if is_metric(file) and not file.name.startswith("."))


def is_metric(file: Path) -> bool:
    return file.name.endswith(SUFFIXES)


def name_of(file: Path) -> str:
    return file.name[: file.name.rindex(".metric.")]


def examine_metric(file: Path, text: str | None = None) -> tuple[Metric | None, list[Problem]]:
    """One metric, and all that is wrong or odd about its file, with lines; None where any of it is an error.

    Args:
        text: that a file of criteria is to have, where it is not written yet.
    """
    try:
        metric, problems = _code(file) if file.suffix in LANGUAGES else _criteria(file, text)
    except PromptFileError as failure:
        metric, problems = None, [Problem(path=str(file), line=failure.line, message=failure.message)]
    problems = [*_wrong_name(file), *problems]
    return (None if any(problem.severity == "error" for problem in problems) else metric), problems


def _wrong_name(file: Path) -> Iterator[Problem]:
    name = name_of(file)
    if re.fullmatch(METRIC_NAME, name) is None or name == EXPECTED:
        message = f"a metric cannot be called {name[:60]!r}"
        use = f"use up to 40 letters, digits, - and _, a letter first, and not {EXPECTED!r}"
        yield Problem(path=str(file), message=message, suggestion=use)
    elif name.endswith(COLUMN_ENDS):
        use = f"names that end in {', '.join(COLUMN_ENDS)} are columns of another metric"
        yield Problem(path=str(file), message=f"a metric cannot be called {name!r}", suggestion=use)


def _code(file: Path) -> tuple[Metric | None, list[Problem]]:
    code = read_text(file, error=PromptFileError, what="metric", limit=_CODE_LIMIT)
    if not code.strip():
        message = "the metric is empty"
        return None, [Problem(path=str(file), message=message, suggestion="write an expression over output")]
    return _made(file, scale="0-100", code=code, language=LANGUAGES[file.suffix]), []


def _criteria(file: Path, text: str | None) -> tuple[Metric | None, list[Problem]]:
    text = read_text(file, error=PromptFileError, what="metric") if text is None else text
    prompt, odd = examine(file, what="metric", keys=KEYS, text=text)
    problems = [*odd, *_wrong_scale(prompt, file, text), *_wrong_variables(prompt, file, text)]
    if _is_experimental(prompt):
        message = "the metric is tagged experimental, and is not used, as in PromptPex"
        return None, [*problems, Problem.info(file, None, message, "take the tag away to use it")]
    description = prompt.meta.get("description")
    metric = _made(
        file,
        description=description.strip() if isinstance(description, str) else "",
        scale=next((scale for scale in SCALES if prompt.unknown.get("scale") == scale), _scale_of(prompt, file)),
        criteria=prompt.replace(path=None, meta={}, unknown={}),
    )
    return metric, problems


def _is_experimental(prompt: Prompt) -> bool:
    tags = prompt.meta.get("tags")
    return isinstance(tags, list) and "experimental" in tags


def _scale_of(prompt: Prompt, file: Path) -> Scale:
    """The scale of a metric whose front matter names none: of PromptPex's the one that its criteria speak of."""
    return "0-100" if file.suffix == ".prompty" and _HUNDRED.search(prompt.text()) else SCALES[0]


def _made(file: Path, **fields: Any) -> Metric | None:
    """The metric, unless its name cannot be used: that is a problem of its own."""
    return None if any(_wrong_name(file)) else Metric(name=name_of(file), **fields)


def _wrong_scale(prompt: Prompt, file: Path, text: str) -> Iterator[Problem]:
    scale = prompt.unknown.get("scale", SCALES[0])
    if scale not in SCALES:
        message = f"the scale {str(scale)[:40]!r} is not one of {', '.join(SCALES)}"
        yield Problem(path=str(file), line=_line(text, r"^\W*scale\W*:"), message=message)


def _wrong_variables(prompt: Prompt, file: Path, text: str) -> Iterator[Problem]:
    for name in prompt.variables if not prompt.implicit_input else ():
        if name not in (*VARIABLES, *OTHER_NAMES):
            message = f"a metric has no {name!r} to show; it may name {', '.join(VARIABLES)}"
            hint = did_you_mean(name, VARIABLES)
            line = _line(text, rf"\{{[{{%][^\n]*\b{re.escape(name)}\b")
            yield Problem(path=str(file), line=line, message=message, suggestion=hint)
    if prompt.implicit_input or "output" not in prompt.variables:
        message = "the metric never shows the output"
        yield Problem(path=str(file), message=message, suggestion="put {{output}} where it belongs")


def _line(text: str, pattern: str) -> int | None:
    """The first line in which a pattern is found, from 1."""
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if re.search(pattern, line)), None)
