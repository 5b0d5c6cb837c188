"""A session: the settings, the models behind their wrappers, and the store, opened together and closed together."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from promptpex.config import Resolved, Settings
from promptpex.core.errors import ConfigError
from promptpex.core.events import Event, Listener, Notice, ignore_events
from promptpex.core.records import ModelName, Params, Request
from promptpex.core.response_store import ResponseStore
from promptpex.llm.client import Client
from promptpex.llm.meter import Meter
from promptpex.llm.names import parse_model, parse_models
from promptpex.llm.pacing.cancellation import not_asked
from promptpex.llm.pacing.limits import beyond_tpm, tokens_expected
from promptpex.llm.pacing.servers import server_of_model
from promptpex.llm.providers import AvailableModel, ProviderOptions, Router, available_models, key_for
from promptpex.llm.providers.weights import weights_digest
from promptpex.llm.role_model import RoleModel, merged
from promptpex.llm.routes import origin
from promptpex.llm.stack import Stack, StackOptions, build, rates_for
from promptpex.llm.structured import Structured
from promptpex.store import open_store

ROLE_TOKENS = 4096
"""Longest reply of an author or a judge, in tokens."""

NO_JUDGE = "none"
"""What ``--judge`` says for a run that is judged by checks alone."""


@dataclass(slots=True)
class Session:
    """What every stage of a command shares.

    Attributes:
        resolved: the settings, and where each came from.
        client: the wrapped client that all roles ask through.
        emit: hears events.
        chosen: roles that were filled from what is reachable, ``role -> model``.
        provider_notices: warnings of the providers, in the order in which they came.
    """

    resolved: Resolved
    client: Stack
    store: ResponseStore
    structured: Structured
    emit: Listener = ignore_events
    chosen: dict[str, str] = field(default_factory=dict)
    provider_notices: dict[str, None] = field(default_factory=dict)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def settings(self) -> Settings:
        return self.resolved.settings

    def now(self) -> datetime:
        """The wall clock, in UTC; manifests are dated by it."""
        return self.clock()

    @property
    def meter(self) -> Meter:
        """What was asked so far, per stage and model."""
        return self.client.meter

    def models(self) -> tuple[ModelName, ...]:
        """The models under test: as set, else what can be reached."""
        named = self.settings.models or (self._available("test"),)
        return self._parsed(named)

    def author(self) -> RoleModel:
        """The author: as set, else what can be reached."""
        named = self.settings.author or self._available("author")
        return self._role_model(self._parsed([named])[0], "author")

    def named(self, label: str) -> ModelName:
        """A model by its name, with the settings' server."""
        return self._parsed([label])[0]

    def judges(self) -> tuple[RoleModel, ...]:
        """The judges: as set, else what can be reached; ``none`` asks for no judge: code alone judges."""
        if self.settings.judge == (NO_JUDGE,):
            return ()
        named = self.settings.judge or (self._available("judge"),)
        return tuple(self._role_model(model, "judge") for model in self._parsed(named))

    def checker(self) -> RoleModel:
        """Who is asked whether the prompt states a rule: the first judge that the settings name, else the author."""
        return self.judges()[0] if self.named_judges() else self.author()

    def lane(self, model: ModelName) -> str | None:
        """The server on which the model takes turns with others, loaded one at a time; None where it need not."""
        server = server_of_model(model.name, model.api_base)
        return server.key if server.one_model_at_a_time else None

    def refuse_unpriced(self, models: Iterable[ModelName]) -> None:
        """Refuses models of unknown price where the cost is limited, before anything is paid.

        Raises:
            ConfigError: with what to do.
        """
        if self.settings.max_cost is None:
            return
        unknown = [model for model in models if rates_for(model.name, model.api_base, self.prices) is None]
        if unknown:
            names = ", ".join(model.label for model in unknown)
            raise ConfigError(
                f"--max-cost cannot be kept: the price of {names} is unknown; give it in the settings under "
                f'[prices."{unknown[0].name}"] (input and output, in US dollars per million tokens), or limit '
                "--max-requests or --max-total-tokens instead"
            )

    async def refuse_beyond_tpm(self, requests: Iterable[Request]) -> None:
        """Refuses a request that alone may take more tokens than a minute has, unless its answer is stored; before
        anything is paid.

        Raises:
            ConfigError: with the numbers of the largest, and what to do.
        """
        large = {request.id: request for request in requests if beyond_tpm(request, self.settings.tpm)}
        stored = {} if self.settings.fresh else await self.store.get_many(large)
        self._refuse_larger([request for request_id, request in large.items() if request_id not in stored])

    def _refuse_larger(self, requests: Iterable[Request]) -> None:
        tpm = self.settings.tpm
        large = [request for request in requests if beyond_tpm(request, tpm)]
        if large:
            largest = max(large, key=tokens_expected)
            raise ConfigError(f"{largest.model}: {beyond_tpm(largest, tpm)}")

    def refuse_long_answers(self, roles: Iterable[ModelName], models: Iterable[ModelName] = ()) -> None:
        """As ``refuse_beyond_tpm``, for authors, judges and models under test whose requests are not known yet: an
        answer alone may be too long."""
        by_role = [(model, self._role_params()) for model in roles] + [(one, self.output_params()) for one in models]
        self._refuse_larger(
            Request(model=model.name, messages=(), params=merged(model.params, defaults)) for model, defaults in by_role
        )

    def refuse_if_stopped(self) -> None:
        """Keeps what is only half made from being written.

        Raises:
            Stopped: the user is stopping the command.
        """
        if self.client.cancelled:
            raise not_asked("the author")

    def named_judges(self) -> tuple[ModelName, ...]:
        """The judges that the settings name, whether they will be needed or not."""
        named = self.settings.judge
        return self._parsed(named) if named and named != (NO_JUDGE,) else ()

    def output_params(self) -> Params:
        """Settings of requests to models under test, where their names leave them open."""
        settings = self.settings
        return Params(temperature=settings.temperature, max_tokens=settings.max_tokens, seed=settings.seed)

    @property
    def prices(self) -> Mapping[str, tuple[float, float]]:
        """The user's own prices: model to US dollars per million tokens in and out."""
        return self.settings.prices

    def _role_model(self, model: ModelName, role: str) -> RoleModel:
        warn_if_small(role, model.name, self.emit)
        return RoleModel(self.structured, model, self._role_params())

    def _role_params(self) -> Params:
        return Params(temperature=0.0, max_tokens=ROLE_TOKENS, seed=self.settings.seed)

    def _parsed(self, named: Sequence[str]) -> tuple[ModelName, ...]:
        models = parse_models(named, api_base=self.settings.api_base)
        return tuple(with_weights(model, self.settings.embedded_model) for model in models)

    def _available(self, role: str) -> str:
        if role not in self.chosen:
            what, flag = ("model under test", "models") if role == "test" else (role, role)
            if self.resolved.unattended and role != "test":
                raise ConfigError(f"no {what} is named, and none is chosen where CI is set; name one with --{flag}")
            found = [one for one in reached(provider_options(self.resolved)) if role in one.roles]
            if not found:
                raise ConfigError(
                    f"no {what}: none is set and none can be reached; name one with --{flag}, "
                    "or install the embedded one (promptpex[embedded])"
                )
            self.chosen[role] = found[0].name
            self.emit(Notice(f"{what}: {found[0].name} (none was set; this one can be reached)", "always"))
        return self.chosen[role]


def with_weights(model: ModelName, configured: str | None) -> ModelName:
    """The model, told apart by its weights where its name does not do so."""
    found = weights_digest(model.name, configured=configured) if model.name.startswith("embedded/") else None
    return model.replace(backend=found) if found else model


def warn_if_small(role: str, name: str, emit: Listener) -> None:
    """Says plainly that the embedded model is no author and no judge to rely on."""
    if role in ("author", "judge") and name.startswith("embedded/smollm2"):
        what = "specs and cases" if role == "author" else "verdicts"
        told = f"{name} is a very small model: its {what} show that the machinery runs; do not rely on them"
        emit(Notice(told, "warning"))


def reached(options: ProviderOptions) -> list[AvailableModel]:
    """What can be reached, in the order in which roles are filled; looked for in a loop of its own."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, available_models(options)).result()


def provider_options(resolved: Resolved, emit: Listener = ignore_events) -> ProviderOptions:
    """What the providers need of the settings; ``emit`` hears their notices."""
    settings = resolved.settings
    return ProviderOptions(
        api_base=settings.api_base,
        key_servers=frozenset(origin(base) for base in named_servers(resolved, by_user=True)),
        embedded_threads=settings.embedded_threads,
        embedded_slots=settings.embedded_slots,
        embedded_model_path=settings.embedded_model,
        timeout_s=settings.timeout,
        pull=settings.pull,
        prices=settings.prices,
        emit=emit,
    )


def named_servers(resolved: Resolved, *, by_user: bool) -> list[str]:
    """The base URLs that the settings name, by themselves or in names of models: those that the user named, or those
    that only the project's file names."""
    settings = resolved.settings
    alone = {name: (said,) for name in ("author", "expected") if (said := getattr(settings, name))}
    labels = {"models": settings.models, "judge": settings.judge, **alone}
    bases = [settings.api_base] if settings.api_base and resolved.by_user("api_base") == by_user else []
    for name, said in labels.items():
        if resolved.by_user(name) == by_user:
            parsed = (parse_model(label) for label in said if label != NO_JUDGE)
            bases += [model.api_base for model in parsed if model.api_base]
    return bases


def _say_unkeyed(resolved: Resolved, options: ProviderOptions, emit: Listener) -> None:
    """Says which servers get no key, where there is one that they might be waiting for."""
    if not os.environ.get("PROMPTPEX_API_KEY"):
        return
    for base in dict.fromkeys(named_servers(resolved, by_user=False)):
        if key_for(base, options.key_servers) is None:
            said = f"no key is sent to {origin(base)}: only a settings file of the project names it"
            emit(Notice(f"{said}; name it with --api-base, or allow it with --trust-settings", "warning"))


def stack_options(settings: Settings) -> StackOptions:
    """What the wrappers need of the settings."""
    return StackOptions(
        concurrency=settings.concurrency,
        rpm=settings.rpm,
        tpm=settings.tpm,
        call_deadline_s=settings.timeout,
        run_deadline_s=settings.deadline,
        max_attempts=settings.max_attempts,
        max_cost=settings.max_cost,
        max_requests=settings.max_requests,
        max_tokens=settings.max_total_tokens,
        fresh=settings.fresh,
        record=settings.record,
        prices=settings.prices,
    )


@asynccontextmanager
async def open_session(
    resolved: Resolved, *, provider: Client | None = None, emit: Listener = ignore_events
) -> AsyncIterator[Session]:
    """A session on these settings; ``provider`` stands in for the real ones, as tests and replays do.

    Raises:
        StoreError: the response store cannot be opened.
    """
    settings = resolved.settings
    heard: dict[str, None] = {}

    def keep(event: Event) -> None:
        """Providers' notices go to whoever listens, and into the manifest."""
        if isinstance(event, Notice) and event.level == "warning":
            heard[event.message] = None
        emit(event)

    options = provider_options(resolved, keep)
    _say_unkeyed(resolved, options, emit)
    store = await open_store(settings.store)
    try:
        client = build(
            provider if provider is not None else Router(options),
            store=store,
            emit=keep,
            rng=random.Random(settings.seed),
            clock=time.monotonic,
            options=stack_options(settings),
        )
        try:
            yield Session(
                resolved=resolved,
                client=client,
                store=store,
                structured=Structured(client),
                emit=emit,
                provider_notices=heard,
            )
        finally:
            await client.close()
    finally:
        await store.close()
