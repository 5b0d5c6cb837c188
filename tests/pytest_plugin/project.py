"""A project with one prompt, for tests that run pytest on it."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import babel.dates  # noqa: F401  pytester forgets what its run imports, and Babel knows no locale of another import
import pandas  # noqa: F401  pytester forgets what its run imports, and numpy cannot be imported twice
import pytest

import promptpex.cli.commands.run
import promptpex.llm.providers.openai_compatible
import promptpex.pytest_plugin.collecting
import promptpex.pytest_plugin.fixture
import promptpex.report.files
import promptpex.workflow.pipeline  # noqa: F401  all of these, too: for speed
from tests.servers import ScriptedServer, Seen, Step, completion_body

PLUGIN = "promptpex.pytest_plugin"

PROMPT = "Name the colour of the {{thing}} in capitals.\n"
SPEC = """\
prompt: colour.md
intent: Name a colour.
rules:
  - id: r1
    rule: The answer is in capitals.
    inverse: The answer has small letters.
    checks:
      - {kind: regex, value: '^[A-Z]+$'}
  - id: r2
    rule: The answer is short.
    checks:
      - {kind: word-count, value: 1}
"""
CASES = """\
prompt: colour.md
cases:
  - {id: t1, rule: r1, inputs: {thing: brick}}
  - {id: t2, rule: r1, inverse: true, inputs: {thing: sea}}
  - {id: t3, rule: r2, inputs: {thing: cloud}}
"""


def write_project(folder: Path, *, models: tuple[str, ...] = ("fake/RED",), **settings: str) -> Path:
    """Writes ``prompts/colour.md`` with its files and the settings; the folder of the prompts."""
    prompts = folder / "prompts"
    prompts.mkdir()
    (prompts / "colour.md").write_text(PROMPT, encoding="utf-8")
    (prompts / "colour.spec.yaml").write_text(SPEC, encoding="utf-8")
    (prompts / "colour.cases.yaml").write_text(CASES, encoding="utf-8")
    names = ", ".join(f'"{model}"' for model in models)
    lines = [f"models = [{names}]", 'judge = ["none"]', *(f'{name} = "{value}"' for name, value in settings.items())]
    (folder / "promptpex.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return prompts


def with_plugin(*arguments: str, cache: bool = False) -> list[str]:
    """Arguments of a pytest that has the plugin, whether this environment knows of it or not; without other plugins
    that this one does not need."""
    installed = any(point.value == PLUGIN for point in entry_points(group="pytest11"))
    without = ["no:asyncio", *([] if cache else ["no:cacheprovider"])]
    plugins = [*([] if installed else [PLUGIN]), *without]
    return [*(part for plugin in plugins for part in ("-p", plugin)), *arguments]


def colours(answers: dict[str, str]) -> ScriptedServer:
    """A server that answers by the thing that is asked about."""

    def answer(seen: Seen) -> Step:
        asked = seen.body["messages"][0]["content"]
        return Step(completion_body(next((text for thing, text in answers.items() if thing in asked), "RED")))

    return ScriptedServer(otherwise=answer)


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    """How many tests ended how."""
    return {name: count for name, count in result.parseoutcomes().items() if name != "warnings"}
