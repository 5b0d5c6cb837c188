"""Which model fills each role: the one that the settings name. Where they name no author or no model under test, it is
the first that can be reached; a judge is always named."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from promptpex.config import Resolved, Settings
from promptpex.core.errors import ConfigError
from promptpex.core.events import Listener, Notice, ignore_events
from promptpex.core.records import ModelName, Params
from promptpex.core.translation import stored
from promptpex.llm.model_in_role import RoleModel
from promptpex.llm.named_models import spelled
from promptpex.llm.names import parse_model, parse_models
from promptpex.llm.providers import ProviderOptions
from promptpex.llm.providers.discovery import AvailableModel, available_models
from promptpex.llm.providers.openai_compatible import key_for
from promptpex.llm.providers.weights import weights_digest
from promptpex.llm.resolve_model import origin
from promptpex.llm.stack import StackOptions
from promptpex.llm.structured import Structured

ROLE_TOKENS = 4096
"""Longest reply of an author or a judge, in tokens: room for 20 rules with their inverses."""
UNNAMED = "unnamed"
"""What an estimate calls a judge that is not named, where none can be reached."""
AUTHOR_TEMPERATURE, JUDGE_TEMPERATURE = 1.0, 0.0
"""An author is to come up with different things; a judge is to say the same again (arXiv 2503.05070v1, §4.5, has 1.0
for both)."""


def require_author(settings: Settings) -> None:
    if settings.author == NO_AUTHOR:
        raise ConfigError("an author is needed here, but it is set to none; name one with --author")


@dataclass(slots=True)
class Roles:
    """The models in their roles.

    Attributes:
        resolved: the settings, and where each came from.
        structured: what authors and judges are asked through.
        emit: is told which model was chosen.
        estimating: whether nothing will be asked: where no judge is named, one that can be reached stands in for it.
        chosen: roles that were filled from what can be reached, ``role -> model``.
    """

    resolved: Resolved
    structured: Structured
    emit: Listener = ignore_events
    estimating: bool = False
    chosen: dict[str, str] = field(default_factory=dict)
    _called: dict[str, ModelName] = field(default_factory=dict)

    def models(self) -> tuple[ModelName, ...]:
        """The models under test: as set, else what can be reached."""
        return self._parsed(self._settings.models or (self._available("test"),))

    @property
    def without_author(self) -> bool:
        return self._settings.author == NO_AUTHOR

    def author(self, *, as_judge: bool = False) -> RoleModel:
        """The author: as set, else what can be reached; ``as_judge`` where it is to judge rather than to write."""
        require_author(self._settings)
        model = self.named(self._settings.author or self._available("author"))
        warn_about_small_model("author", model.name, self.emit)
        return RoleModel(self.structured, model, self.judge_params() if as_judge else self.author_params())

    def judges(self) -> tuple[RoleModel, ...]:
        """The judges that the settings name; none where they say ``none``."""
        self.require_judge()
        judges = self.named_judges() if self._settings.judge else self._stand_in()
        for judge in judges:
            warn_about_small_model("judge", judge.name, self.emit)
        return tuple(RoleModel(self.structured, judge, self.judge_params()) for judge in judges)

    def require_judge(self) -> None:
        """Refuses to judge where the settings do not say by whom."""
        if self._settings.judge or self.estimating:
            return
        reachable = None if self.resolved.unattended else self._reachable("judge")
        example = f" ({reachable} can be reached)" if reachable else ""
        raise ConfigError(
            f"what no check decides needs a judge, and none is named: write --judge MODEL{example}, "
            "or --judge none to leave it unscored"
        )

    def named_judges(self) -> tuple[ModelName, ...]:
        labels = self._settings.judge
        return self._parsed(labels) if labels and labels != (NO_JUDGE,) else ()

    def checker(self) -> RoleModel:
        """Who is asked whether the prompt states a rule: the first judge that the settings name, else the author."""
        if self.named_judges():
            return self.judges()[0]
        if not self._settings.author and not self.estimating:
            raise ConfigError("--verify asks a model, and none is named: write --judge MODEL or --author MODEL")
        return self.author(as_judge=True)

    def named(self, label: str) -> ModelName:
        return self._parsed([label])[0]

    def called(self, label: str) -> ModelName:
        return self._called.get(label) or self.named(label)

    def spelled(self, label: str) -> str | None:
        model = self._called.get(label)
        return model.spelled if model is not None else None

    def output_params(self) -> Params:
        settings = self._settings
        return Params(temperature=settings.temperature, max_tokens=settings.max_tokens, seed=settings.seed)

    def author_params(self) -> Params:
        return Params(temperature=AUTHOR_TEMPERATURE, max_tokens=ROLE_TOKENS, seed=self._settings.seed)

    def judge_params(self) -> Params:
        return Params(temperature=JUDGE_TEMPERATURE, max_tokens=ROLE_TOKENS, seed=self._settings.seed)

    @property
    def _settings(self) -> Settings:
        return self.resolved.settings

    def _parsed(self, labels: Sequence[str]) -> tuple[ModelName, ...]:
        models = parse_models(labels, api_base=self._settings.api_base, named=self.resolved.named_models)
        weighted = tuple(with_weights(model, self._settings.embedded_model) for model in models)
        self._called.update((model.label, model) for model in weighted)
        return weighted

    def _available(self, role: str) -> str:
        if role not in self.chosen:
            self._refuse_unused_names(role)
            what, flag = ("model under test", "models") if role == "test" else (role, role)
            if self.resolved.unattended and role != "test":
                raise ConfigError(
                    f"no {what} is named, and none is chosen automatically where CI is set; name one with --{flag}"
                )
            reachable = self._reachable(role)
            if reachable is None:
                raise ConfigError(
                    f"no {what}: none is set and none can be reached; name one with --{flag}, "
                    "or install the embedded one (promptpex[embedded])"
                )
            self.chosen[role] = reachable
            self.emit(Notice(_taken(role, reachable), "always"))
        return self.chosen[role]

    def _reachable(self, role: str) -> str | None:
        models = available(provider_options(self.resolved))
        return next((model.name for model in models if role in model.roles), None)

    def _stand_in(self) -> tuple[ModelName, ...]:
        if "judge" not in self.chosen:
            self.chosen["judge"] = model = self._reachable("judge") or UNNAMED
            message = stored("no judge is named: the estimate is for {model}; `run` needs --judge", model=model)
            self.emit(Notice(message, "always"))
        return self._parsed([self.chosen["judge"]])

    def _refuse_unused_names(self, role: str) -> None:
        names = list(self._settings.named_models)
        if names and role == "test":
            raise ConfigError(
                f"no model under test is named; write --models {','.join(names)}, or in the settings under [models]: "
                f"under_test = {json.dumps(names, ensure_ascii=False)}"
            )


def _taken(role: str, name: str) -> str:
    if role == "test":
        return stored("model under test: {model} (none was set; this one can be reached)", model=name)
    return stored("author: {model} (none was set; this one can be reached)", model=name)


def with_weights(model: ModelName, configured: str | None) -> ModelName:
    digest = weights_digest(model.name, configured=configured) if model.name.startswith("embedded/") else None
    return model.replace(backend=digest) if digest else model


def warn_about_small_model(role: str, name: str, emit: Listener) -> None:
    """Says plainly that the embedded model is not an author or a judge to rely on."""
    if role in ("author", "judge") and name.startswith("embedded/smollm2"):
        if role == "author":
            message = stored(
                (
                    "{model} is a very small model: its specs and cases only show that everything works; do not rely "
                    "on them"
                ),
                model=name,
            )
        else:
            message = stored(
                "{model} is a very small model: its verdicts only show that everything works; do not rely on them",
                model=name,
            )
        emit(Notice(message, "warning"))


def available(options: ProviderOptions) -> list[AvailableModel]:
    """The models that can be reached, in the order in which roles are filled; looked for in an event loop of its own,
    so that it can be called from one."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, available_models(options)).result()


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
