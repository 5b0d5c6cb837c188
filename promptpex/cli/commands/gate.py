"""``promptpex gate``: limits for a run, as an exit code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from promptpex.cli import options
from promptpex.cli.gate_output import LAYOUTS, print_result
from promptpex.cli.help import Command
from promptpex.codecs.wording import plural


@click.command("gate", cls=Command)
@options.RUN
@options.of_statistics(
    "--max-non-compliance",
    "limits",
    multiple=True,
    metavar="[MODEL=]SHARE",
    help="Highest accepted non-compliance, 10% or 0.1, of all models or of one; may be repeated.",
)
@options.of_statistics(
    "--min-accuracy",
    "accuracies",
    multiple=True,
    metavar="[MODEL=]SHARE",
    help="Lowest accepted accuracy, 90% or 0.9, of all models or of one; may be repeated.",
)
@options.of_statistics(
    "--min-metric",
    "least_means",
    multiple=True,
    metavar="NAME=MEAN",
    help="Lowest accepted mean of a metric of your own, tone=80, from 0 to 100; may be repeated.",
)
@options.of_statistics(
    "--min-scored", type=options.COUNT_OR_NONE, default=0, metavar="N", help="Fewest scored outputs of each model."
)
@options.of_statistics(
    "--decide",
    type=click.Choice(["point", "low", "high"]),
    default="point",
    help="What is compared with the limit [point]: the share, or an end of its interval. low fails only what is "
    "clearly above, high passes only what is clearly not above; of accuracy and metrics: below.",
)
@options.confidence
@options.weights
@options.of_output(
    "--format",
    "layout",
    type=click.Choice(LAYOUTS),
    help="How the result is printed [text]; github: annotations, and a summary of the step.",
)
@options.results
@options.settings_options
@options.output_options
def command(
    run: Path | None,
    limits: tuple[str, ...],
    accuracies: tuple[str, ...],
    least_means: tuple[str, ...],
    min_scored: int,
    decide: Any,
    layout: str | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Exit 1 if a model of a run exceeds the limits.

    Nothing is asked. A model passes only if it would pass however its unscored outputs had come out. RUN is a
    run's folder, id or name; by default the latest.

    \b
      promptpex gate --max-non-compliance 10% --min-scored 50
      promptpex gate --max-non-compliance gpt-4o-mini=5% --decide high
      promptpex gate --min-accuracy 90% --min-metric tone=80
      promptpex gate --max-non-compliance 10% --format github
    """
    from promptpex.cli.command_session import report_options, settings
    from promptpex.core.errors import GateFailed, RunError
    from promptpex.core.records import RUNNING
    from promptpex.report import runs, summarise
    from promptpex.report.gate import Limits, breaches, stated
    from promptpex.report.gate_result import gate_result
    from promptpex.tables import records
    from promptpex.workflow.grading.peoples_grades import prompt_file_of

    if not any((limits, accuracies, least_means, min_scored)):
        raise click.UsageError("give a limit: --max-non-compliance, --min-accuracy, --min-metric or --min-scored")
    means = dict(map(_metric, least_means))
    resolved = settings(flags)
    folder = runs.resolve(run, Path(resolved.settings.results))
    finished = runs.read_columns(folder)
    if finished.manifest.partial == RUNNING:
        raise RunError("this run has not ended; the same `promptpex run` goes on with it", path=folder)
    summary = summarise(finished, folder=folder, **report_options(resolved))
    shares = (*_parsed(limits, "--max-non-compliance"), *_parsed(accuracies, "--min-accuracy"))
    rows, by_metric = records(summary.models), records(summary.metrics)
    exceeded = breaches(rows, Limits(*shares, min_metrics=means, min_scored=min_scored, decide=decide), by_metric)
    figures = {row["model"]: stated(row, by_metric) for row in rows}
    print_result(gate_result(summary, exceeded, figures, prompt_file_of(finished)), _layout(layout, as_json))
    if failing := [model for model, broken in exceeded.items() if broken]:
        raise GateFailed(f"gate failed: {len(failing)} of {plural(len(exceeded), 'model')} ({', '.join(failing)})")
    return 0


def _parsed(limits: Sequence[str], flag: str) -> tuple[float | None, dict[str, float]]:
    everyone, single = None, {}
    for text in limits:
        model, _, share = text.rpartition("=")
        if model:
            single[model] = _share(share, flag)
        else:
            everyone = _share(share, flag)
    return everyone, single


def _share(text: str, flag: str) -> float:
    number = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*", text)
    value = float(number[1]) / (100 if number[2] else 1) if number else -1.0
    if not 0 <= value <= 1:
        example = "90% or 0.9" if flag == "--min-accuracy" else "10% or 0.1"
        raise click.BadParameter(f"{text!r} is not a share: write {example}", param_hint=flag)
    return value


def _metric(text: str) -> tuple[str, float]:
    name, _, mean = text.rpartition("=")
    number = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", mean)
    value = float(number[1]) if number else -1.0
    if not name.strip() or not 0 <= value <= 100:
        message = f"{text!r} is not a limit of a metric: write tone=80, with a mean from 0 to 100"
        raise click.BadParameter(message, param_hint="--min-metric")
    if 0 < value <= 1 and number and not number[2]:
        raise click.BadParameter(
            f"{text!r}: means go from 0 to 100; write {name}={100 * value:g}, or {name}={value:g}% if that is meant",
            param_hint="--min-metric",
        )
    return name.strip(), value / 100


def _layout(named: str | None, as_json: bool) -> str:
    if as_json and named not in (None, "json"):
        raise click.UsageError(f"--json and --format {named} exclude each other; give one of them")
    return "json" if as_json else named or "text"
