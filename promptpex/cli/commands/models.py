"""``promptpex models``: what can be reached from here, and which roles it would take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.text.control_characters import visible
from promptpex.core.translation import Key, from_data, stored, tr

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.core.records import ModelName
    from promptpex.llm.providers.discovery import AvailableModel

ROLES = {"test": Key("test"), "author": Key("author"), "judge": Key("judge")}


@click.command("models", cls=Command)
@options.of_models("--pull-model", metavar="NAME", help="Pull an Ollama model first, with a progress bar.")
@options.of_models("--fetch", is_flag=True, help="Download the embedded model's weights if they are missing.")
@options.of_models("--api-base", metavar="URL", help="OpenAI-compatible server to ask, too.")
@options.settings_options
@options.output_options
def command(pull_model: str | None, fetch: bool, as_json: bool, quiet: bool, **flags: Any) -> int:
    """List the models you can use, and the roles they could have.

    Where no author or no model under test is named, the first one here takes the role; a judge is always named.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.config.env_file import in_environment
    from promptpex.llm.providers.discovery import not_found
    from promptpex.workflow.roles import available, provider_options

    resolved = settings(flags)
    options_ = provider_options(resolved)
    if pull_model:
        _pull(pull_model)
    if fetch:
        from promptpex.llm.providers.weights import fetch_default, found_default

        weights = found_default(configured=resolved.settings.embedded_model)
        say(tr("weights: {file}", file=weights or fetch_default()), err=True)
    with in_environment(resolved.keys_of_file().keys):
        models = [*available(options_), *_named(resolved)]
        missing = not_found(models, options_)
    if as_json:
        print_json(list(map(_as_data, models)))
        return 0
    _print(models)
    if not quiet:
        for line in missing:
            say(from_data(line), err=True)
    return 0


def _named(resolved: Resolved) -> list[AvailableModel]:
    """The models that the settings name; they are not looked for."""
    from promptpex.llm.names import parse_model

    models = [parse_model(name, named=resolved.named_models) for name in resolved.named_models]
    return [_of_settings(model) for model in models]


def _of_settings(model: ModelName) -> AvailableModel:
    from promptpex.llm.providers.discovery import AvailableModel
    from promptpex.llm.resolve_model import resolve

    provider = resolve(model.name, model.api_base).provider or "unknown"
    note = stored("{model}, named in the settings; not tried", model=model.as_asked)
    return AvailableModel(model.label, provider, (), note)


def _as_data(model: AvailableModel) -> dict[str, object]:
    return {"name": model.name, "provider": model.provider, "roles": list(model.roles), "note": model.note}


def _print(models: Sequence[AvailableModel]) -> None:
    if not models:
        click.echo(tr("No model can be reached."))
        return
    rows = [tuple(map(visible, (m.name, m.provider, _roles(m), from_data(m.note)))) for m in models]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip())


def _roles(model: AvailableModel) -> str:
    return ", ".join(ROLES[role].tr() for role in model.roles) or tr("none")


def _pull(name: str) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from promptpex.llm.providers.ollama_admin import pull

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(tr("pulling {name}", name=name), total=None)
        pull(name, lambda status, done, total: progress.update(task, completed=done or 0, total=total))
