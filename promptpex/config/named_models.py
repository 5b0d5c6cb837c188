"""The models that settings name: ``[models.small]`` in a file, its problems, and what a name stands for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from promptpex.codecs.text.wording import MOST_HINTS
from promptpex.config.wording import NO_KEYS, in_words, texts_in
from promptpex.core.errors import ConfigError
from promptpex.llm.named_models import UNDER_TEST, NamedModel, check_name, spelled, split_name
from promptpex.llm.names import parse_model
from promptpex.llm.redaction import holds_key, names_key, scrub

if TYPE_CHECKING:
    from promptpex.config.settings import Settings

NAMED = "named_models"
"""The setting that a file's tables ``[models.NAME]`` make up."""


def with_models_split(values: dict[str, Any]) -> dict[str, Any]:
    """A file's settings, with ``[models.NAME]`` and ``under_test`` as the settings that they are."""
    models = values.get("models")
    if not isinstance(models, Mapping):
        return values
    apart = {name: value for name, value in values.items() if name != "models"}
    apart[NAMED] = {name: value for name, value in models.items() if name != UNDER_TEST}
    if UNDER_TEST in models:
        apart["models"] = models[UNDER_TEST]
    return apart


def named_problems(named: object) -> list[tuple[str | None, str]]:
    """What is wrong with named models: the name (None: all of them), and a sentence that repeats no key."""
    if not isinstance(named, Mapping):
        return [(None, "it should be a table of models by their names")]
    if not all(isinstance(name, str) for name in named):
        return [(None, "names of models are texts")]
    problems = ((name, _problem(name, entry)) for name, entry in named.items())
    return [*islice(((name, problem) for name, problem in problems if problem is not None), MOST_HINTS)]


def _problem(name: str, entry: object) -> str | None:
    if not isinstance(entry, Mapping):
        return "it should be a table, such as {model = 'openai/x'}; models under test stand in under_test"
    if any(names_key(str(key)) for key in entry) or any(holds_key(text) for text in texts_in(entry)):
        return f"{NO_KEYS}, and name that variable with key_env"
    try:
        check_name(name)
        definition = NamedModel.model_validate(entry)
        if split_name(definition.model)[0] is not None:
            return f"the model has a name already; write model = {split_name(definition.model)[1]!r}"
        parse_model(name, named={name: definition})
    except ValidationError as failure:
        return in_words(failure.errors(include_url=False)[0], within=0)
    except ConfigError as error:
        return scrub(error.message)
    return None


def require_one_meaning(settings: Settings) -> None:
    """Refuses a name that stands for one model in one role and for another in another.

    Raises:
        ConfigError: with both.
    """
    meaning: dict[str, str] = {}
    singles = [label for label in (settings.author, settings.expected) if label]
    for label in (*settings.models, *settings.judge, *singles):
        named = spelled(label, settings.named_models)
        if meaning.setdefault(named.label, named.text) != named.text:
            raise ConfigError(
                f"The name {named.label} is given to {meaning[named.label]} and to {named.text}; choose another for "
                "one of them."
            )
