"""The model that a prompt's front matter names: it is under test where flags, environment and settings name none.

The file may be a stranger's. So only a plain name counts, of a provider that can be asked from here by its usual key or
of a model that an Ollama has; never an address, a file or parameters.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from promptpex.codecs.text.wording import quoted_json
from promptpex.config import Resolved
from promptpex.core.errors import ConfigError
from promptpex.core.events import Notice
from promptpex.core.records import ModelName, Prompt
from promptpex.core.translation import stored
from promptpex.interchange.github_prompt import ENDINGS
from promptpex.interchange.reading.model_names import is_plain, names_of
from promptpex.llm.names import parse_model
from promptpex.llm.providers.prices import key_variable, known_models
from promptpex.llm.redaction import scrub
from promptpex.llm.resolve_model import resolve
from promptpex.workflow.client_options import provider_options
from promptpex.workflow.roles import available
from promptpex.workflow.session import Session

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
    """What has to be in the environment for a provider of litellm's."""
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
