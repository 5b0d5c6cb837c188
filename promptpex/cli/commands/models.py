"""``promptpex models``: what can be reached from here, and which roles it would take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.controls import visible
from promptpex.core.texts import tr

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.llm.providers.discovery import AvailableModel


@click.command("models", cls=Command)
@options.of_models("--pull", "pull_name", metavar="NAME", help="Pull an Ollama model first, with a progress bar.")
@options.of_models("--fetch", is_flag=True, help="Fetch the embedded model's weights if they are missing.")
@options.of_models("--api-base", metavar="URL", help="OpenAI-compatible server to ask as well.")
@options.settings_options
@options.output_options
def command(pull_name: str | None, fetch: bool, as_json: bool, quiet: bool, **flags: Any) -> int:
    """List the models in reach, and the roles they would take.

    The roles are those that they fill when no model is named.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.config.env_file import in_environment
    from promptpex.llm.providers.discovery import not_found
    from promptpex.workflow.client_options import provider_options
    from promptpex.workflow.roles import available

    resolved = settings(flags)
    options_ = provider_options(resolved)
    if pull_name:
        _pull(pull_name)
    if fetch:
        from promptpex.llm.providers.weights import fetch_default, found_default

        weights = found_default(configured=resolved.settings.embedded_model)
        say(f"weights: {weights or fetch_default()}", err=True)
    with in_environment(resolved.keys_of_file().keys):
        models = [*available(options_), *_named(resolved)]
        missing = not_found(models, options_)
    if as_json:
        print_json([{"name": m.name, "provider": m.provider, "roles": list(m.roles), "note": m.note} for m in models])
        return 0
    _print(models)
    if not quiet:
        for line in missing:
            say(line, err=True)
    return 0


def _named(resolved: Resolved) -> list[AvailableModel]:
    """The models that the settings name; none of them is tried here."""
    from promptpex.llm.names import parse_model
    from promptpex.llm.providers.discovery import AvailableModel
    from promptpex.llm.resolve_model import resolve

    models = [parse_model(name, named=resolved.named_models) for name in resolved.named_models]
    providers = [resolve(model.name, model.api_base).provider or "unknown" for model in models]
    return [
        AvailableModel(model.label, provider, (), f"{model.as_asked}, named in the settings; not tried")
        for model, provider in zip(models, providers, strict=True)
    ]


def _print(models: Sequence[AvailableModel]) -> None:
    if not models:
        click.echo(tr("No model can be reached."))
        return
    rows = [tuple(map(visible, (m.name, m.provider, ", ".join(m.roles) or tr("none"), m.note))) for m in models]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip())


def _pull(name: str) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from promptpex.llm.providers.ollama_admin import pull

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(f"pulling {name}", total=None)
        pull(name, lambda status, done, total: progress.update(task, completed=done or 0, total=total))
