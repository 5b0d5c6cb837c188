"""How a command that made, judged or read runs ends: its report, its exit code, and who gave nothing usable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli.command_session import kept_and_resumed, resume_line, whole_suite_line
from promptpex.cli.output import NO_ANSWER, asked_in_words, print_json, say
from promptpex.cli.progress import notices
from promptpex.core.errors import GateFailed, Interrupted
from promptpex.core.records import CUT, NOT_ASKED, UNCLEAR
from promptpex.core.translation import from_data, tr, tr_n
from promptpex.report.translated_values import counted_reasons

if TYPE_CHECKING:
    from promptpex.grading.labels import LabelRules
    from promptpex.report import Summary
    from promptpex.report.batches.batch_report import BatchReport
    from promptpex.report.batches.batch_screen import BatchEnding
    from promptpex.report.terminal import Occasion
    from promptpex.tables import AnyRun
    from promptpex.workflow.batches.batch_reports import MadeBatch


LONGEST = 320
CODE = ("javascript", "python")
"""The sources of scores by a metric's code."""


def show_run(
    run: AnyRun,
    folder: Path | None,
    *,
    as_json: bool,
    totals: Mapping[str, Any] | None = None,
    view: Mapping[str, Any] | None = None,
    prompt: Path | None = None,
    label_rules: LabelRules | None = None,
    full: bool = False,
) -> Summary:
    """Writes the reports of a run into its folder, if it has one, and prints them.

    ``view`` are ``confidence``, ``tolerance``, ``against``, ``weights`` and ``rank_by`` where the report shall differ
    from how the run was made. People's grades are those beside ``prompt``, else beside the prompt that the run names;
    ``label_rules`` say how they become labels. ``full``: whether every table is printed.
    """
    from promptpex.report import to_dict
    from promptpex.workflow.reporting import report_run

    listener = notices(verbose=False)
    summary = report_run(run, folder, listener, view=view, prompt=prompt, label_rules=label_rules)
    if as_json:
        print_json({**to_dict(summary), "requests": dict(totals or {})})
    else:
        _on_terminal(summary, totals, full=full)
    return summary


def exit_code(
    summary: Summary, *, stopped: bool = False, fail_above: float | None = None, allow_missing: bool = False
) -> int:
    """The exit code of a command that made or judged this run; what lacks an answer is named on stderr.

    Args:
        stopped: whether the user stopped the run.
        fail_above: the highest non-compliance that the user accepts.
        allow_missing: whether a model may give nothing where another gave something.

    Raises:
        Interrupted: the run was stopped.
        GateFailed: a model's non-compliance is above ``fail_above``.
    """
    if stopped:
        raise Interrupted(kept_and_resumed())
    sentences = without_answers(summary, allow_missing=allow_missing)
    for sentence in sentences:
        say(f"promptpex: {sentence}", err=True)
    if failing := over_limit(summary, fail_above):
        raise GateFailed(failing)
    return NO_ANSWER if sentences else 0


def without_answers(summary: Summary, *, allow_missing: bool) -> list[str]:
    sentences = [*silent_models(summary, allowed=allow_missing), *silent_judges(summary)]
    return [*sentences, *silent_answerers(summary), *silent_scorers(summary)]


def _on_terminal(summary: Summary, totals: Mapping[str, Any] | None, *, full: bool) -> None:
    from rich.console import Console

    from promptpex.report.terminal import show

    show(summary, Console(soft_wrap=False), full, occasion=_occasion(summary, totals))


def _occasion(summary: Summary, totals: Mapping[str, Any] | None) -> Occasion:
    """The command that is ending; ``totals`` are of its requests, None where it asks nothing."""
    from promptpex.report.terminal import Occasion

    partial = summary.run.manifest.partial
    requests_text = "" if totals is None else asked_in_words(totals)
    goes_on = totals is not None and partial != "interrupted"  # an interrupted command says so itself
    return Occasion(requests_text, resume_line() if goes_on else "", _comparable_before(summary), whole_suite_line())


def _comparable_before(summary: Summary) -> Path | None:
    """The folder of the run of the same prompt that was made before, if the two can be compared."""
    from promptpex.core.errors import RunError
    from promptpex.report.runs import made_earlier, may_decide, read_manifest

    earlier = None if summary.folder is None else next(filter(may_decide, made_earlier(summary.folder)), None)
    try:
        models = () if earlier is None else read_manifest(earlier).models
    except RunError:
        return None
    return earlier if set(models) & set(summary.run.manifest.models) else None


def over_limit(summary: Summary, fail_above: float | None) -> str:
    """Which models of a run are above ``--fail-above``, in a sentence; empty where none is."""
    from promptpex.report.gate import Limits, decided
    from promptpex.report.percentages import listed

    if fail_above is None or summary.run.manifest.failed_in:
        return ""
    limits = Limits(max_non_compliance=fail_above)
    decisions = decided(summary.model_rows, limits, confidence=summary.confidence)
    if untold := [f"{model} ({'; '.join(one.untold)})" for model, one in decisions.items() if one.untold]:
        say(tr("--fail-above cannot tell about {models}", models=listed(untold)), err=True)
    failing = [f"{model} ({'; '.join(one.exceeded)})" for model, one in decisions.items() if one.exceeded]
    return tr("--fail-above fails {models}", models=listed(failing)) if failing else ""


def silent_models(summary: Summary, *, allowed: bool = False) -> Iterator[str]:
    """What is said of the models that were asked and gave not one usable answer; nothing where all gave one.

    Args:
        allowed: whether such models are accepted; they are as long as another model answered.
    """
    from promptpex.report.terminal.texts import clean

    by_model: dict[str, Counter[str]] = {}
    errors = summary.made.rows.query("m.name, o.error, count(*)", "GROUP BY 1, 2 ORDER BY min(t.place)")
    for model, error, count in errors:
        by_model.setdefault(model, Counter())[error] = count
    answered = {model for model, counts in by_model.items() if None in counts}
    ended = {*NOT_ASKED, *CUT.values()}
    failed = {
        model: Counter({error: count for error, count in counts.items() if error not in ended})
        for model, counts in by_model.items()
        if model not in answered
    }
    silent = [f"{clean(model)} ({_counted(counts)})" for model, counts in failed.items() if counts]
    if not silent or (allowed and answered):
        return
    models = tr(" or ").join(silent)
    if answered:
        yield tr("not one usable answer came from {models}; --allow-missing-models accepts that", models=models)
    else:
        yield tr("not one usable answer came from {models}", models=models)


def silent_judges(summary: Summary) -> Iterator[str]:
    """What is said of each judge that failed on all of what it was asked."""
    from promptpex.report.terminal.texts import clean
    from promptpex.tables import records

    for row in records(summary.details.judges):
        if row["asked"] and row["failed"] == row["asked"]:
            yield tr_n(
                "the judge {judge} failed on its one request ({reasons}): {why}",
                "the judge {judge} failed on all of its {count} requests ({reasons}): {why}",
                row["asked"],
                judge=clean(row["judge"]),
                reasons=counted_reasons(row["reasons"]),
                why=clean(row["example"], LONGEST),
            )


def silent_answerers(summary: Summary) -> Iterator[str]:
    """What is said of a judge that was asked the questions of checks, and gave not one answer."""
    from promptpex.report.terminal.texts import clean
    from promptpex.tables.database_sql import ASKED_NOT

    asked = f"""
        SELECT substr(source, instr(source, '@') + 1) AS judge, unscored, count(*), reason, min(place) FROM verdict
        WHERE source GLOB 'check:*@*' AND coalesce(unscored, '') NOT IN {ASKED_NOT} GROUP BY 1, 2 ORDER BY min(place)
    """
    groups: dict[str, list[tuple[str | None, int, str]]] = {}
    for judge, unscored, count, reason, _ in summary.made.database.query(asked):
        groups.setdefault(judge, []).append((unscored, count, reason))
    for judge, reasons in groups.items():
        counts = Counter({unscored or "": count for unscored, count, _ in reasons})
        if all(unscored.startswith("judge-") for unscored in counts):
            why = clean(from_data(reasons[0][2]), LONGEST)
            yield tr(
                "the judge {judge} answered no question ({counts}): {why}",
                judge=clean(judge),
                counts=_counted(counts),
                why=why,
            )


def silent_scorers(summary: Summary) -> Iterator[str]:
    """What is said of each judge that was asked for scores under a name, and each script that was run for them, and
    gave not one."""
    from promptpex.report.terminal.texts import clean
    from promptpex.tables.database_sql import ASKED_NOT, texts

    asked = f"""
        SELECT source, name, unscored, count(*), reason, min(place) FROM score
        WHERE (source GLOB 'judge:*' OR source IN {texts(CODE)}) AND coalesce(unscored, '') NOT IN {ASKED_NOT}
        GROUP BY 1, 2, 3 ORDER BY min(place)
    """
    groups: dict[tuple[str, str], list[tuple[str | None, int, str]]] = {}
    for judge, name, unscored, count, reason, _ in summary.made.database.query(asked):
        groups.setdefault((judge, name), []).append((unscored, count, reason))
    for (judge, name), reasons in groups.items():
        if any(unscored in (None, UNCLEAR) for unscored, _, _ in reasons):
            continue
        counts = _counted(Counter({unscored or "": count for unscored, count, _ in reasons}))
        label, why = clean(judge.removeprefix("judge:")), clean(from_data(reasons[0][2]), LONGEST)
        if judge in CODE:
            who = tr("the script of the metric {metric} scored no output", metric=clean(name))
        else:
            who = tr("the judge {judge} gave no score of {metric}", judge=label, metric=clean(name))
        yield f"{who} ({counts}): {why}"


def _counted(reasons: Counter[str]) -> str:
    outputs = tr_n("{count} output", "{count} outputs", reasons.total())
    return f"{outputs}: " + ", ".join(f"{count} {from_data(reason)}" for reason, count in reasons.most_common())


GRAVITY = (0, 1, NO_ANSWER, 2, Interrupted.exit_code)
"""Exit codes, the gravest last: a limit was passed, nothing usable came, a prompt could not be run, stopped."""


def is_one_file(named: Sequence[Path]) -> bool:
    """Whether one prompt was named; a folder, a pattern and several files are a batch, however few they hold."""
    from promptpex.promptfile import is_pattern

    return len(named) == 1 and not named[0].is_dir() and not is_pattern(named[0])


def refuse_files_of_one(**given: Path | None) -> None:
    """Refuses options that name a file of one prompt."""
    for name, path in given.items():
        if path is not None:
            raise click.UsageError(
                f"--{name} names a file of one prompt; several prompts have each their own beside it"
            )


def show_batch_report(
    report: BatchReport, ending: BatchEnding, *, as_json: bool, full: bool, totals: Mapping[str, Any] | None = None
) -> None:
    """Prints what a batch ends with."""
    from promptpex.report.batches.batch_screen import show_batch

    if as_json:
        print_json({**report.to_dict(), "requests": dict(totals or {})})
        return
    from rich.console import Console

    show_batch(report, Console(soft_wrap=False), ending, full=full)


def ending_of(report: BatchReport, totals: Mapping[str, Any]) -> BatchEnding:
    """How the command ends that made a batch."""
    from promptpex.cli.command_session import kept_and_resumed, resume_line
    from promptpex.report.batches.batch_screen import BatchEnding

    incomplete = any(
        one.part.run is None or one.summary is None or one.summary.run.manifest.partial for one in report.parts
    )
    stopped = any(one.summary and one.summary.run.manifest.partial == "interrupted" for one in report.parts)
    again = resume_line() if incomplete and not stopped else ""  # a command that was stopped says so itself
    then = f"promptpex: {kept_and_resumed()}" if stopped else ""
    gate = "" if incomplete else "promptpex gate latest --max-non-compliance 10%"
    return BatchEnding(asked_in_words(totals), again, gate, then)


def batch_exit_code(made: MadeBatch, *, stopped: bool, fail_above: float | None, allow_missing: bool) -> int:
    """The gravest exit code of the prompts; what lacks an answer, and what is above the limit, is named on stderr.

    Args:
        stopped: whether the user stopped the command.

    Raises:
        Interrupted: the command was stopped.
        GateFailed: a model is above ``fail_above``, and nothing graver happened.
    """
    from promptpex.cli.command_session import kept_and_resumed

    if stopped:
        raise Interrupted(kept_and_resumed())
    codes = [one.problem.exit_code for one in made.runs if one.problem is not None]
    failing = []
    for one in made.report.parts:
        if one.summary is None:
            continue
        name = made.report.names[one.part.file]
        sentences = without_answers(one.summary, allow_missing=allow_missing)
        for sentence in sentences:
            say(f"promptpex: {name}: {sentence}", err=True)
        codes += [NO_ANSWER] if sentences else []
        if over := over_limit(one.summary, fail_above):
            failing.append(f"{name}: {over}")
    code = gravest(codes)
    if failing and code == 0:
        raise GateFailed("; ".join(failing))
    for sentence in failing:
        say(f"promptpex: {sentence}", err=True)
    return code


def gravest(codes: Sequence[int]) -> int:
    """The gravest of exit codes; 0 of none."""
    return max(codes, key=GRAVITY.index, default=0)
