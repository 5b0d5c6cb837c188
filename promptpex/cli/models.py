"""``promptpex models``: what can be reached from here, and which roles it would take."""

from __future__ import annotations

from typing import Any

import click

from promptpex.cli import options


@click.command("models")
@click.option("--pull", "pull_name", metavar="NAME", help="Pull an Ollama model first, with a progress bar.")
@click.option("--fetch", is_flag=True, help="Fetch the embedded model's weights if they are missing.")
@click.option("--api-base", help="Base URL of an OpenAI-compatible server to ask as well.")
@options.config
@options.manners
def command(pull_name: str | None, fetch: bool, as_json: bool, **flags: Any) -> int:
    """List the models that can be reached from here, and the roles they would fill when none is named."""
    from promptpex.cli.showing import print_json
    from promptpex.cli.work import settings
    from promptpex.session import provider_options, reached

    options_ = provider_options(settings(flags).settings)
    if pull_name:
        _pull(pull_name)
    if fetch:
        from promptpex.llm.providers.weights import fetch_default, found_default

        click.echo(f"weights: {found_default() or fetch_default()}", err=True)
    found = reached(options_)
    if as_json:
        print_json([{"name": m.name, "provider": m.provider, "roles": list(m.roles), "note": m.note} for m in found])
        return 0
    if not found:
        click.echo("No model can be reached: no key in the environment, no Ollama, no embedded model.")
    for model in found:
        click.echo(f"{model.name:40}  {model.provider:10}  {', '.join(model.roles):24}  {model.note}".rstrip())
    return 0


def _pull(name: str) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from promptpex.llm.providers.ollama_admin import pull

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(f"pulling {name}", total=None)
        pull(name, lambda status, done, total: progress.update(task, completed=done or 0, total=total))
