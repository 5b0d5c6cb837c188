"""What a prompt's owner tells the stages, in front matter or settings: instructions, samples, a language."""

from __future__ import annotations

import re
from collections.abc import Mapping

from promptpex.cases.samples import read_samples
from promptpex.codecs.text.wording import did_you_mean
from promptpex.config import Settings
from promptpex.core.errors import ConfigError
from promptpex.core.records import Prompt
from promptpex.workflow.stages import instructed

_LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
"""The shape of a BCP 47 tag: subtags of up to 8 letters or digits (RFC 5646, 2.1)."""


def instructions_of(settings: Settings, prompt: Prompt) -> dict[str, str]:
    """The owner's instructions by stage: those of the prompt's front matter, with those of the settings over them.

    Raises:
        ConfigError: not a mapping from stages to texts, or an unknown stage.
    """
    own = checked_instructions(prompt.meta.get("instructions") or {}, prompt.path)
    return {**own, **checked_instructions(settings.instructions, None)}


def checked_instructions(value: object, path: str | None) -> Mapping[str, str]:
    """Instructions as given: a text per stage.

    Raises:
        ConfigError: with what is wrong.
    """
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
    """The real inputs that an author is shown: those of the settings, else those of the prompt's front matter.

    Raises:
        ConfigError: samples that cannot be used, with file and line.
    """
    return read_samples(
        settings.samples or prompt.meta.get("samples"),
        variables=prompt.variables,
        path=prompt.path,
        seed=settings.seed,
        limit=settings.samples_shown,
    )


def language_of(settings: Settings, prompt: Prompt) -> str | None:
    """The language that inputs have to be in, a BCP 47 tag; None where neither settings nor front matter name one.

    Raises:
        ConfigError: it is not such a tag.
    """
    if settings.language:
        return checked_language(settings.language, None)
    return checked_language(prompt.meta.get("language"), prompt.path)


def checked_language(value: object, path: str | None) -> str | None:
    """A language tag as given; None for none.

    Raises:
        ConfigError: it is not a BCP 47 tag.
    """
    if value is None:
        return None
    if not isinstance(value, str) or not _LANGUAGE_TAG.fullmatch(value.strip()):
        raise ConfigError(f"the language {value!r} is not a tag such as en, vi or pt-BR", path=path)
    return value.strip()
