"""``promptpex models``: what can be reached from here, and which roles it would take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from promptpex.cli import options
from promptpex.cli.help import Command
from promptpex.cli.output import say
from promptpex.codecs.text.control_characters import visible
from promptpex.codecs.text.wording import cut
from promptpex.core.translation import Key, from_data, stored, tr

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.core.records import ModelName
    from promptpex.llm.providers import ProviderOptions
    from promptpex.llm.providers.discovery import AvailableModel
    from promptpex.llm.providers.server_health import ServerLook

LONGEST_LIST = 200
"""Characters of what a server lists that are shown where the model is not among it."""


ROLES = {"test": Key("test"), "author": Key("author"), "judge": Key("judge")}


@click.command("models", cls=Command)
@options.of_models("--pull-model", metavar="NAME", help="Pull an Ollama model first, with a progress bar.")
@options.of_models("--fetch", is_flag=True, help="Download the embedded model's weights if they are missing.")
@options.of_models("--api-base", metavar="URL", help="OpenAI-compatible server to ask, too.")
@options.settings_options
@options.output_options
def command(pull_model: str | None, fetch: bool, as_json: bool, quiet: bool, **flags: Any) -> int:
    """List the models you can use, and the roles they could have.

    Where no author or no model under test is named, the first one here takes the role; a judge is always named. Where
    the settings list several servers for a model, each server is asked whether it has the model.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json
    from promptpex.config.env_file import in_environment
    from promptpex.llm.providers.discovery import not_found
    from promptpex.workflow.client_options import provider_options
    from promptpex.workflow.roles import available

    resolved = settings(flags)
    options_ = provider_options(resolved)
    if pull_model:
        _pull(pull_model)
    if fetch:
        from promptpex.llm.providers.weights import fetch_default, found_default

        weights = found_default(configured=resolved.settings.embedded_model)
        say(tr("weights: {file}", file=weights or fetch_default()), err=True)
    with in_environment(resolved.keys_of_file().keys):
        models = [*available(options_), *_named(resolved, options_)]
        missing = not_found(models, options_)
    if as_json:
        print_json(list(map(_as_data, models)))
        return 0
    _print(models)
    if not quiet:
        for line in missing:
            say(from_data(line), err=True)
    return 0


def _named(resolved: Resolved, options_: ProviderOptions) -> list[AvailableModel]:
    """The models that the settings name; only those with several servers are looked for."""
    from promptpex.llm.names import parse_model
    from promptpex.workflow.client_options import with_servers_of_names

    with_servers = with_servers_of_names(resolved, options_)
    models = [parse_model(name, named=resolved.named_models) for name in resolved.named_models]
    return [_of_settings(model, with_servers) for model in models]


def _of_settings(model: ModelName, options_: ProviderOptions) -> AvailableModel:
    from promptpex.llm.providers.discovery import AvailableModel
    from promptpex.llm.resolve_model import resolve
    from promptpex.workflow.roles import servers_in_reach

    provider = resolve(model.name, model.address).provider or "unknown"
    looks = servers_in_reach(model, options_)
    note = stored("{model}, named in the settings; not tried", model=model.as_asked)
    if looks:
        note = stored(
            "{model}, named in the settings; {count} of {number} servers answer",
            model=model.as_asked,
            count=sum(look.listed is not None for look in looks),
            number=len(looks),
        )
    return AvailableModel(model.label, provider, (), note, looks)


def _as_data(model: AvailableModel) -> dict[str, object]:
    data: dict[str, object] = {
        "name": model.name,
        "provider": model.provider,
        "roles": list(model.roles),
        "note": model.note,
    }
    servers = [
        {"server": look.server, "answers": look.listed is not None, "lists_model": look.lists_model}
        for look in model.servers
    ]
    return {**data, "servers": servers} if servers else data


def _said_by(look: ServerLook) -> str:
    """A line about one of several servers of a model."""
    if look.listed is None:
        return tr("{server} gave no list of models: {part}", server=look.server, part=from_data(look.problem))
    if look.lists_model:
        return tr("{server} lists {model}", server=look.server, model=look.model)
    others = cut(", ".join(look.listed), LONGEST_LIST)
    if not others:
        return tr("{server} answers, and lists no model", server=look.server)
    return tr("{server} does not list {model}, but {others}", server=look.server, model=look.model, others=others)


def _print(models: Sequence[AvailableModel]) -> None:
    if not models:
        click.echo(tr("No model can be reached."))
        return
    rows = [tuple(map(visible, (m.name, m.provider, _roles(m), from_data(m.note)))) for m in models]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for model, row in zip(models, rows, strict=True):
        click.echo("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip())
        for look in model.servers:
            click.echo(f"  {visible(_said_by(look))}")


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
