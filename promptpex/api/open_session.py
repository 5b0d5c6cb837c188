"""From the arguments of a function to a session: settings, the client, and a store that fits it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from promptpex.api.keyword_settings import resolved_settings
from promptpex.config import Resolved
from promptpex.llm.client import Client
from promptpex.workflow.event_loop import result_of
from promptpex.workflow.session import Session, open_session

T = TypeVar("T")


def listed(names: str | Sequence[str] | None) -> str | list[str] | None:
    """Names as a setting: a text may hold several, divided by commas."""
    return names if names is None or isinstance(names, str) else list(names)


def in_session(
    job: Callable[[Session], Awaitable[T]],
    settings: Mapping[str, object],
    client: Client | None,
    *,
    start: Path | None = None,
) -> T:
    """What the job comes to. Replies of a client of the caller's own may be anybody's: unless the call names a store,
    they are kept until it ends, and no run that asks the real models is ever served them.

    Args:
        start: the folder from which a settings file is looked for; by default the working folder.
    """
    resolved = resolved_settings(settings, start=start)

    async def work(resolved: Resolved) -> T:
        async with open_session(resolved, provider=client) as session:
            return await job(session)

    if client is None or resolved.given("store"):
        return result_of(lambda: work(resolved))
    with TemporaryDirectory() as folder:
        kept_here = resolved.settings.replace(store=str(Path(folder, "store.db")))
        return result_of(lambda: work(resolved.replace(settings=kept_here)))
