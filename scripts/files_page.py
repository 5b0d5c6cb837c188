"""Prints the page that documents the files people write: ``files_page.md`` with the examples of ``promptpex init
--example`` and lists made from the schemas. ``python scripts/files_page.py > docs/files.md``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click
from file_schemas import schema
from file_schemas.checks import kinds
from file_schemas.draft07 import Schema
from file_schemas.key_lists import TOML, YAML, Keys, key_list, names

from promptpex.cli.commands import init as starter_files
from promptpex.cli.help import GROUPS, GroupedOption
from promptpex.cli.main import COMMANDS, cli
from promptpex.promptfile.front_matter import INPUT, KEPT, SCENARIO, USED

TEXT = Path(__file__).with_name("files_page.md")
PLACE = re.compile(r"<!-- (\w+) ?([^>]*) -->")

SETTINGS = """judge = ["gpt-4o"]                   # judges what no check decides
repeats = 2
max_cost = 1.5                       # US dollars

[models]
under_test = ["small", "gpt-4o-mini"]

[models.small]                       # a name of your own
model = "openai/qwen-4b"
api_base = "http://127.0.0.1:8080/v1"
temperature = 0

[prices."openai/qwen-4b"]
input = 0.1
output = 0.4
"""
"""The example of a settings file; in that of ``init`` all settings stand behind ``#``."""

EXAMPLES = {
    "prompt": ("markdown", starter_files.PROMPT.format(name="shop")),
    "spec": ("yaml", starter_files.SPEC),
    "cases": ("yaml", starter_files.CASES),
    "settings": ("toml", SETTINGS),
}
"""Whole files, as they are read."""

_ELSEWHERE = "Other settings"


def page() -> str:
    """The page, as Markdown."""
    makers: Mapping[str, Callable[..., str]] = {
        "example": _example,
        "keys": _keys,
        "machine": _machine,
        "names": _names,
        "settings": _settings,
        "kinds": lambda: _listed(name for name in kinds() if not name.startswith("not-")),
        "kept": lambda: _listed(KEPT),
    }
    return PLACE.sub(lambda place: makers[place[1]](*place[2].split()), TEXT.read_text(encoding="utf-8"))


def _example(name: str) -> str:
    language, text = EXAMPLES[name]
    return f"```{language}\n{text}```"


def _keys(name: str, part: str = "", first: str = "", last: str = "") -> str:
    """The keys of a part of a file; of a long one those from ``first`` to ``last``."""
    node = _part(name, part)
    about, end = node["properties"], last or first
    known = list(about)
    chosen = known[known.index(first) : known.index(end) + 1] if first else known
    return key_list(
        Keys({key: about[key] for key in chosen}, node.get("required", [])), TOML if name == "settings" else YAML
    )


def _names(name: str, part: str, first: str) -> str:
    """The names of the keys from ``first`` on."""
    about = _part(name, part)["properties"]
    known = list(about)
    return names(Keys({key: about[key] for key in known[known.index(first) :]}))


def _machine(name: str, part: str = "") -> str:
    return names(Keys(_part(name, part)["properties"]), machine=True)


def _part(name: str, part: str) -> Schema:
    """A part of a file's schema, with the keys under ``properties``."""
    if name == "prompt":
        used = {key: schema("prompt")["properties"][key] for key in USED}
        return {"properties": {"-": used, "inputs": INPUT, "scenarios": SCENARIO}[part]}
    whole = schema(name)
    node: Schema = whole["definitions"][part] if part else whole
    return node


def _settings() -> str:
    """A list for each group of flags, as the help has them."""
    properties, groups = schema("settings")["properties"], _groups()
    parts = []
    for group in (*GROUPS, _ELSEWHERE):
        about = {name: properties[name] for name in properties if groups.get(name, _ELSEWHERE) == group}
        if about:
            parts.append(f"### {group}\n\n{key_list(Keys(about), TOML)}")
    return "\n\n".join(parts)


def _groups() -> Mapping[str, str]:
    """The group of the help in which each setting's flag stands."""
    context = click.Context(cli)
    commands = [cli.get_command(context, name) for name in COMMANDS]
    flags = [flag for one in commands if one is not None for flag in one.params if isinstance(flag, GroupedOption)]
    return {str(flag.name): flag.group for flag in flags}


def _listed(names: Iterator[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(page())
