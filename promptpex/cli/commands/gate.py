"""``promptpex gate``: limits for a run, as an exit code."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import data, print_json, say
from promptpex.codecs.ci_reports import plain_line
from promptpex.codecs.text.wording import plural
from promptpex.core.translation import from_data, tr

if TYPE_CHECKING:
    from fractions import Fraction

    from promptpex.config import Resolved
    from promptpex.report import Summary
    from promptpex.report.gate import Limits
    from promptpex.report.gate_result import GateResult
    from promptpex.report.regression import Regressions
    from promptpex.workflow.batches.find_runs import MeantRuns

LAYOUTS = ("text", "json", "markdown", "github", "junit")


@click.command("gate", cls=Command)
@options.RUNS
@options.of_statistics(
    "--max-non-compliance",
    "limits",
    multiple=True,
    metavar="[MODEL=]SHARE",
    help="Highest accepted non-compliance, 10% or 0.1, of all models or of MODEL; may be repeated.",
)
@options.of_statistics(
    "--min-accuracy",
    "accuracies",
    multiple=True,
    metavar="[MODEL=]SHARE",
    help="Lowest accepted accuracy, 90% or 0.9, of all models or of MODEL; may be repeated.",
)
@options.of_statistics(
    "--min-metric",
    "least_means",
    multiple=True,
    metavar="NAME=MEAN",
    help="Lowest accepted mean of a metric of your own, tone=80, from 0 to 100; may be repeated.",
)
@options.of_statistics(
    "--min-scored",
    type=options.COUNT_OR_NONE,
    default=0,
    metavar="N",
    help="Require at least N scored outputs of each model.",
)
@options.of_statistics(
    "--bound",
    type=click.Choice(["point", "low", "high"]),
    default="point",
    help="What fails a model above the limit: the share itself, or the low or high end of its interval [point].",
)
@options.of_statistics(
    "--baseline",
    metavar="WHICH",
    help="Fail a model whose non-compliance is shown to have risen since blessed (PROMPT.blessed.json), a file that "
    "`bless` wrote, or a run.",
)
@options.of_statistics(
    "--max-regression",
    type=options.SHARE,
    metavar="SHARE",
    help="Highest accepted rise above the baseline [0%]; without --baseline, above blessed.",
)
@options.of_statistics(
    "--cannot-tell",
    type=click.Choice(["pass", "fail"]),
    default="pass",
    help="Where the gate cannot tell: exit 0, or 4 [pass].",
)
@options.of_statistics(
    "--corrected",
    is_flag=True,
    expert=True,
    help="Hold --max-non-compliance against the shares that people's grades correct.",
)
@options.of_statistics("--allow-partial", is_flag=True, help="Also pass a run that was cut short.", expert=True)
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
    runs: tuple[Path, ...],
    limits: tuple[str, ...],
    accuracies: tuple[str, ...],
    least_means: tuple[str, ...],
    min_scored: int,
    bound: Any,
    baseline: str | None,
    max_regression: Fraction | None,
    cannot_tell: str,
    corrected: bool,
    allow_partial: bool,
    layout: str | None,
    as_json: bool,
    **flags: Any,
) -> int:
    """Exit 1 if a model of a run exceeds the limits.

    No model is asked. A model fails above a limit, passes where its whole interval keeps it, whatever is unscored, and
    otherwise the gate cannot tell. RUN is a run's folder, id or name, a batch, or prompts; by default the latest
    run of a whole suite. Of several all have to pass.

    \b
      promptpex gate --max-non-compliance 10% --min-scored 50
      promptpex gate --baseline blessed --max-regression 3%
      promptpex gate prompts/ --max-non-compliance 10% --format github
    \f
    \b
      promptpex gate --max-non-compliance gpt-4o-mini=5% --bound high
      promptpex gate --min-accuracy 90% --min-metric tone=80

    Against a baseline a model fails only where a rise of its non-compliance is shown. A run that is not complete fails.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import tell
    from promptpex.report.gate import Limits
    from promptpex.workflow.batches.find_runs import runs_meant

    baseline_limits = _held_against(baseline, max_regression)
    if not any((limits, accuracies, least_means, min_scored, baseline_limits)) or (corrected and not limits):
        _refuse_without_limit(corrected=corrected)
    shares = (*_parsed(limits, "--max-non-compliance"), *_parsed(accuracies, "--min-accuracy"))
    all_limits = Limits(*shares, min_metrics=dict(map(_metric, least_means)), min_scored=min_scored, decide=bound)
    layout, resolved = _layout(layout, as_json), settings(flags)
    asked = _Wanted(all_limits, baseline_limits, allow_partial, corrected)
    named_runs = runs_meant(runs, Path(resolved.settings.results), tell)
    results = (_gate_one if named_runs.is_one else _gate_several)(named_runs, resolved, asked, layout)
    _raise_unless_passed(results, fail_untold=cannot_tell == "fail")
    return 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked of each run: limits, a baseline with the rise that is accepted, whether it may be partial, and
    whether limits are on the corrected shares."""

    limits: Limits
    held: tuple[str, float] | None
    allow_partial: bool
    corrected: bool


def _raise_unless_passed(results: Sequence[GateResult], *, fail_untold: bool) -> None:
    """Ends the command where the gate failed.

    Raises:
        GateFailed: a model does not pass.
        GateCannotTell: of none that is known, but there is one of which it cannot be told.
    """
    from promptpex.core.errors import GateCannotTell, GateFailed
    from promptpex.report.gate_formats import verdict, verdict_of_all
    from promptpex.report.gate_result import gravest

    worst = gravest(result.outcome for result in results)
    if worst == "pass" or (worst == "cannot tell" and not fail_untold):
        return
    if len(results) == 1:
        named = ", ".join(model.label for model in results[0].models if model.outcome == worst)
        words = f"{verdict(results[0])} ({named})"
    else:
        words = verdict_of_all(results)
    raise (GateFailed if worst == "fail" else GateCannotTell)(plain_line(words))


def _gate_one(meant: MeantRuns, resolved: Resolved, asked: _Wanted, layout: str) -> list[GateResult]:
    results = [_gated(meant.only, resolved, asked)]
    print_results(results, layout)
    return results


def _gate_several(meant: MeantRuns, resolved: Resolved, asked: _Wanted, layout: str) -> list[GateResult]:
    """Gates each run and prints what was decided; one that is missing, or cannot be held against the limits, is bad
    input.

    Limits of single models hold where the model is, and those on metrics where the metric is.
    """
    from promptpex.core.errors import InputError
    from promptpex.report.gate import require_metrics
    from promptpex.report.gate_result import told_apart, unknown_models_message, with_note

    models = {one.folder: _models_of(one.folder) for one in meant.runs if one.folder is not None}
    _refuse_model_of_none(asked.limits, [name for names in models.values() for name in names])
    results: list[tuple[str, GateResult]] = []
    problems: dict[str, str] = {}
    metrics: dict[str, None] = {}
    for one in meant.runs:
        if one.folder is None:
            problems[one.prompt] = one.problem
            continue
        try:
            own = replace(asked, limits=asked.limits.only_of(models[one.folder]))
            result = _gated(one.folder, resolved, own, metrics)
            others = asked.limits.of_others(models[one.folder])
            results.append((one.prompt, with_note(result, unknown_models_message(others))))
        except InputError as error:
            where = f" ({error.path})" if error.path else ""
            problems[one.prompt or str(one.folder)] = f"{error.message}{where}"
    if not problems:
        require_metrics(asked.limits.min_metrics, metrics, several=True)
    named = told_apart(results)
    print_results(named, layout, several=True, problems=problems)
    if problems:
        raise InputError(f"the gate cannot decide about {len(problems)} of {plural(len(meant.runs), 'prompt')}")
    return named


def _models_of(folder: Path) -> tuple[str, ...]:
    """The labels of a run's models; none where its manifest cannot be read, which is told where it is gated."""
    from promptpex.core.errors import RunError
    from promptpex.report.runs.run_folder import read_manifest

    try:
        return read_manifest(folder).models
    except RunError:
        return ()


def _refuse_model_of_none(asked: Limits, models: Sequence[str]) -> None:
    from promptpex.core.errors import InputError

    if models and (unknown := asked.of_others(models)):
        names = ", ".join(dict.fromkeys(models))
        raise InputError(f"{unknown[0]} is not a model of any of the runs; their models are {names}")


def _gated(
    folder: Path, resolved: Resolved, asked: _Wanted, metrics_of_all: dict[str, None] | None = None
) -> GateResult:
    """What the limits say of the run of a folder.

    Args:
        metrics_of_all: where this is one of several runs, is given its metrics; limits on others are left out then.
    """
    from promptpex.cli.command_session import report_options
    from promptpex.cli.progress import notices
    from promptpex.core.errors import RunError
    from promptpex.report import runs, summarise
    from promptpex.report.gate import counting_metrics
    from promptpex.report.gate_result import with_note, without_metric
    from promptpex.tables import records
    from promptpex.workflow.peoples_grades import peoples_grades

    finished = runs.read_for_report(folder)
    if not finished.manifest.has_ended:
        raise RunError("this run has not ended; the same `promptpex run` continues it", path=folder)
    view = {**report_options(resolved), "rank_by": "corrected" if asked.corrected else "non-compliance"}
    people = peoples_grades(finished, notices(verbose=False)) if asked.corrected else None
    summary = summarise(finished, folder=folder, people=people, **view)
    if not summary.has_scores:
        raise RunError("nothing was scored in this run, so no limit can be checked", path=folder)
    lacking = list[str]()
    if metrics_of_all is not None:
        own = counting_metrics(records(summary.metrics))
        metrics_of_all.update(dict.fromkeys(own))
        lacking = [name for name in asked.limits.min_metrics if name not in own]
        asked = replace(asked, limits=asked.limits.only_by(own))
    return with_note(_decided(summary, folder, asked, Path(resolved.settings.results)), without_metric(lacking))


def _refuse_without_limit(*, corrected: bool) -> NoReturn:
    if corrected:
        raise click.UsageError("--corrected says which failure rates --max-non-compliance looks at; give that too")
    limit_flags = "--max-non-compliance, --min-accuracy, --min-metric, --min-scored or --baseline"
    raise click.UsageError(f"give a limit: {limit_flags}")


def _decided(summary: Summary, folder: Path, asked: _Wanted, results: Path) -> GateResult:
    """What the limits and, where there is one, the baseline say of a run."""
    from promptpex.report.corrections_in_words import by_grades
    from promptpex.report.gate import Decided, chosen_by_outcome, decided, not_complete, stated
    from promptpex.report.gate_result import gate_result
    from promptpex.tables import records
    from promptpex.workflow.peoples_grades import prompt_file_of

    manifest, rows, by_metric = summary.run.manifest, summary.model_rows, records(summary.metrics)
    file, partial = prompt_file_of(summary.run), Decided() if asked.allow_partial else not_complete(manifest)
    if manifest.failed_in:
        decisions = dict.fromkeys(manifest.models, partial + chosen_by_outcome(manifest.failed_in))
        return gate_result(summary, decisions, dict.fromkeys(manifest.models, ""), file)
    if asked.corrected and summary.by_people is not None:
        rows = by_grades(rows, records(summary.by_people.corrections))
    by_limits = decided(rows, asked.limits, by_metric, confidence=summary.confidence)
    figures = {row["model"]: stated(row, by_metric) for row in rows}
    risen = _risen(asked.held, summary, folder, results) if asked.held else None
    of_baseline = {} if risen is None else risen.decisions
    decisions = {name: partial + one + of_baseline.get(name, Decided()) for name, one in by_limits.items()}
    if risen is not None:
        figures |= {name: f"{figures[name]}; {sentence}" for name, sentence in risen.passed.items()}
    return gate_result(summary, decisions, figures, file, risen)


def _held_against(baseline: str | None, most: Fraction | None) -> tuple[str, float] | None:
    """The baseline and the rise that is accepted; None where neither was given."""
    if baseline is None and most is None:
        return None
    return baseline or "blessed", 0.0 if most is None else float(most)


def _risen(held: tuple[str, float], summary: Summary, folder: Path, results: Path) -> Regressions:
    from promptpex.cli.output import tell
    from promptpex.workflow.comparison.find_baseline import against_baseline, baseline

    before = baseline(held[0], summary.run, results, tell)
    return against_baseline(before, summary, folder, results, margin=held[1])


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
    from promptpex.core.errors import InputError
    from promptpex.core.shares import share

    try:
        return float(share(text, "90% or 0.9" if flag == "--min-accuracy" else "10% or 0.1"))
    except InputError as error:
        raise click.BadParameter(error.message, param_hint=flag) from error


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


STEP_SUMMARY, OUTPUT, WORKSPACE = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_WORKSPACE"
"""Variables of GitHub Actions: the files of the step's summary and of its outputs, and the folder of the checkout."""


def print_results(
    results: Sequence[GateResult], layout: str, *, several: bool = False, problems: Mapping[str, str] | None = None
) -> None:
    """Prints what a gate decided, in one of the ``LAYOUTS``.

    Args:
        several: whether it may have been more than the one result.
        problems: why nothing could be decided about prompts, by their files.
    """
    from promptpex.report import gate_formats

    problems = problems or {}
    if layout == "json":
        print_json(_several_to_dict(results, problems) if several else _to_dict(results[0]))
    elif layout == "markdown":
        click.echo(data(_markdown(results, problems, several=several)), nl=False)
    elif layout == "junit":
        click.echo(data(gate_formats.junit(results, problems)), nl=False)
    elif layout == "github":
        _for_github(results, problems, several=several)
    else:
        for result in results:
            _print_lines(result, f"{result.prompt}: " if several else "")
        for prompt, problem in problems.items():
            say(f"{tr('none')}  {prompt}: {problem}")
    if layout != "github":
        for result in results:
            for note in result.notes:
                say(f"{result.prompt}: {note}" if several else note, err=True)


def _markdown(results: Sequence[GateResult], problems: Mapping[str, str], *, several: bool) -> str:
    from promptpex.report import gate_formats

    return gate_formats.markdown_of_all(results, problems) if several else gate_formats.markdown(results[0])


def _print_lines(result: GateResult, before: str) -> None:
    words = {"fail": tr("FAIL"), "cannot tell": tr("cannot tell"), "pass": from_data("pass")}
    for model in result.models:
        say(f"{words[model.outcome]}  {before}{model.label}: {model.words}")


def _to_dict(result: GateResult) -> dict[str, Any]:
    models = {model.label: list(model.exceeded) for model in result.models}
    untold = {model.label: list(model.untold) for model in result.models if model.untold}
    subset = {"subset": result.subset.to_dict()} if result.subset else {}
    baseline = {"baseline": result.baseline.to_dict()} if result.baseline else {}
    decided = {"passed": result.outcome == "pass", "outcome": result.outcome, "models": models, "cannot_tell": untold}
    return {"run": result.run, **decided, **subset, **baseline}


def _several_to_dict(results: Sequence[GateResult], problems: Mapping[str, str]) -> dict[str, Any]:
    runs = [{"prompt": result.prompt, **_to_dict(result)} for result in results]
    return {"passed": not problems and all(run["passed"] for run in runs), "runs": runs, "problems": dict(problems)}


def _for_github(results: Sequence[GateResult], problems: Mapping[str, str], *, several: bool) -> None:
    """Prints annotations, and adds to the summary and the outputs of the step."""
    from promptpex.report import gate_formats
    from promptpex.report.gate_result import gravest

    root = Path(os.environ.get(WORKSPACE) or Path.cwd())
    for line in chain(
        chain.from_iterable(gate_formats.annotation_lines(result, root, several=several) for result in results),
        gate_formats.problem_lines(problems, root),
    ):
        click.echo(line)
    worst = gravest(result.outcome for result in results)
    _append(STEP_SUMMARY, _markdown(results, problems, several=several))
    _append(OUTPUT, f"outcome={'none' if problems else worst}")


def _append(variable: str, text: str) -> None:
    """Adds to a file that a variable of GitHub Actions names, where it is set."""
    from promptpex.codecs.files.ordinary_files import created

    file = os.environ.get(variable)
    if not file:
        return
    try:
        with os.fdopen(created(Path(file), append=True), "a", encoding="utf-8") as lines:
            lines.write(f"{text}\n")
    except OSError as error:
        say(f"promptpex: {variable} cannot be written ({error.strerror})", err=True)
