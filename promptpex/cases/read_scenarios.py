"""Scenarios as people write them, in front matter or settings, into those that a plan takes.

A mapping ``{name: {constraints: [...], fixed: {variable: value}}}`` or a list of such mappings with a ``name``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.cases.plan import Scenario
from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import ConfigError
from promptpex.core.records import Record

KEYS = ("name", "constraints", "fixed")


def read_scenarios(value: Any, *, variables: Sequence[str], path: Path | str | None = None) -> tuple[Scenario, ...]:
    """The scenarios that ``value`` describes; none for None.

    Args:
        value: what stands under ``scenarios``.
        variables: of the prompt; a scenario can fix no others.
        path: the file it stands in, for errors.

    Raises:
        ConfigError: another shape, an unknown key, a name that is missing or used twice, a constraint that is not
            text, a fixed variable that the prompt does not have, or all variables fixed.
    """
    if value is None:
        return ()
    scenarios = tuple(_scenario(name, content, variables, path) for name, content in _named(value, path))
    names = [scenario.name.casefold() for scenario in scenarios]
    for scenario in scenarios:
        if names.count(scenario.name.casefold()) > 1:
            raise ConfigError(f"two scenarios are called {scenario.name!r}; rename one", path=path)
    return scenarios


def _named(value: Any, path: Path | str | None) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return [(name, {} if content is None else _shorthand(content)) for name, content in value.items()]
    if not isinstance(value, list | tuple):
        raise ConfigError("'scenarios' must be a mapping of names, or a list of mappings with a 'name'", path=path)
    items = []
    for number, content in enumerate(value, 1):
        content = content.model_dump() if isinstance(content, Record) else content
        if not isinstance(content, Mapping) or content.get("name") is None:
            raise ConfigError(f"scenario {number} needs a 'name'", path=path)
        items.append((content["name"], {key: item for key, item in content.items() if key != "name"}))
    return items


def _shorthand(content: Any) -> Any:
    return {"constraints": content} if isinstance(content, str | list | tuple) else content


def _scenario(name: Any, content: Any, variables: Sequence[str], path: Path | str | None) -> Scenario:
    if not isinstance(name, str | int) or not str(name).strip():
        raise ConfigError(f"a scenario's name must be a text, not {name!r}", path=path)
    where = f"scenario {str(name).strip()!r}"
    if isinstance(content, Record):
        content = content.model_dump(exclude={"name"})
    if not isinstance(content, Mapping):
        raise ConfigError(f"{where} must have 'constraints' or 'fixed', or both", path=path)
    for key in content:
        if key not in KEYS:
            raise ConfigError(f"{where}: unknown key {key!r}{_hint(key, KEYS[1:])}", path=path)
    fixed = _fixed(content.get("fixed"), where, variables, path)
    return Scenario(str(name).strip(), _constraints(content.get("constraints"), where, path), fixed)


def _constraints(content: Any, where: str, path: Path | str | None) -> tuple[str, ...]:
    if content is None:
        return ()
    lines = [content] if isinstance(content, str) else content
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"{where}: 'constraints' must be a sentence or a list of sentences", path=path)
    return tuple(line.strip() for line in lines if line.strip())


def _fixed(content: Any, where: str, variables: Sequence[str], path: Path | str | None) -> dict[str, Any]:
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise ConfigError(f"{where}: 'fixed' must give a value to each variable that it names", path=path)
    for name in content:
        if name not in variables:
            raise ConfigError(f"{where}: the prompt has no variable {name!r}{_hint(name, variables)}", path=path)
    if set(content) == set(variables):
        raise ConfigError(f"{where}: all variables are fixed, so there is nothing to generate", path=path)
    return dict(content)


def _hint(name: Any, known: Sequence[str]) -> str:
    otherwise = f"it can be {', '.join(known)}"
    return f"; {did_you_mean(str(name), known) or otherwise}"
