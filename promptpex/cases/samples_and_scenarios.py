"""Samples and scenarios as people write them: in front matter, settings, and files beside the prompt.

Prompt files are passed around, and samples are sent to the author model: a file outside the prompt's own folder is
refused, or a stranger's prompt could send any file of this machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpex.cases.comparable_words import folded
from promptpex.cases.plan import Scenario
from promptpex.codecs import jsonl, safe_csv
from promptpex.codecs.files.ordinary_files import inside
from promptpex.codecs.text.inputs_as_text import value_text
from promptpex.codecs.text.wording import did_you_mean
from promptpex.core.errors import ConfigError
from promptpex.core.records import Record
from promptpex.documents import yaml_reader

LONGEST = 4000
"""Characters of a sample that the author is shown: about a thousand tokens."""

_OF_CASE = "inputs."
"""What the columns of inputs begin with in a table of cases."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where samples are named: the prompt's variables, its folder, and the file, for errors."""

    variables: Sequence[str]
    folder: Path
    path: Path | str | None


def read_samples(
    value: Any, *, variables: Sequence[str], path: Path | str | None = None, seed: int = 0, limit: int = 5
) -> tuple[str, ...]:
    """At most ``limit`` samples as texts, shuffled by ``seed``, without repetitions.

    Args:
        value: a list of texts and mappings from variable to value, the name of a file, or a list with such names as
            ``{file: NAME}``; None = no samples. A CSV file has a column for each variable it fills, a JSONL file a
            sample a line; a JSON or YAML file has a list of samples, alone or under its one key, or is one sample. A
            table of cases, or cases as JSON lines, will do as well.
        variables: of the prompt. A sample of one variable is its value; else a line a variable.
        path: the prompt file, which file names are relative to.

    Raises:
        ConfigError: another shape, a variable that the prompt does not have, a file that is missing, broken or
            outside the prompt's folder; with file and line.
    """
    if value is None:
        return ()
    place = _Place(variables, Path(path).parent if path is not None else Path(), path)
    texts = list(dict.fromkeys(text for text in _all(value, place) if text.strip()))
    random.Random(seed).shuffle(texts)
    return tuple(text[:LONGEST] for text in texts[:limit])


def _all(value: Any, place: _Place) -> Iterable[str]:
    if isinstance(value, str):
        return _from_file(value, place)
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        raise ConfigError("'samples' must be a list of inputs, or the name of a file of them", path=place.path)
    texts: list[str] = []
    for number, item in enumerate(value, 1):
        if isinstance(item, Mapping) and set(item) == {"file"} and "file" not in place.variables:
            texts += _from_file(item["file"], place)
        else:
            texts.append(_text(item, place, f"sample {number}", place.path, None))
    return texts


def _from_file(name: Any, place: _Place) -> list[str]:
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"a file of samples must be named by a text, not {name!r}", path=place.path)
    file = inside(place.folder, name, error=ConfigError, what="file of samples", path=place.path)
    kind = file.suffix.lower()
    readers = {".csv": _from_csv, **dict.fromkeys((".jsonl", ".ndjson"), _from_jsonl)}
    readers |= dict.fromkeys((".json", ".yaml", ".yml"), _from_yaml)
    if kind not in readers:
        raise ConfigError(
            f"samples are read from .csv, .jsonl, .json and .yaml files, not from {name!r}", path=place.path
        )
    return readers[kind](file, place)


def _from_yaml(file: Path, place: _Place) -> list[str]:
    """The samples of a JSON or YAML file: a list, alone or under the one key of a mapping; or one sample."""
    doc = yaml_reader.read(file, error=ConfigError, what="file of samples")
    values, keys = doc.data, tuple[str, ...]()
    if isinstance(values, Mapping) and len(values) == 1 and isinstance(next(iter(values.values())), list):
        keys = (str(next(iter(values))),)
        values = next(iter(values.values()))
    elif isinstance(values, Mapping):
        values = [values]
    if not isinstance(values, list):
        raise ConfigError("a file of samples must hold a list of them", path=file)
    return [_text(item, place, "this sample", file, doc.line(*keys, n)) for n, item in enumerate(values)]


def _from_jsonl(file: Path, place: _Place) -> list[str]:
    lines = jsonl.read(file, what="file of samples", error=ConfigError)
    values = ((line.number, _of_case(line.value, place)) for line in lines)
    return [_text(value, place, "this sample", file, number) for number, value in values if value != {}]


def _of_case(value: Any, place: _Place) -> Any:
    """A line's inputs for the prompt, where it is one of a file of cases; none of the line that names the prompt."""
    if not isinstance(value, Mapping) or {"inputs", "prompt"} & set(place.variables):
        return value
    inputs = value.get("inputs")
    if isinstance(inputs, Mapping) and "id" in value:
        return {name: given for name, given in inputs.items() if name in place.variables}
    return {} if set(value) <= {"prompt", "suite_match"} and "prompt" in value else value


def _from_csv(file: Path, place: _Place) -> list[str]:
    rows = safe_csv.read(file, what="file of samples", error=ConfigError)
    if not rows:
        return []
    head = [cell.strip().removeprefix(_OF_CASE) for cell in rows[0].cells]
    used = _columns(head, file, rows[0].line, place)
    texts = []
    for row in rows[1:]:
        if len(row.cells) != len(head):
            raise ConfigError(
                f"this row has {len(row.cells)} cells; the first row names {len(head)}", path=file, line=row.line
            )
        values = {variable: row.cells[column] for variable, column in used.items()}
        if any(cell.strip() for cell in values.values()):
            texts.append(_text(values, place, "this sample", file, row.line))
    return texts


def _columns(head: Sequence[str], file: Path, line: int, place: _Place) -> dict[str, int]:
    """The column of each variable; a file of one column is taken for the only variable, whatever its name."""
    used = {name: head.index(name) for name in place.variables if name in head}
    folded_head = [folded(name) for name in head]
    for name in place.variables:
        if name not in used and folded_head.count(folded(name)) == 1:
            used[name] = folded_head.index(folded(name))
    used = {name: used[name] for name in place.variables if name in used}
    if not used and len(head) == 1 and len(place.variables) == 1:
        used = {place.variables[0]: 0}
    if not used:
        variable_names = ", ".join(place.variables)
        raise ConfigError(f"no column is named after a variable of the prompt ({variable_names})", path=file, line=line)
    return used


def _text(item: Any, place: _Place, what: str, path: Path | str | None, line: int | None) -> str:
    if isinstance(item, Mapping):
        strange = [name for name in item if name not in place.variables]
        if strange and len(place.variables) == 1 and len(item) != 1:
            strange = [name for name in strange if name != "input"]
        if strange:
            variable_names = ", ".join(place.variables)
            raise ConfigError(
                f"{what}: the prompt has no variable {strange[0]!r}, only {variable_names}", path=path, line=line
            )
        if len(place.variables) == 1 and len(item) == 1:
            return value_text(next(iter(item.values())))
        return "\n".join(f"{name}: {value_text(value)}" for name, value in item.items())
    if isinstance(item, str | int | float) and not isinstance(item, bool):
        if len(place.variables) > 1:
            names_text = ", ".join(place.variables)
            raise ConfigError(f"{what} must give values to {names_text}", path=path, line=line)
        return value_text(item)
    raise ConfigError(f"{what} must be a text or a mapping from variable to value", path=path, line=line)


KEYS = ("name", "constraints", "fixed")


def read_scenarios(value: Any, *, variables: Sequence[str], path: Path | str | None = None) -> tuple[Scenario, ...]:
    """The scenarios that ``value`` describes; none for None.

    Args:
        variables: of the prompt; a scenario can fix no others.

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
