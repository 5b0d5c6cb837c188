"""Metric files beside a prompt: ``tone.metric.md`` or ``tone.metric.prompty`` for judges, ``length.metric.js`` as code.

The first two are prompt files (PromptPex's custom metrics): front matter with ``description`` and ``scale``
(``pass-fail`` or ``0-100``), then the criteria, a template over ``VARIABLES``.
"""

from __future__ import annotations

import re
from pathlib import Path

from promptpex.codecs.text_file import read_text
from promptpex.codecs.wording import did_you_mean
from promptpex.core.errors import PromptFileError
from promptpex.core.records import METRIC_NAME, Metric, Prompt, Scale
from promptpex.promptfile.read import read

VARIABLES = ("prompt", "intent", "input_spec", "rules", "input", "output", "expected", "output_format")
"""What criteria may show."""

OTHER_NAMES = {"inputSpec": "input_spec", "outputFormat": "output_format", "groundtruth": "expected"}
"""PromptPex's own names for some of them."""

SUFFIXES = (".metric.md", ".metric.prompty", ".metric.js")
MOST = 50
"""Metrics of one folder: each costs a request for every output and judge."""

SCALES: tuple[Scale, ...] = ("pass-fail", "0-100")
_CODE_LIMIT = 100_000


def metrics_beside(prompt: Path) -> tuple[Metric, ...]:
    """The metrics in a prompt's folder, by name.

    Raises:
        PromptFileError: a file that is no metric, with its line; two of one name; or too many.
    """
    files = metric_files(prompt)
    by_name: dict[str, Path] = {}
    for file in files:
        other = by_name.setdefault(name_of(file), file)
        if other != file:
            raise PromptFileError(f"the metric of {other.name} has the same name; rename one of the files", path=file)
    return tuple(read_metric(file) for file in files)


def metric_files(prompt: Path) -> list[Path]:
    """The metric files in a prompt's folder, by name; hidden ones are no metrics."""
    if not prompt.parent.is_dir():
        return []
    files = [file for file in prompt.parent.iterdir() if is_metric(file) and not file.name.startswith(".")]
    if len(files) > MOST:
        raise PromptFileError(f"{len(files)} metrics are beside this prompt; {MOST} is the most", path=prompt)
    return sorted(files)


def is_metric(file: Path) -> bool:
    """Whether a file of this name is a metric."""
    return file.name.endswith(SUFFIXES)


def name_of(file: Path) -> str:
    """The metric's name: its file's without the endings."""
    return file.name[: file.name.rindex(".metric.")]


def read_metric(file: Path) -> Metric:
    """One metric.

    Raises:
        PromptFileError: the file cannot be read, its name is none for a metric, it has an unknown scale or variable, or
            does not show the output.
    """
    name = name_of(file)
    if re.match(METRIC_NAME, name) is None or name == "expected":
        raise PromptFileError(
            f"a metric cannot be called {name[:60]!r}: use up to 40 letters, digits, - and _, a letter first, and not "
            "'expected'",
            path=file,
        )
    if file.suffix == ".js":
        code = read_text(file, error=PromptFileError, what="metric", limit=_CODE_LIMIT)
        if not code.strip():
            raise PromptFileError("the metric is empty; write a JavaScript expression over output", path=file)
        return Metric(name=name, scale="0-100", code=code)
    prompt = read(file)
    _check_variables(prompt, file)
    description = prompt.meta.get("description")
    return Metric(
        name=name,
        description=description.strip() if isinstance(description, str) else "",
        scale=_scale(prompt, file),
        criteria=prompt.replace(path=None, meta={}, unknown={}),
    )


def _scale(prompt: Prompt, file: Path) -> Scale:
    wanted = prompt.unknown.get("scale", SCALES[0])
    for scale in SCALES:
        if wanted == scale:
            return scale
    raise PromptFileError(f"the scale {str(wanted)[:40]!r} is none of {', '.join(SCALES)}", path=file)


def _check_variables(prompt: Prompt, file: Path) -> None:
    for name in prompt.variables if not prompt.implicit_input else ():
        if name not in (*VARIABLES, *OTHER_NAMES):
            hint = did_you_mean(name, VARIABLES)
            message = f"a metric has no {name!r} to show; it may name {', '.join(VARIABLES)}"
            raise PromptFileError(f"{message}; {hint}" if hint else message, path=file)
    if prompt.implicit_input or "output" not in prompt.variables:
        raise PromptFileError("the metric never shows the output: put {{output}} where it belongs", path=file)
