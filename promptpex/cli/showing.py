"""What commands print about a run, and the exit code that goes with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from promptpex.errors import GateFailed, Interrupted

if TYPE_CHECKING:
    from promptpex.records import Run

NO_ANSWER = 3


def show_run(
    run: Run,
    folder: Path,
    *,
    as_json: bool,
    totals: Mapping[str, Any] | None = None,
    fail_over: float | None = None,
    stopped: bool = False,
    view: Mapping[str, Any] | None = None,
) -> int:
    """Writes the reports of a run into its folder, prints them, and gives the command's exit code.

    ``view`` are ``confidence``, ``tolerance`` and ``against`` where the report shall differ from how the run was made.

    Raises:
        Interrupted: the user stopped the run (``stopped``); the partial report is printed first.
        GateFailed: a model's non-compliance is above ``fail_over``.
    """
    from promptpex.cli.work import kept_and_resumed
    from promptpex.report import plain, summarise
    from promptpex.report.files import write

    summary = summarise(run, folder=folder, **(view or {}))
    write(summary, folder)
    if as_json:
        click.echo(json.dumps({**plain(summary), "requests": dict(totals or {})}, ensure_ascii=False))
    else:
        _on_terminal(summary, totals)
    if stopped:
        raise Interrupted(kept_and_resumed())
    _gate(summary.models, fail_over)
    return NO_ANSWER if _nobody_answered(run) else 0


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False))


def _on_terminal(summary: Any, totals: Mapping[str, Any] | None) -> None:
    from rich.console import Console

    from promptpex.report.terminal import show

    console = Console(soft_wrap=False)
    show(summary, console)
    if totals is not None:
        asked, cached = totals.get("requests", 0), totals.get("cached", 0)
        console.print(f"{asked} requests sent, {cached} answers from the store", highlight=False)


def _gate(models: Any, fail_over: float | None) -> None:
    if fail_over is None:
        return
    above = models[models["non_compliance"] > fail_over]
    if len(above):
        told = ", ".join(f"{row.model} {100 * row.non_compliance:.0f} %" for row in above.itertuples())
        raise GateFailed(f"non-compliance is above {100 * fail_over:g} %: {told}")


def _nobody_answered(run: Run) -> bool:
    return bool(run.outputs) and all(output.error for output in run.outputs)
