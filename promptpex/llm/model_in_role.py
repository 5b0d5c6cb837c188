"""A model in a role: the author who writes specs and cases, or a judge who grades."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from promptpex.core.records import ModelName, Params, Request
from promptpex.core.stage_templates import Rendered
from promptpex.llm.streaming import ListWatcher, Objects, watching
from promptpex.llm.structured import Reply, Structured

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class RoleModel:
    """Asks one model for structured replies to stage templates.

    Attributes:
        structured: the client with what it has learned about structured replies.
        model: who answers.
        defaults: settings that hold where the model's own name does not set them.
    """

    structured: Structured
    model: ModelName
    defaults: Params = Params(temperature=0.0, max_tokens=2048)

    @property
    def label(self) -> str:
        return self.model.label

    @property
    def identity(self) -> list[object]:
        """Who answers, for fingerprints: JSON-ready model as asked for, server, backend and parameters; a name that the
        user gives it changes nothing."""
        return [self.model.as_asked, self.model.api_base, self.model.backend, self.model.params.to_dict()]

    async def ask(
        self,
        rendered: Rendered,
        reply_type: type[T],
        *,
        stage: str,
        repeat: int = 0,
        arriving: Callable[[Objects], None] | None = None,
    ) -> Reply[T]:
        """The model's reply to a rendered template, as ``reply_type``; or an ``errors.ModelError``.

        Args:
            arriving: is told of the objects of the reply's list while it is on its way, as far as the model streams
                it. What it was told holds only if the reply says the same.
        """
        watched = watching(ListWatcher(arriving)) if arriving is not None else nullcontext()
        with watched:
            return await self.structured.ask(self.request(rendered, stage=stage, repeat=repeat), reply_type)

    def request(self, rendered: Rendered, *, stage: str, repeat: int = 0) -> Request:
        """The request that ``ask`` sends, its reply schema left to ``Structured``."""
        return Request(
            model=self.model.name,
            messages=rendered.messages,
            params=merged(self.model.params, self.defaults, repeat=repeat),
            template=rendered.fingerprint,
            repeat=repeat,
            api_base=self.model.api_base,
            backend=self.model.backend,
            stage=stage,
            label=self.model.label,
            key_env=self.model.key_env,
            price=self.model.price,
        )


def merged(params: Params, defaults: Params, *, repeat: int = 0) -> Params:
    """``params`` with what it leaves open taken from ``defaults``; a seed moves on with the repeat."""
    chosen = {**defaults.model_dump(exclude_defaults=True), **params.model_dump(exclude_defaults=True)}
    if "logprobs" in params.model_fields_set:
        chosen["logprobs"] = params.logprobs
    if chosen.get("seed") is not None:
        chosen["seed"] += repeat
    return Params.model_validate(chosen)
