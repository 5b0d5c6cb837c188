"""With which parameters models under test are asked: those of settings, of the prompt's front matter, and what checks
need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from promptpex.config import Resolved
from promptpex.core.events import Notice
from promptpex.core.records import Check, Output, Params, Prompt, Rule, Spec
from promptpex.core.translation import stored, stored_n
from promptpex.llm.prompt_file_parameters import read_parameters
from promptpex.workflow.session import Session

OF_TOKENS = ("perplexity", "perplexity-score")
"""Kinds of checks, without ``not-``, that look at the log-probabilities of an output's tokens."""
_SETTINGS = ("temperature", "max_tokens", "seed")
"""Parameters that are settings too."""
_OURS = ("default", "preset")


def output_params(session: Session, prompt: Prompt, spec: Spec | None = None) -> Params:
    """Parameters of requests to models under test, where their names leave them open.

    Settings that anybody gave win over the front matter, and that over our defaults. Log-probabilities are asked for
    where a check needs them.
    """
    used = _in_force(session.resolved, prompt).replace(logprobs=needs_logprobs(spec))
    return session.roles.output_params().replace(**used.model_dump(exclude_defaults=True))


def front_matter_params(prompt: Prompt) -> tuple[Params, tuple[str, ...]]:
    """What the front matter says of requests: Prompty's ``model.parameters`` and ``model.options``, GitHub's
    ``modelParameters``; and the names of what cannot be sent."""
    model = prompt.meta.get("model")
    tables = [model.get("parameters"), model.get("options")] if isinstance(model, Mapping) else []
    parameters: dict[Any, Any] = {}
    for table in (*tables, prompt.meta.get("modelParameters")):
        parameters |= table if isinstance(table, Mapping) else {}
    return read_parameters(parameters)


def overruled(resolved: Resolved, prompt: Prompt) -> tuple[str, ...]:
    """The parameters of the front matter that are not used, since settings say them."""
    own = front_matter_params(prompt)[0]
    named = [name for name in _SETTINGS if getattr(own, name) is not None]
    return tuple(name for name in named if not resolved.origins.get(name, "").startswith(_OURS))


def _in_force(resolved: Resolved, prompt: Prompt) -> Params:
    """What the front matter says of requests, without what settings say."""
    return front_matter_params(prompt)[0].replace(**dict.fromkeys(overruled(resolved, prompt)))


def announce_overruled(session: Session, prompt: Prompt) -> None:
    """Says which parameters of the front matter give way to settings, and which cannot be sent."""
    own, unused = front_matter_params(prompt)
    for name in overruled(session.resolved, prompt):
        own_value, set_value = getattr(own, name), getattr(session.settings, name)
        if own_value != set_value:
            message = stored("{name} {there} of the prompt's front matter is not used: the settings say {here}",
                             name=name, there=own_value, here=set_value)  # fmt: skip
            session.emit(Notice(message))
    if unused:
        message = stored("not sent, since promptpex has no such model parameter: {names}", names=", ".join(unused))
        session.emit(Notice(message, "warning"))


def shaping(session: Session, prompt: Prompt) -> dict[str, object]:
    """What the front matter adds to the settings that shape a run; nothing where it says no parameters."""
    used = _in_force(session.resolved, prompt).model_dump(exclude_defaults=True)
    return {"front_matter": used} if used else {}


def in_manifest(session: Session, prompt: Prompt) -> tuple[dict[str, Any], dict[str, str]]:
    """The settings as they are in force for this prompt, and where each comes from."""
    own = _in_force(session.resolved, prompt)
    used = {name: value for name in _SETTINGS if (value := getattr(own, name)) is not None}
    origins = {**session.resolved.origins, **dict.fromkeys(used, "front matter")}
    return {**session.settings.to_dict(), **used}, origins


def needs_logprobs(spec: Spec | None) -> bool:
    """Whether a check looks at log-probabilities."""
    rules = spec.rules if spec is not None else ()
    return any(_of_tokens(rule.checks) for rule in rules if not rule.stale)


def announce_missing_logprobs(session: Session, spec: Spec, outputs: Iterable[Output]) -> None:
    """Says of which models the log-probabilities that checks need are not known."""
    if not needs_logprobs(spec):
        return
    rules = ", ".join(_rules_of_tokens(spec.rules))
    counts: dict[str, int] = {}
    for output in outputs:
        if output.error is None:
            counts[output.model] = counts.get(output.model, 0) + (output.logprobs is None)
    for model, count in counts.items():
        if count:
            session.emit(Notice(_without(model, count, rules), "warning"))


def _without(model: str, count: int, rules: str) -> str:
    return stored_n(
        "{model} gives no log-probabilities with {count} answer: perplexity is unscored there ({rules})",
        "{model} gives no log-probabilities with {count} answers: perplexity is unscored there ({rules})",
        count,
        model=model,
        rules=rules,
    )


def _rules_of_tokens(rules: Sequence[Rule]) -> Iterator[str]:
    return (rule.id for rule in rules if not rule.stale and _of_tokens(rule.checks))


def _of_tokens(checks: Sequence[Check]) -> bool:
    return any(check.kind.removeprefix("not-") in OF_TOKENS or _of_tokens(check.asserts or ()) for check in checks)
