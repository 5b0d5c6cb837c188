"""What the settings mean for the providers and for the wrappers around them."""

from __future__ import annotations

import os

from promptpex.config import Resolved, Settings
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.translation import stored
from promptpex.llm.named_models import spelled
from promptpex.llm.names import parse_model
from promptpex.llm.providers import ProviderOptions, key_for
from promptpex.llm.resolve_model import origin
from promptpex.llm.stack import StackOptions

NO_JUDGE = "none"
"""``--judge none``: a run that is judged by checks alone."""
NO_AUTHOR = "none"
"""``--author none``: what is there is used, and nothing new is written."""


def provider_options(resolved: Resolved, emit: Listener = ignore_events) -> ProviderOptions:
    """The providers' options; ``emit`` is given their notices."""
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


def stack_options(settings: Settings) -> StackOptions:
    """The options of the wrappers around a provider."""
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


def named_servers(resolved: Resolved, *, by_user: bool) -> list[str]:
    """The base URLs that the settings give, in ``api_base``, in names of models or for named models: those that the
    user gave, or those that only the project's file gives."""
    settings, named = resolved.settings, resolved.named_models
    singles = {name: (label,) for name in ("author", "expected") if (label := getattr(settings, name))}
    labels_by_setting = {"models": settings.models, "judge": settings.judge, **singles}
    bases = [settings.api_base] if settings.api_base and resolved.by_user("api_base") == by_user else []
    for name, labels in labels_by_setting.items():
        for label in labels:
            if label in (NO_JUDGE, NO_AUTHOR):
                continue
            as_given, model = spelled(label, named), parse_model(label, named=named)
            source = None if as_given.has_own_base else as_given.source
            users = resolved.by_user(name) if source is None else resolved.names_by_user(source)
            if users == by_user:
                bases += [model.api_base] if model.api_base else []
    return bases


def warn_about_unkeyed_servers(resolved: Resolved, options: ProviderOptions, emit: Listener) -> None:
    """Says which servers are sent no key, where the environment has one that they may be waiting for."""
    for name in resolved.untrusted_keys:
        message = stored(
            "key_env of [models.{name}] is not used, since a settings file of the project says it; put it into your "
            "own settings, or allow it with --trust-settings",
            name=name,
        )
        emit(Notice(message, "warning"))
    if not os.environ.get("PROMPTPEX_API_KEY"):
        return
    for base in dict.fromkeys(named_servers(resolved, by_user=False)):
        if key_for(base, options.key_servers) is None:
            message = stored(
                "no key is sent to {server}: only a settings file of the project names it; name it with --api-base, "
                "or allow it with --trust-settings",
                server=origin(base),
            )
            emit(Notice(message, "warning"))
