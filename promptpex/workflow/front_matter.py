"""What a prompt's owner says in its front matter, under the settings: to the stages, to models, and of models.

The file may be a stranger's. So a model that it names is under test only where flags, environment and settings name
none, and only by a plain name: of a provider that can be asked from here by its usual key, or of a model that an Ollama
has; never an address, a file or parameters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.cases.samples_and_scenarios import read_samples
from promptpex.codecs.text.wording import did_you_mean, quoted_json
from promptpex.config import Resolved, Settings
from promptpex.core.errors import ConfigError
from promptpex.core.events import Notice
from promptpex.core.records import Check, ModelName, Output, Params, Prompt, Rule, Spec
from promptpex.core.translation import stored, stored_n
from promptpex.interchange.github_prompt import ENDINGS
from promptpex.interchange.reading.prompt_headers import is_plain, names_of
from promptpex.llm.named_models import read_parameters
from promptpex.llm.names import parse_model
from promptpex.llm.providers.prices import key_variable, known_models
from promptpex.llm.redaction import scrub
from promptpex.llm.resolve_model import resolve
from promptpex.workflow.roles import available, provider_options
from promptpex.workflow.session import Session
from promptpex.workflow.stages import instructed

_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
"""The shape of a BCP 47 tag: subtags of up to 8 letters or digits (RFC 5646, 2.1)."""


def instructions_of(settings: Settings, prompt: Prompt) -> dict[str, str]:
    """The owner's instructions by stage: those of the prompt's front matter, with those of the settings over them."""
    own = checked_instructions(prompt.meta.get("instructions") or {}, prompt.path)
    return {**own, **checked_instructions(settings.instructions, None)}


def checked_instructions(value: object, path: str | None) -> Mapping[str, str]:
    """Instructions as given: a text per stage."""
    if value == {}:
        return {}
    names = instructed()
    if not isinstance(value, Mapping):
        raise ConfigError(f"'instructions' must name stages, each with its text ({', '.join(names)})", path=path)
    for stage, text in value.items():
        if stage not in names:
            hint = did_you_mean(str(stage), names) or f"they are {', '.join(names)}"
            raise ConfigError(f"instructions: there is no stage {stage!r}; {hint}", path=path)
        if not isinstance(text, str):
            raise ConfigError(f"instructions: those of {stage!r} must be a text", path=path)
    return value


def samples_of(settings: Settings, prompt: Prompt) -> tuple[str, ...]:
    """The real inputs that an author is shown: those of the settings, else those of the prompt's front matter."""
    return read_samples(
        settings.samples or prompt.meta.get("samples"),
        variables=prompt.variables,
        path=prompt.path,
        seed=settings.seed,
        limit=settings.samples_shown,
    )


def language_of(settings: Settings, prompt: Prompt) -> str | None:
    """The language that inputs have to be in, a BCP 47 tag; None where neither settings nor front matter name one."""
    if settings.language:
        return checked_language(settings.language, None)
    return checked_language(prompt.meta.get("language"), prompt.path)


def checked_language(value: object, path: str | None) -> str | None:
    """A language tag as given; None for none."""
    if value is None:
        return None
    if not isinstance(value, str) or not _LANGUAGE_TAG.fullmatch(value.strip()):
        raise ConfigError(f"the language {value!r} is not a tag such as en, vi or pt-BR", path=path)
    return value.strip()


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
    own = _in_force(session.resolved, prompt)
    used = {name: value for name in _SETTINGS if (value := getattr(own, name)) is not None}
    origins = {**session.resolved.origins, **dict.fromkeys(used, "front matter")}
    return {**session.settings.to_dict(), **used}, origins


def needs_logprobs(spec: Spec | None) -> bool:
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


ORIGIN = "front matter"
_PLAIN = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,199}", re.ASCII)
_PULLED = "pulled"
_PROVIDERS = ("openai-compatible", "ollama", "litellm")
"""Who answers to a name that a prompt file may give: no file of this machine does."""


def take_own_model(session: Session, prompt: Prompt) -> None:
    """Puts the model of the front matter under test where nothing else is, and says so; or why it is not."""
    resolved = session.resolved
    if resolved.origins["models"] == ORIGIN:
        resolved = _with(resolved, (), "default")
    elif resolved.origins["models"] != "default":
        return
    chosen, why = _chosen(resolved, prompt)
    if chosen is not None:
        resolved = _with(resolved, (chosen,), ORIGIN)
    session.resolved = resolved
    session.roles.resolved = _with(session.roles.resolved, resolved.settings.models, resolved.origins["models"])
    if chosen is not None:
        file = Path(prompt.path or "").name
        message = stored("model under test: {model} (from the front matter of {file})", model=chosen, file=file)
        session.emit(Notice(message, "always"))
    elif why:
        session.emit(Notice(why, "warning"))


def plain_names(prompt: Prompt) -> tuple[str, ...]:
    """The names by which the model of the front matter may be asked, the likeliest first; none that is not plain."""
    is_github = str(prompt.path or "").lower().endswith(ENDINGS)
    return tuple(name for name in names_of(prompt.meta.get("model"), is_github=is_github) if _is_plain(name))


def _with(resolved: Resolved, models: tuple[str, ...], origin: str) -> Resolved:
    settings = resolved.settings.replace(models=models)
    return resolved.replace(settings=settings, origins={**resolved.origins, "models": origin})


def _chosen(resolved: Resolved, prompt: Prompt) -> tuple[str | None, str]:
    """The name that can be asked, or the sentence that says why there is none; neither where no model is named."""
    file = Path(prompt.path or "").name
    names_given = names_of(prompt.meta.get("model"))
    if not names_given:
        return None, ""
    names = plain_names(prompt)
    if not names:
        return None, stored(
            "the model that the front matter of {file} names is not asked: {quoted} is not a plain name of a hosted "
            "or Ollama model",
            file=file,
            quoted=quoted_json(scrub(names_given[0])[:80]),
        )
    if not resolved.searched and resolved.file is None:
        return None, stored(
            "{model}, which the front matter of {file} names, is not asked: --no-config", model=names[0], file=file
        )
    lacking = {name: _lacking(parse_model(name, api_base=resolved.settings.api_base), resolved) for name in names}
    chosen = next((name for name in names if lacking[name] is None), None)
    if chosen is not None:
        return chosen, ""
    variable = lacking[names[0]]
    if variable == _PULLED:
        return None, stored(
            "{model}, which the front matter of {file} names, is not asked: no Ollama here has it",
            model=names[0],
            file=file,
        )
    return None, stored(
        "{model}, which the front matter of {file} names, is not asked: {name} is not set",
        model=names[0],
        file=file,
        name=variable,
    )


def _is_plain(name: str) -> bool:
    if not is_plain(name) or _PLAIN.fullmatch(name) is None or ".." in name:
        return False
    try:
        return resolve(parse_model(name).name).provider in _PROVIDERS
    except ConfigError:
        return False


def _lacking(model: ModelName, resolved: Resolved) -> str | None:
    """What is lacking to ask the model: the name of a variable, or ``_PULLED``; None where nothing is."""
    provider = resolve(model.name, model.api_base).provider
    if provider == "ollama":
        return None if _is_pulled(model.name, resolved) else _PULLED
    if provider == "openai-compatible" and model.api_base is not None:
        return None
    variables = ["OPENAI_API_KEY"] if provider == "openai-compatible" else _variables(model.name)
    return next((name for name in variables if not os.environ.get(name, "").strip()), None)


def _variables(name: str) -> list[str]:
    prefix, slash, _ = name.partition("/")
    entry = known_models().get(name)
    vendor = prefix if slash else entry.provider if entry is not None and entry.provider else prefix
    return [key_variable(vendor), *(["AZURE_API_BASE"] if vendor == "azure" else [])]


def _is_pulled(name: str, resolved: Resolved) -> bool:
    """Whether an Ollama has the model: none is fetched because a prompt file names it."""
    bare = name.removeprefix("ollama/").removeprefix("ollama_chat/").removesuffix(":latest")
    models = available(provider_options(resolved))
    pulled_names = {
        one.name.removeprefix("ollama/").removesuffix(":latest") for one in models if one.provider == "ollama"
    }
    return bare in pulled_names
