"""``promptpex cache``: the response store inspected, pruned, verified, copied."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from promptpex.cli import options
from promptpex.cli.help import CommandGroup
from promptpex.cli.output import say
from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import ConfigError
from promptpex.core.translation import day, digits, from_data, tr, tr_n

if TYPE_CHECKING:
    from promptpex.config import Resolved
    from promptpex.core.response_store import ResponseStore
    from promptpex.store.row_texts import Copied

PROGRESS_S = 2.0
"""Seconds between two lines of progress."""

T = TypeVar("T")


@click.group("cache", cls=CommandGroup, no_args_is_help=True)
def command() -> None:
    """Inspect, prune, verify or copy the response store.

    Every reply is kept there.
    """


@command.command("stats")
@options.store
@options.settings_options
@options.output_options
def stats(as_json: bool, **flags: Any) -> int:
    """Replies per model and stage, size and age."""
    from promptpex.cli.output import print_json

    store_stats = _with_store(flags, lambda store: store.stats())
    if as_json:
        print_json(asdict(store_stats))
        return 0
    size = digits(f"{store_stats.bytes / 1e6:.1f}")
    say(
        tr_n(
            "{count} reply, {size} MB in {file}",
            "{count} replies, {size} MB in {file}",
            store_stats.replies,
            size=size,
            file=store_stats.path,
        )
    )
    for name, count in store_stats.models.items():
        say("  " + tr("model {name}: {count}", name=name, count=count))
    for name, count in store_stats.stages.items():
        say("  " + tr("stage {name}: {count}", name=name, count=count))
    if store_stats.replies:
        say("  " + tr("from {first} to {last}", first=_date(store_stats.oldest), last=_date(store_stats.newest)))
    return 0


@command.command("prune")
@options.of_filters("--older-than", metavar="AGE", help="Replies older than this, such as 30d, 12h, 90m.")
@options.of_filters("--stage", metavar="STAGE", help="Replies of this stage, such as judge; `cache stats` names them.")
@options.of_filters("--model", metavar="NAME", help="Replies of this model, by its name or one of the settings.")
@options.of_filters("--failed", is_flag=True, help="Empty, cut off, withheld or malformed replies.")
@options.of_files("--dry-run", is_flag=True, help="Count them; delete nothing.")
@options.store
@options.settings_options
@options.output_options
def prune(
    older_than: str | None,
    stage: str | None,
    model: str | None,
    failed: bool,
    dry_run: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Delete the replies that match all given options.

    If they are needed again, they are paid for again.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json

    age = options.seconds_of(older_than) if older_than is not None else None
    if age is None and stage is None and model is None and not failed:
        raise click.UsageError("name the replies: --older-than, --stage, --model or --failed")
    resolved = settings(flags)
    name = None if model is None else _asked_name(model, resolved)

    async def job(store: ResponseStore) -> int:
        if stage is not None:
            await _check_stage(stage, store)
        return await store.prune(age, stage=stage, model=name, failed=failed, dry_run=dry_run)

    deleted = _in_store_of(resolved, job)
    if as_json:
        print_json({"would_prune" if dry_run else "pruned": deleted})
    else:
        line = tr_n("{count} reply pruned", "{count} replies pruned", deleted)
        if dry_run:
            line = tr_n("{count} reply would be pruned", "{count} replies would be pruned", deleted)
        say(line)
    return 0


@command.command("verify")
@options.store
@options.settings_options
@options.output_options
def verify(as_json: bool, **flags: Any) -> int:
    """Check the file and every entry.

    Exit code 2 when something is wrong.
    """
    from promptpex.cli.output import print_json

    problems = _with_store(flags, lambda store: store.verify())
    if as_json:
        print_json([asdict(problem) for problem in problems])
    else:
        for problem in problems:
            say(f"{problem.id or tr('store')}: {from_data(problem.what)}")
        none = tr("no problems in the store")
        say(tr_n("{count} problem", "{count} problems", len(problems)) if problems else none)
    return 2 if problems else 0


@command.command("copy")
@click.argument("source")
@click.argument("target")
@options.settings_options
@options.output_options
def copy(source: str, target: str, as_json: bool, quiet: bool, **flags: Any) -> int:
    """Copy the replies of one store into another.

    SOURCE and TARGET are files or addresses of servers, as --store takes them. What the target has stays as it is
    there, so a copy that was cut short goes on when it is started again.
    """
    from promptpex.cli.command_session import settings
    from promptpex.cli.output import print_json

    both = [settings({**flags, "store": each}) for each in (source, target)]
    if both[0].settings.store == both[1].settings.store:
        raise click.UsageError("SOURCE and TARGET are the same store")
    copied = asyncio.run(_copied(*both, quiet=quiet))
    if as_json:
        print_json(asdict(copied))
        return 0
    say(
        tr_n(
            "{count} reply copied, {known} there before",
            "{count} replies copied, {known} there before",
            copied.copied,
            known=copied.there,
        )
    )
    if copied.unreadable:
        command_line = f"promptpex cache verify --store {source}"
        say(tr("{count} cannot be read: {command} lists them", count=copied.unreadable, command=command_line), err=True)
    return 0


async def _copied(source: Resolved, target: Resolved, *, quiet: bool) -> Copied:
    """What the replies of the first store came to when they were copied into the second."""
    from promptpex.store import open_store
    from promptpex.store.row_texts import copy_replies

    async with AsyncExitStack() as opened:
        first = await open_store(source.settings.store, make=False)
        opened.push_async_callback(first.close)
        second = await open_store(target.settings.store)
        opened.push_async_callback(second.close)
        total = (await first.stats()).replies
        return await copy_replies(first, second, _said_from_time_to_time(total, quiet=quiet))


def _said_from_time_to_time(total: int, *, quiet: bool) -> Callable[[Copied], None]:
    """Says on stderr how far a copy is."""
    latest = time.monotonic()

    def listen(copied: Copied) -> None:
        nonlocal latest
        if not quiet and time.monotonic() - latest >= PROGRESS_S:
            latest = time.monotonic()
            say(tr("{count} of {limit} replies", count=copied.seen, limit=max(total, copied.seen)), err=True)

    return listen


def _asked_name(model: str, resolved: Resolved) -> str:
    from promptpex.llm.named_models import spelled

    return spelled(model, resolved.named_models).text.partition("?")[0]


async def _check_stage(stage: str, store: ResponseStore) -> None:
    """Refuses a stage that neither promptpex nor the store knows; an older version may have named one otherwise."""
    from promptpex.workflow.stages import names

    known_stages = dict.fromkeys((*names(), *(await store.stats()).stages))
    if stage not in known_stages:
        hint = did_you_mean(stage, known_stages) or f"they are {', '.join(known_stages)}"
        raise ConfigError(f"--stage: there is no stage {stage!r}; {hint}")


def _with_store(flags: dict[str, Any], job: Callable[[ResponseStore], Awaitable[T]]) -> T:
    from promptpex.cli.command_session import settings

    return _in_store_of(settings(flags), job)


def _in_store_of(resolved: Resolved, job: Callable[[ResponseStore], Awaitable[T]]) -> T:
    from promptpex.store import open_store

    async def work() -> T:
        store = await open_store(resolved.settings.store, make=False)
        try:
            return await job(store)
        finally:
            await store.close()

    return asyncio.run(work())


def _date(at: float | None) -> str:
    """The time of an entry; None where a foreign store says none that can be."""
    if at is None:
        return tr("an unknown time")
    moment = datetime.fromtimestamp(at, UTC)
    return f"{day(moment)} {moment:%H:%M} UTC"
