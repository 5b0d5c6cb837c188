"""Scenarios as people write them, in front matter or settings, into those that a plan takes.

A mapping ``{name: {constraints: [...], fixed: {variable: value}}}`` or a list of such mappings with a ``name``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpex.cases.plan import Scenario
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
        ConfigError: another shape, an unknown key, a name that is missing or there twice, a constraint that is no
            text, a fixed variable that the prompt does not have, or all variables fixed.
    """
    if value is None:
        return ()
    found = tuple(_scenario(name, said, variables, path) for name, said in _named(value, path))
    names = [scenario.name.casefold() for scenario in found]
    for scenario in found:
        if names.count(scenario.name.casefold()) > 1:
            raise ConfigError(f"the scenario {scenario.name!r} is there twice; give one another name", path=path)
    return found


def _named(value: Any, path: Path | str | None) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return [(name, {} if said is None else _shorthand(said)) for name, said in value.items()]
    if not isinstance(value, list | tuple):
        raise ConfigError("'scenarios' must be a mapping of names, or a list of mappings with a 'name'", path=path)
    items = []
    for number, said in enumerate(value, 1):
        said = said.model_dump() if isinstance(said, Record) else said
        if not isinstance(said, Mapping) or said.get("name") is None:
            raise ConfigError(f"scenario {number} needs a 'name'", path=path)
        items.append((said["name"], {key: item for key, item in said.items() if key != "name"}))
    return items


def _shorthand(said: Any) -> Any:
    return {"constraints": said} if isinstance(said, str | list | tuple) else said


def _scenario(name: Any, said: Any, variables: Sequence[str], path: Path | str | None) -> Scenario:
    if not isinstance(name, str | int) or not str(name).strip():
        raise ConfigError(f"a scenario's name must be a text, not {name!r}", path=path)
    where = f"scenario {str(name).strip()!r}"
    if isinstance(said, Record):
        said = said.model_dump(exclude={"name"})
    if not isinstance(said, Mapping):
        raise ConfigError(f"{where} must have 'constraints' or 'fixed', or both", path=path)
    for key in said:
        if key not in KEYS:
            raise ConfigError(f"{where}: unknown key {key!r}{_hint(key, KEYS[1:])}", path=path)
    fixed = _fixed(said.get("fixed"), where, variables, path)
    return Scenario(str(name).strip(), _constraints(said.get("constraints"), where, path), fixed)


def _constraints(said: Any, where: str, path: Path | str | None) -> tuple[str, ...]:
    if said is None:
        return ()
    lines = [said] if isinstance(said, str) else said
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise ConfigError(f"{where}: 'constraints' must be a sentence or a list of sentences", path=path)
    return tuple(line.strip() for line in lines if line.strip())


def _fixed(said: Any, where: str, variables: Sequence[str], path: Path | str | None) -> dict[str, Any]:
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise ConfigError(f"{where}: 'fixed' must give a value to each variable that it names", path=path)
    for name in said:
        if name not in variables:
            raise ConfigError(f"{where}: the prompt has no variable {name!r}{_hint(name, variables)}", path=path)
    if set(said) == set(variables):
        raise ConfigError(f"{where}: all variables are fixed, so that there is nothing to generate", path=path)
    return dict(said)


def _hint(name: Any, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; it can be {', '.join(known)}"
