"""What commands print, safe for a terminal, and the exit code that goes with a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.codecs.text.control_characters import escaped, unobeyed, visible
from promptpex.core.errors import GateFailed, Interrupted
from promptpex.core.translation import from_data, tr, tr_n

if TYPE_CHECKING:
    from promptpex.core.records import AnyRun
    from promptpex.grading.labels import LabelRules
    from promptpex.report import Summary
    from promptpex.report.terminal import Occasion

NO_ANSWER = 3
"""Exit code of a command in which a model, a judge or the script of a metric gave nothing usable."""


_DISPLAYS: list[Callable[[str], None]] = []
"""Prints above the display that is live on stderr, if one is."""


def say(text: str, *, err: bool = False) -> None:
    """Prints a line on stdout, or on stderr, in which a terminal finds nothing to obey."""
    if err and _DISPLAYS:
        _DISPLAYS[-1](visible(text))
    else:
        click.echo(visible(text), err=err)


def paragraph(text: str) -> None:
    """Prints sentences on stdout, folded between words at the width of the terminal."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(visible(text)))


@contextmanager
def above_a_display(show: Callable[[str], None]) -> Iterator[None]:
    """Until the end of the block ``show`` prints what is said on stderr, where a live display would be torn by it."""
    _DISPLAYS.append(show)
    try:
        yield
    finally:
        _DISPLAYS.remove(show)


def data(text: str) -> str:
    """Data for stdout, in which neither a terminal nor a build server finds anything to obey; says where that changed
    them."""
    if sys.stdout.isatty():
        return visible(text.replace("\r\n", "\n"))
    harmless = unobeyed(text)
    if harmless != text:
        say(
            tr("note: commands and control characters in the data are broken up; a file keeps them as they are"),
            err=True,
        )
    return harmless


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
    from promptpex.cli.progress import notices
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
    from promptpex.cli.command_session import kept_and_resumed

    if stopped:
        raise Interrupted(kept_and_resumed())
    sentences = without_answers(summary, allow_missing=allow_missing)
    for sentence in sentences:
        say(f"promptpex: {sentence}", err=True)
    if failing := over_limit(summary, fail_above):
        raise GateFailed(failing)
    return NO_ANSWER if sentences else 0


def without_answers(summary: Summary, *, allow_missing: bool) -> list[str]:
    """Who was asked in a run and gave nothing usable, a sentence for each."""
    from promptpex.cli.models_without_answers import silent_answerers, silent_judges, silent_models, silent_scorers

    sentences = [*silent_models(summary, allowed=allow_missing), *silent_judges(summary)]
    return [*sentences, *silent_answerers(summary), *silent_scorers(summary)]


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(escaped(json.dumps(value, ensure_ascii=False)))


def _on_terminal(summary: Summary, totals: Mapping[str, Any] | None, *, full: bool) -> None:
    from rich.console import Console

    from promptpex.report.terminal import show

    show(summary, Console(soft_wrap=False), full, occasion=_occasion(summary, totals))


def _occasion(summary: Summary, totals: Mapping[str, Any] | None) -> Occasion:
    """The command that is ending; ``totals`` are of its requests, None where it asks nothing."""
    from promptpex.cli.command_session import resume_line, whole_suite_line
    from promptpex.report.terminal import Occasion

    partial = summary.run.manifest.partial
    requests_text = "" if totals is None else asked_in_words(totals)
    goes_on = totals is not None and partial != "interrupted"  # an interrupted command says so itself
    return Occasion(requests_text, resume_line() if goes_on else "", _comparable_before(summary), whole_suite_line())


def tell(stored_text: str) -> None:
    """Says on stderr which run is meant where later ones were passed over."""
    say(from_data(stored_text), err=True)


def asked_in_words(totals: Mapping[str, Any]) -> str:
    """What a command asked, in a sentence."""
    sent, replayed, cached = totals["sent"], totals["replayed"], totals["cached"]
    answered = totals["requests"] - replayed
    recorded = tr_n("{count} answer from a recording", "{count} answers from a recording", replayed)
    if replayed and not (sent or answered or cached):
        return recorded
    requests = tr_n("{count} request sent", "{count} requests sent", sent)
    if answered != sent:
        requests += f" ({tr('{count} answered', count=answered) if answered else tr('none answered')})"
    from_store = tr_n("{count} answer from the store", "{count} answers from the store", cached)
    return ", ".join([requests, from_store, *([recorded] if replayed else [])])


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
